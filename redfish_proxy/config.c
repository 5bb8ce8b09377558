/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the configuration file key by key. Keys of the peer that would be a security
 * hole, or have no effect here, are refused or noted by name. */
#include "redfish_proxy/config.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/identity/munge_request.h"
#include "lib/parse.h"
#include "lib/secret.h"
#include "redfish_proxy/config_impl.h"

static int on_url(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	auto_free char *text = NULL;
	char url[URL_BYTES_MAX];
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	if (url_clean(text, url) < 0)
		return yaml_walk_fail(
			&p->w, v, "not http[s]://host[:port], without user and path",
			key);
	p->target->url = strdup(url);
	return p->target->url ? 0 : config_no_memory(p);
}

static int on_addr(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	struct config_target *t = p->target;
	auto_free char *text = NULL;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	struct netaddr *more = reallocarray(t->addrs, t->addr_count + 1, sizeof(*more));
	if (!more)
		return config_no_memory(p);
	t->addrs = more;
	if (netaddr_parse(text, &more[t->addr_count]) < 0)
		return yaml_walk_fail(&p->w, v, "not an IP address", text);
	t->addr_count++;
	return 0;
}

static int on_addrs(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, CONFIG_PER_TARGET_MAX, on_addr);
}

static int add_name(struct config_parser *p, const char *key, yaml_node_t *v,
		    char ***names, size_t *count)
{
	auto_free char *text = NULL;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	if (!url_is_host(text))
		return yaml_walk_fail(&p->w, v, "not a node's name", text);
	for (char *c = text; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	}
	char **more = reallocarray(*names, *count + 1, sizeof(*more));
	if (!more)
		return config_no_memory(p);
	*names = more;
	more[(*count)++] = steal_ptr(&text);
	return 0;
}

static int on_node(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return add_name(p, key, v, &p->target->nodes, &p->target->node_count);
}

static int on_nodes(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, CONFIG_PER_TARGET_MAX, on_node);
}

static int on_target_login(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	p->target->own_login = true;
	return config_on_login(p, &p->target->login, key, v);
}

static int on_target_tls(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	p->target->own_tls = true;
	return config_on_tls(p, &p->target->tls, key, v);
}

static int on_target(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"host_ip_addrs", on_addrs},
		{"nodes", on_nodes},
		{"url", on_url},
		{"basic_auth", on_target_login},
		{"authorization", on_target_login},
		{"login", on_target_login},
		{"tls_config", on_target_tls},
	};
	struct config_parser *p = arg;
	struct config *c = p->c;

	if (c->target_count == p->target_room) {
		size_t room = p->target_room ? 2 * p->target_room : 64;
		struct config_target *more =
			reallocarray(c->targets, room, sizeof(*more));
		if (!more)
			return config_no_memory(p);
		c->targets = more;
		p->target_room = room;
	}
	p->target = &c->targets[c->target_count++];
	*p->target = (struct config_target){.line = yaml_walk_line(v)};
	int rc = yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
	p->target = NULL;
	return rc;
}

static int on_targets(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, CONFIG_TARGETS_MAX, on_target);
}

static int on_template(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	auto_free char *text = NULL;
	char url[URL_BYTES_MAX];
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	if ((!strstr(text, "{node}") && !strstr(text, "{fqdn}")) ||
	    url_of_node(text, "node", url) < 0)
		return yaml_walk_fail(
			&p->w, v,
			"not http[s]://host[:port] with {node} or {fqdn} in it", key);
	p->c->target_url = steal_ptr(&text);
	return 0;
}

static int on_identity_one(void *arg, const char *key, yaml_node_t *v)
{
	static const char *const names[] = {"address", "tls", "munge"};
	struct config_parser *p = arg;
	auto_free char *text = NULL;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			p->c->identity |= 1u << i;
			return 0;
		}
	}
	return yaml_walk_fail(&p->w, v, "must be address, tls or munge", key);
}

static int on_identity(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, 3, on_identity_one);
}

static int add_range(struct config_parser *p, const char *text,
		     struct netrange **ranges, size_t *count)
{
	struct netrange r;

	if (netrange_parse(text, &r) < 0)
		return -EINVAL;
	struct netrange *more = reallocarray(*ranges, *count + 1, sizeof(*more));
	if (!more)
		return config_no_memory(p);
	*ranges = more;
	more[(*count)++] = r;
	return 0;
}

static int on_trusted_one(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	auto_free char *text = NULL;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	rc = add_range(p, text, &p->c->trusted_proxies, &p->c->trusted_count);
	return rc == -EINVAL ? yaml_walk_fail(&p->w, v, "not an address or range", text)
			     : rc;
}

static int on_trusted(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, CONFIG_LIST_MAX, on_trusted_one);
}

static int on_named_one(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	auto_free char *text = NULL;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	rc = add_range(p, text, &p->c->named_ranges, &p->c->named_range_count);
	if (rc != -EINVAL)
		return rc;
	/* "10.0.0.300" is not a host either */
	if (strspn(text, "0123456789./:") == strlen(text) || strchr(text, ':'))
		return yaml_walk_fail(&p->w, v, "not an address, range or node", text);
	return add_name(p, key, v, &p->c->named_nodes, &p->c->named_node_count);
}

static int on_named(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, CONFIG_LIST_MAX, on_named_one);
}

static int on_ignore_url(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_bool(&p->w, key, v, &p->c->ignore_redfish_url);
}

static int on_allow_one(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	auto_free char *text = NULL;
	struct err err;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	rc = path_allow_add(&p->c->allow, text, &err);
	return rc < 0 ? yaml_walk_fail(&p->w, v, key, err.text) : 0;
}

static int on_allow(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	p->allow_given = true;
	return yaml_walk_list(&p->w, p, key, v, PATH_ALLOW_MAX, on_allow_one);
}

static int on_munge_user(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	auto_free char *text = NULL;
	uint32_t uid = 0;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	if (parse_u32(text, &uid) < 0) {
		const struct passwd *pw = getpwnam(text);
		if (!pw)
			return yaml_walk_fail(&p->w, v, "no such user", text);
		uid = pw->pw_uid;
	}
	uint32_t *more = reallocarray(p->c->munge_uids, p->c->munge_uid_count + 1,
				      sizeof(*more));
	if (!more)
		return config_no_memory(p);
	p->c->munge_uids = more;
	more[p->c->munge_uid_count++] = uid;
	return 0;
}

static int on_munge_users(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, 64, on_munge_user);
}

static int on_munge_socket(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_value(p, key, v, &p->c->munge_socket);
}

static int on_munge_host(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	auto_free char *text = NULL;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	if (!munge_request_is_host(text))
		return yaml_walk_fail(&p->w, v, "not HOST or HOST:PORT", text);
	char **more = reallocarray(p->c->munge_hosts, p->c->munge_host_count + 1,
				   sizeof(*more));
	if (!more)
		return config_no_memory(p);
	p->c->munge_hosts = more;
	more[p->c->munge_host_count++] = steal_ptr(&text);
	return 0;
}

static int on_munge_hosts(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, CONFIG_LIST_MAX, on_munge_host);
}

static int on_munge_flag(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_bool(&p->w, key, v,
			      strcmp(key, "munge_unbound") == 0
				      ? &p->c->munge_unbound
				      : &p->c->munge_check_origin);
}

static int on_login(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_on_login(p, &p->c->login, key, v);
}

static int on_default_tls(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_on_tls(p, &p->c->tls, key, v);
}

static int on_default_insecure(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	buf_puts(&p->c->notes, "insecure_skip_verify: old name, use "
			       "tls_config.insecure_skip_verify\n");
	return yaml_walk_bool(&p->w, key, v, &p->c->tls.insecure);
}

static int on_section(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"targets", on_targets},
		{"target_url", on_template},
		{"identity", on_identity},
		{"trusted_proxies", on_trusted},
		{"named_clients", on_named},
		{"ignore_redfish_url", on_ignore_url},
		{"allowed_api_resources", on_allow},
		{"munge_users", on_munge_users},
		{"munge_socket", on_munge_socket},
		{"munge_check_origin", on_munge_flag},
		{"munge_hosts", on_munge_hosts},
		{"munge_unbound", on_munge_flag},
		{"limits", config_on_limits},
		{"login", on_login},
		{"basic_auth", on_login},
		{"authorization", on_login},
		{"tls_config", on_default_tls},
		{"insecure_skip_verify", on_default_insecure},
		{"follow_redirects", config_on_redirects},
		{"enable_http2", config_on_http2},
		{"oauth2", config_unsupported},
		{"proxy_url", config_unsupported},
		{"no_proxy", config_unsupported},
		{"proxy_from_environment", config_unsupported},
		{"proxy_connect_header", config_unsupported},
		{"http_headers", config_unsupported},
	};
	struct config_parser *p = arg;

	if (p->section)
		return yaml_walk_fail(&p->w, v, "both redfish_proxy and redfish_config",
				      NULL);
	p->section = true;
	if (strcmp(key, "redfish_config") == 0)
		buf_puts(&p->c->notes, "redfish_config: old name, use redfish_proxy\n");
	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

static int at_root(void *arg, yaml_node_t *root)
{
	static const struct yaml_key keys[] = {{"redfish_proxy", on_section},
					       {"redfish_config", on_section}};
	struct config_parser *p = arg;
	int rc = root ? yaml_walk_map(&p->w, p, "configuration", root, keys, 2) : 0;

	return rc < 0 ? rc : config_check(p);
}

int config_parse(const char *text, size_t len, const char *file, bool expand,
		 struct config *ret, struct err *err)
{
	struct config c = {.munge_check_origin = true, .munge_unbound = true};
	struct config_parser p = {
		.w = {.file = file, .err = err}, .c = &c, .expand = expand};

	config_default_limits(&c.limits);
	int rc = yaml_walk_text(&p.w, text, len, CONFIG_BYTES_MAX, at_root, &p);
	if (rc < 0)
		config_done(&c);
	else
		*ret = c;
	return rc;
}

int config_load(const char *file, bool expand, struct config *ret, struct err *err)
{
	auto_secret struct buf text = BUF_INIT;
	struct config c;
	struct stat st = {0};
	int rc = 0;

	if (*file)
		rc = secret_read(file, CONFIG_BYTES_MAX, &text, &st, err);
	if (rc == 0)
		rc = config_parse(text.data ? text.data : "", text.len, file, expand,
				  &c, err);
	if (rc != 0)
		return rc;
	/* whoever can write it decides who reads which BMC, even without secrets */
	if (*file && (st.st_mode & 0022))
		rc = err_set(err, -EPERM,
			     "%s: can be written by others than its owner (mode %04o), "
			     "refused",
			     file, st.st_mode & 07777);
	if (rc == 0 && c.has_secrets)
		rc = secret_check(file, &st, err);
	if (rc < 0)
		config_done(&c);
	else
		*ret = c;
	return rc;
}

static void free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static void put_client_files(const struct config_login *l, const struct config_tls *t,
			     struct buf *out)
{
	const char *const files[] = {l->password_file, l->credentials_file, t->ca_file,
				     t->cert_file, t->key_file};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (files[i])
			buf_printf(out, "%s\n", files[i]);
	}
}

void config_put_files(const struct config *c, struct buf *out)
{
	put_client_files(&c->login, &c->tls, out);
	for (size_t i = 0; i < c->target_count; i++)
		put_client_files(&c->targets[i].login, &c->targets[i].tls, out);
}

void config_done(struct config *c)
{
	for (size_t i = 0; i < c->target_count; i++) {
		struct config_target *t = &c->targets[i];
		free(t->url);
		free(t->addrs);
		free_names(t->nodes, t->node_count);
		config_login_done(&t->login);
		config_tls_done(&t->tls);
	}
	free(c->targets);
	free(c->target_url);
	free(c->trusted_proxies);
	free(c->named_ranges);
	free_names(c->named_nodes, c->named_node_count);
	path_allow_done(&c->allow);
	config_login_done(&c->login);
	config_tls_done(&c->tls);
	free(c->munge_uids);
	free(c->munge_socket);
	free_names(c->munge_hosts, c->munge_host_count);
	buf_done(&c->notes);
	*c = (struct config){0};
}
