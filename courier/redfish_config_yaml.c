/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Redfish file: CEEMS' keys, each accepted or refused by name. */
#include "courier/redfish_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/conf/yaml_walk.h"
#include "lib/http/client_url.h"
#include "lib/parse.h"

#define TIMEOUT_MS 5000u
#define TIMEOUT_MAX_MS 60000u

struct redfish_yaml_reader {
	struct yaml_walk walk;
	struct redfish_config *c;
	bool has_section;
	size_t header; /* the one being parsed */
};

/* Destination of a key's text */
struct place {
	const char *key;
	size_t off;
	bool secret, path;
};
#define PLACE(key_, member_)                                                           \
	{                                                                              \
		key_, offsetof(struct redfish_config, member_), 0, 0                   \
	}
#define SECRET(key_, member_)                                                          \
	{                                                                              \
		key_, offsetof(struct redfish_config, member_), 1, 0                   \
	}
#define PATH(key_, member_)                                                            \
	{                                                                              \
		key_, offsetof(struct redfish_config, member_), 0, 1                   \
	}

/* As in Prometheus: relative to the file's folder */
static char *path_beside_file(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');
	char *s = NULL;

	if (path[0] == '/' || !slash || !*path)
		return strdup(path);
	return asprintf(&s, "%.*s/%s", (int)(slash - file), file, path) < 0 ? NULL : s;
}

static int set_text(struct redfish_yaml_reader *r, const struct place *p,
		    const char *text)
{
	char **at = (char **)((char *)r->c + p->off);

	if (!*text)
		return 0; /* as if not given */
	free(*at);
	*at = p->path ? path_beside_file(r->walk.file, text) : strdup(text);
	r->c->has_secret |= p->secret;
	return *at ? 0 : err_set(r->walk.err, -ENOMEM, "out of memory");
}

static int put_config_text(struct redfish_yaml_reader *r, const struct place *places,
			   size_t n, const char *key, yaml_node_t *v)
{
	const char *text = "";
	int rc = yaml_walk_scalar(&r->walk, key, v, &text);

	for (size_t i = 0; i < n && rc == 0; i++) {
		if (strcmp(places[i].key, key) == 0)
			return set_text(r, &places[i], text);
	}
	return rc;
}

static int on_text(void *arg, const char *key, yaml_node_t *v)
{
	static const struct place places[] = {PLACE("hostname", hostname),
					      PLACE("username", username),
					      SECRET("password", password),
					      PATH("password_file", password_file),
					      PLACE("external_url", external_url),
					      PLACE("munge", munge),
					      PLACE("proxy_url", proxy_url)};
	return put_config_text(arg, places, sizeof(places) / sizeof(places[0]), key, v);
}

static int on_protocol(void *arg, const char *key, yaml_node_t *v)
{
	static const struct place place = PLACE("protocol", protocol);
	struct redfish_yaml_reader *r = arg;
	const char *text = "";
	int rc = yaml_walk_scalar(&r->walk, key, v, &text);

	if (rc == 0 && *text && strcmp(text, "http") != 0 && strcmp(text, "https") != 0)
		return yaml_walk_fail(&r->walk, v, "protocol must be http or https",
				      NULL);
	return rc < 0 ? rc : set_text(r, &place, text);
}

static int on_port(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	const char *text = "";
	uint32_t port = 0;
	int rc = yaml_walk_scalar(&r->walk, key, v, &text);

	if (rc == 0 && (parse_u32(text, &port) < 0 || port > 65535))
		return yaml_walk_fail(&r->walk, v, "port must be 1 to 65535", NULL);
	r->c->port = port;
	return rc;
}

/* A number is milliseconds, as in CEEMS; "5s" is accepted too. */
static int on_timeout(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	const char *text = "";
	uint64_t ms = 0;
	int rc = yaml_walk_scalar(&r->walk, key, v, &text);

	if (rc == 0 &&
	    ((parse_u64(text, &ms) < 0 && parse_duration_ms(text, &ms) < 0) || !ms ||
	     ms > TIMEOUT_MAX_MS))
		return yaml_walk_fail(&r->walk, v,
				      "timeout must be 1 to 60000 milliseconds", NULL);
	if (rc == 0)
		r->c->timeout_ms = (uint32_t)ms;
	return rc;
}

static int on_flag(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	bool value = false;
	int rc = yaml_walk_bool(&r->walk, key, v, &value);

	if (rc < 0)
		return rc;
	if (strcmp(key, "use_session_token") == 0)
		r->c->use_session_token = value;
	else if (strcmp(key, "insecure_skip_verify") == 0)
		r->c->insecure |= value; /* from the section, or from tls_config */
	else if (strcmp(key, "follow_redirects") == 0)
		r->c->follow_redirects = value;
	else if (strcmp(key, "proxy_from_environment") == 0 && value &&
		 !r->c->proxy_url)
		r->c->proxy_url = strdup("env");
	return 0; /* enable_http2: BMCs speak HTTP/1.1 */
}

static int on_chassis_item(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	struct redfish_config *c = r->c;
	const char *text = "";
	int rc = yaml_walk_scalar(&r->walk, key, v, &text);

	if (rc < 0 || !*text)
		return rc;
	c->chassis[c->chassis_count] = strdup(text);
	if (!c->chassis[c->chassis_count])
		return err_set(r->walk.err, -ENOMEM, "out of memory");
	c->chassis_count++;
	return 0;
}

static int on_chassis(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	return yaml_walk_list(&r->walk, arg, key, v, REDFISH_CHASSIS_NAMES_MAX,
			      on_chassis_item);
}

static int refuse_config_key(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	return yaml_walk_fail(&r->walk, v, "not supported", key);
}

static int on_bmc_min_version(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	const char *text = "";
	uint32_t minor = 0;
	int rc = yaml_walk_scalar(&r->walk, key, v, &text);

	if (rc < 0 || !*text)
		return rc;
	if (strncmp(text, "TLS1", 4) != 0 || strlen(text) != 5 ||
	    parse_u32(text + 4, &minor) < 0 || minor > 3)
		return yaml_walk_fail(&r->walk, v,
				      "must be TLS10, TLS11, TLS12 or TLS13", key);
	r->c->tls_min = 10 + minor;
	return 0;
}

static int on_tls_file(void *arg, const char *key, yaml_node_t *v)
{
	static const struct place places[] = {PATH("ca_file", ca_file),
					      PATH("cert_file", cert_file),
					      PATH("key_file", key_file)};
	return put_config_text(arg, places, sizeof(places) / sizeof(places[0]), key, v);
}

static int on_bmc_tls(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"ca_file", on_tls_file},
					       {"cert_file", on_tls_file},
					       {"key_file", on_tls_file},
					       {"insecure_skip_verify", on_flag},
					       {"min_version", on_bmc_min_version},
					       {"max_version", refuse_config_key},
					       {"server_name", refuse_config_key},
					       {"ca", refuse_config_key},
					       {"cert", refuse_config_key},
					       {"key", refuse_config_key},
					       {"ca_ref", refuse_config_key},
					       {"cert_ref", refuse_config_key},
					       {"key_ref", refuse_config_key}};
	struct redfish_yaml_reader *r = arg;
	return yaml_walk_map(&r->walk, arg, key, v, keys,
			     sizeof(keys) / sizeof(keys[0]));
}

static int on_basic_text(void *arg, const char *key, yaml_node_t *v)
{
	static const struct place places[] = {
		PLACE("username", auth_user), SECRET("password", auth_password),
		PATH("password_file", auth_password_file)};
	return put_config_text(arg, places, sizeof(places) / sizeof(places[0]), key, v);
}

static int on_basic(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"username", on_basic_text},
					       {"password", on_basic_text},
					       {"password_file", on_basic_text},
					       {"username_file", refuse_config_key},
					       {"username_ref", refuse_config_key},
					       {"password_ref", refuse_config_key}};
	struct redfish_yaml_reader *r = arg;
	return yaml_walk_map(&r->walk, arg, key, v, keys,
			     sizeof(keys) / sizeof(keys[0]));
}

static int on_authorization_text(void *arg, const char *key, yaml_node_t *v)
{
	static const struct place places[] = {
		PLACE("type", auth_scheme), SECRET("credentials", auth_credentials),
		PATH("credentials_file", auth_credentials_file)};
	return put_config_text(arg, places, sizeof(places) / sizeof(places[0]), key, v);
}

static int on_authorization(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"type", on_authorization_text},
		{"credentials", on_authorization_text},
		{"credentials_file", on_authorization_text},
		{"credentials_ref", refuse_config_key}};
	struct redfish_yaml_reader *r = arg;
	return yaml_walk_map(&r->walk, arg, key, v, keys,
			     sizeof(keys) / sizeof(keys[0]));
}

static int on_header_item(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	struct redfish_config *c = r->c;
	const char *text = "", *name = c->headers[r->header].name;
	int rc = yaml_walk_scalar(&r->walk, key, v, &text);
	size_t n = c->header_count;

	if (rc < 0)
		return rc;
	if (n == REDFISH_HEADERS_MAX)
		return yaml_walk_fail(&r->walk, v, "too many headers", name);
	bool is_file = strcmp(key, "files") == 0;
	c->has_secret |= strcmp(key, "secrets") == 0;
	char *value = is_file ? path_beside_file(r->walk.file, text) : strdup(text);
	/* the first value goes to the place with the name */
	if (n == r->header || c->headers[r->header].value ||
	    c->headers[r->header].file) {
		c->headers[n].name = strdup(name);
		c->header_count++;
	} else {
		n = r->header;
	}
	*(is_file ? &c->headers[n].file : &c->headers[n].value) = value;
	return value && c->headers[n].name
		       ? 0
		       : err_set(r->walk.err, -ENOMEM, "out of memory");
}

static int on_header_values(void *arg, const char *key, yaml_node_t *v)
{
	struct redfish_yaml_reader *r = arg;
	return yaml_walk_list(&r->walk, arg, key, v, REDFISH_HEADERS_MAX,
			      on_header_item);
}

/* Header names are keys, so they are walked here. */
static int on_bmc_headers(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"values", on_header_values},
					       {"secrets", on_header_values},
					       {"files", on_header_values}};
	struct redfish_yaml_reader *r = arg;
	struct redfish_config *c = r->c;

	if (v->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(&r->walk, v, key, "must be a mapping");
	for (yaml_node_pair_t *i = v->data.mapping.pairs.start;
	     i < v->data.mapping.pairs.top; i++) {
		yaml_node_t *k = yaml_document_get_node(r->walk.doc, i->key);
		yaml_node_t *values = yaml_document_get_node(r->walk.doc, i->value);
		const char *name = "";
		int rc = yaml_walk_scalar(&r->walk, key, k, &name);
		if (rc < 0)
			return rc;
		if (c->header_count == REDFISH_HEADERS_MAX)
			return yaml_walk_fail(&r->walk, k, "too many headers", name);
		r->header = c->header_count;
		c->headers[r->header].name = strdup(name);
		if (!c->headers[r->header].name)
			return err_set(r->walk.err, -ENOMEM, "out of memory");
		c->header_count++;
		rc = yaml_walk_map(&r->walk, arg, name, values, keys,
				   sizeof(keys) / sizeof(keys[0]));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int on_section(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"protocol", on_protocol},
		{"hostname", on_text},
		{"port", on_port},
		{"username", on_text},
		{"password", on_text},
		{"password_file", on_text},
		{"use_session_token", on_flag},
		{"timeout", on_timeout},
		{"external_url", on_text},
		{"munge", on_text},
		{"chassis", on_chassis},
		{"insecure_skip_verify", on_flag},
		{"tls_config", on_bmc_tls},
		{"basic_auth", on_basic},
		{"authorization", on_authorization},
		{"http_headers", on_bmc_headers},
		{"follow_redirects", on_flag},
		{"enable_http2", on_flag},
		{"proxy_url", on_text},
		{"proxy_from_environment", on_flag},
		{"no_proxy", refuse_config_key},
		{"proxy_connect_header", refuse_config_key},
		{"oauth2", refuse_config_key},
	};
	struct redfish_yaml_reader *r = arg;

	if (r->has_section)
		return yaml_walk_fail(&r->walk, v, "redfish_collector given twice",
				      key);
	r->has_section = true;
	r->c->old_name = strcmp(key, "redfish_web_config") == 0;
	return yaml_walk_map(&r->walk, arg, key, v, keys,
			     sizeof(keys) / sizeof(keys[0]));
}

static int on_root(void *arg, yaml_node_t *root)
{
	static const struct yaml_key keys[] = {{"redfish_collector", on_section},
					       {"redfish_web_config", on_section}};
	struct redfish_yaml_reader *r = arg;
	int rc = root ? yaml_walk_map(&r->walk, arg, "the file", root, keys, 2) : 0;

	if (rc == 0 && !r->has_section)
		return err_set(r->walk.err, -EINVAL, "%s: no redfish_collector in it",
			       r->walk.file);
	return rc;
}

/* Checks across keys */
static int check_redfish_config(const struct redfish_config *c, const char *file,
				struct err *err)
{
	bool basic = c->auth_user != NULL;
	bool other = c->auth_credentials || c->auth_credentials_file;

	if ((c->password && c->password_file) ||
	    (c->auth_password && c->auth_password_file))
		return err_set(err, -EINVAL,
			       "%s: password and password_file exclude each other",
			       file);
	if (basic && other)
		return err_set(err, -EINVAL,
			       "%s: basic_auth and authorization exclude each other",
			       file);
	if (c->username && !c->use_session_token && (basic || other))
		return err_set(err, -EINVAL,
			       "%s: without sessions the BMC's password is the only "
			       "Authorization that can be sent",
			       file);
	if (c->munge && (!*c->munge || !c->external_url))
		return err_set(err, -EINVAL,
			       "%s: munge is a node's name, for external_url", file);
	if (c->external_url && http_url_check(c->external_url, err) < 0)
		return err_prefix(err, -EINVAL, "%s: external_url", file);
	if (c->proxy_url && strcmp(c->proxy_url, "env") != 0 &&
	    http_url_check(c->proxy_url, err) < 0)
		return err_prefix(err, -EINVAL, "%s: proxy_url", file);
	return 0;
}

int redfish_config_parse(const char *text, size_t len, const char *file,
			 struct redfish_config *ret, struct err *err)
{
	struct redfish_config c = {.use_session_token = true,
				   .follow_redirects = true,
				   .timeout_ms = TIMEOUT_MS};
	struct redfish_yaml_reader r = {.walk = {.file = file, .err = err}, .c = &c};
	int rc = yaml_walk_text(&r.walk, text, len, REDFISH_CONFIG_EXPANDED_MAX,
				on_root, &r);

	if (rc == 0)
		rc = check_redfish_config(&c, file, err);
	if (rc < 0) {
		redfish_config_done(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

static void wipe_secret(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

void redfish_config_done(struct redfish_config *c)
{
	char *const plain[] = {c->protocol,     c->hostname,
			       c->username,     c->password_file,
			       c->external_url, c->munge,
			       c->ca_file,      c->cert_file,
			       c->key_file,     c->proxy_url,
			       c->auth_user,    c->auth_password_file,
			       c->auth_scheme,  c->auth_credentials_file};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		free(plain[i]);
	for (size_t i = 0; i < c->chassis_count; i++)
		free(c->chassis[i]);
	for (size_t i = 0; i < c->header_count; i++) {
		free(c->headers[i].name);
		free(c->headers[i].file);
		wipe_secret(c->headers[i].value);
	}
	wipe_secret(c->password);
	wipe_secret(c->auth_password);
	wipe_secret(c->auth_credentials);
	memset(c, 0, sizeof(*c));
}
