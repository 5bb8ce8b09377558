/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration file by its keys. Keys of the peer that would be a security hole,
 * or have no effect here, are refused or noted by name. */
#include "redfish_proxy/config.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/conf/dropins.h"
#include "lib/conf/yaml_rows.h"
#include "lib/identity/munge_request.h"
#include "lib/parse.h"
#include "lib/secret.h"

/* What the file says, until it is a configuration. */
struct config_file {
	struct config c; /* first */
	size_t line, old_line, login_line;
	unsigned *ways;
	size_t way_count;
	const char **patterns;
	size_t pattern_count, allow_line;
};

/* ---- values ---------------------------------------------------------------------- */

static int read_bmc_url(struct yaml_reader *r, const struct yaml_row *row,
			const char *key, yaml_node_t *v, void *at)
{
	char url[URL_BYTES_MAX];
	const char *text = "";
	int rc = yaml_read_text(r, row, key, v, &text);

	if (rc < 0)
		return rc;
	if (url_clean(text, url) < 0)
		return yaml_walk_fail(
			&r->w, v, "not http[s]://host[:port], without user and path",
			key);
	text = arena_text(r->arena, url);
	*(const char **)at = text;
	return text ? 0 : yaml_reader_no_memory(r);
}

static int check_template(struct yaml_reader *r, const char *key, yaml_node_t *v,
			  void *at)
{
	const char *text = *(const char **)at;
	char url[URL_BYTES_MAX];

	if ((strstr(text, "{node}") || strstr(text, "{fqdn}")) &&
	    url_of_node(text, "node", url) == 0)
		return 0;
	return yaml_walk_fail(
		&r->w, v, "not http[s]://host[:port] with {node} or {fqdn} in it", key);
}

static int read_bmc_addr(struct yaml_reader *r, const struct yaml_row *row,
			 const char *key, yaml_node_t *v, void *at)
{
	const char *text = "";
	int rc = yaml_read_text(r, row, key, v, &text);

	if (rc == 0 && netaddr_parse(text, at) < 0)
		return yaml_walk_fail(&r->w, v, "not an IP address", text);
	return rc;
}

/* In lower case */
static int read_node(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at)
{
	const char *text = "";
	int rc = yaml_read_text(r, row, key, v, &text);

	if (rc < 0)
		return rc;
	if (!url_is_host(text))
		return yaml_walk_fail(&r->w, v, "not a node's name", text);
	char *name = arena_text(r->arena, text);
	if (!name)
		return yaml_reader_no_memory(r);
	for (char *c = name; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	}
	*(const char **)at = name;
	return 0;
}

static int read_range(struct yaml_reader *r, const struct yaml_row *row,
		      const char *key, yaml_node_t *v, void *at)
{
	const char *text = "";
	int rc = yaml_read_text(r, row, key, v, &text);

	if (rc == 0 && netrange_parse(text, at) < 0)
		return yaml_walk_fail(&r->w, v, "not an address or range", text);
	return rc;
}

static int read_named(struct yaml_reader *r, const struct yaml_row *row,
		      const char *key, yaml_node_t *v, void *at)
{
	struct config_client *c = at;
	const char *text = "";
	int rc = yaml_read_text(r, row, key, v, &text);

	if (rc < 0 || netrange_parse(text, &c->range) == 0)
		return rc;
	/* "10.0.0.300" is not a host either */
	if (strspn(text, "0123456789./:") == strlen(text) || strchr(text, ':'))
		return yaml_walk_fail(&r->w, v, "not an address, range or node", text);
	return read_node(r, row, key, v, &c->node);
}

static int check_pattern(struct yaml_reader *r, const char *key, yaml_node_t *v,
			 void *at)
{
	struct config_file *f = r->config;
	struct err err = {""};

	return path_allow_add(&f->c.allow, *(const char **)at, &err) < 0
		       ? yaml_walk_fail(&r->w, v, key, err.text)
		       : 0;
}

static int read_munge_user(struct yaml_reader *r, const struct yaml_row *row,
			   const char *key, yaml_node_t *v, void *at)
{
	const char *text = "";
	int rc = yaml_read_text(r, row, key, v, &text);

	if (rc < 0 || parse_u32(text, at) == 0)
		return rc;
	const struct passwd *pw = getpwnam(text);
	if (!pw)
		return yaml_walk_fail(&r->w, v, "no such user", text);
	*(uint32_t *)at = pw->pw_uid;
	return 0;
}

static int check_munge_host(struct yaml_reader *r, const char *key, yaml_node_t *v,
			    void *at)
{
	const char *text = *(const char **)at;

	(void)key;
	return munge_request_is_host(text)
		       ? 0
		       : yaml_walk_fail(&r->w, v, "not HOST or HOST:PORT", text);
}

/* ---- HTTP clients, in the style of Prometheus' ----------------------------------- */

static const struct yaml_row basic_rows[] = {
	YAML_TEXT("username", struct config_login, user),
	YAML_SECRET("password", struct config_login, password),
	YAML_PATH("password_file", struct config_login, password_file),
	YAML_REFUSED("username_file"),
	YAML_END,
};

static const struct yaml_row authorization_rows[] = {
	YAML_TEXT("type", struct config_login, scheme),
	YAML_SECRET("credentials", struct config_login, credentials),
	YAML_PATH("credentials_file", struct config_login, credentials_file),
	YAML_END,
};

static const struct yaml_row tls_rows[] = {
	YAML_PATH("ca_file", struct config_tls, ca_file),
	YAML_PATH("cert_file", struct config_tls, cert_file),
	YAML_PATH("key_file", struct config_tls, key_file),
	YAML_BOOL("insecure_skip_verify", struct config_tls, insecure),
	YAML_ROW("min_version", yaml_read_tls_version, struct config_tls,
		 min_version, ),
	YAML_REFUSED("max_version"),
	YAML_REFUSED("server_name"),
	YAML_REFUSED("ca"),
	YAML_REFUSED("cert"),
	YAML_REFUSED("key"),
	YAML_END,
};

/* Of these three keys, the last one given says how. */
static int note_how(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	struct config_login *l = at;

	(void)r;
	(void)v;
	if (strcmp(key, "login") == 0)
		l->how_given = true;
	else if (strcmp(key, "authorization") == 0)
		l->how = LOGIN_HEADER;
	else if (!l->how_given)
		l->how = LOGIN_SESSION;
	return 0;
}

static int read_login_how(struct yaml_reader *r, const struct yaml_row *row,
			  const char *key, yaml_node_t *v, void *at)
{
	struct config_login *l = at;

	return yaml_read_word(r, row, key, v, &l->how);
}

#define LOGIN_ROWS(type_, member_, ...)                                                \
	YAML_ROW("login", read_login_how, type_, member_, .check = note_how,           \
		 .words = "none basic session", __VA_ARGS__),                          \
		YAML_MAP("basic_auth", basic_rows, type_, member_, .check = note_how,  \
			 __VA_ARGS__),                                                 \
		YAML_MAP("authorization", authorization_rows, type_, member_,          \
			 .check = note_how, __VA_ARGS__)

/* ---- the file -------------------------------------------------------------------- */

static const struct yaml_row addr_item = {.read = read_bmc_addr};
static const struct yaml_row node_item = {.read = read_node};
static const struct yaml_row way_item = {.read = yaml_read_word,
					 .words = "address tls munge"};
static const struct yaml_row range_item = {.read = read_range};
static const struct yaml_row named_item = {.read = read_named};
static const struct yaml_row pattern_item = {.read = yaml_read_text,
					     .check = check_pattern};
static const struct yaml_row user_item = {.read = read_munge_user};
static const struct yaml_row host_item = {.read = yaml_read_text,
					  .check = check_munge_host};

#define TARGET struct config_target
static const struct yaml_row target_rows[] = {
	YAML_LIST("host_ip_addrs", &addr_item, TARGET, addrs, addr_count,
		  CONFIG_PER_TARGET_MAX),
	YAML_LIST("nodes", &node_item, TARGET, nodes, node_count,
		  CONFIG_PER_TARGET_MAX),
	YAML_ROW("url", read_bmc_url, TARGET, url, ),
	LOGIN_ROWS(TARGET, login, .given = offsetof(TARGET, own_login)),
	YAML_MAP("tls_config", tls_rows, TARGET, tls,
		 .given = offsetof(TARGET, own_tls)),
	YAML_END,
};
static const struct yaml_row target_item = {
	.read = yaml_read_map, .rows = target_rows, .given = offsetof(TARGET, line)};

#define LIMIT(key_, kind_, member_, ...)                                               \
	YAML_RANGE(key_, kind_, struct config_limits, member_, __VA_ARGS__)
static const struct yaml_row limit_rows[] = {
	LIMIT("cache", ms, cache_ms, 1000, 0, 3600000),
	LIMIT("error_cache", ms, error_cache_ms, 5000, 0, 3600000),
	/* the web server gives up on a request after 60 s, and one may need two */
	LIMIT("timeout", ms, timeout_ms, 10000, 100, 30000),
	LIMIT("connect_timeout", ms, connect_timeout_ms, 3000, 100, 30000),
	LIMIT("body", bytes, body_bytes, 1 << 20, 1024, 64 << 20),
	LIMIT("concurrency", number, concurrency, 1, 1, 8),
	LIMIT("queue", number, queue, 16, 1, 1024),
	LIMIT("rate", number, rate, 10, 1, 100000),
	LIMIT("burst", number, burst, 20, 1, 100000),
	LIMIT("workers", number, workers, 32, 1, 1024),
	LIMIT("cache_entries", number, cache_entries, 16384, 1, 1 << 20),
	LIMIT("cache_bytes", bytes, cache_bytes, 64 << 20, 65536, 1ull << 34),
	LIMIT("targets", number, targets, 16384, 1, 1 << 20),
	YAML_END,
};

#define CFG struct config_file
static const struct yaml_row section_rows[] = {
	YAML_LIST("targets", &target_item, CFG, c.targets, c.target_count,
		  CONFIG_TARGETS_MAX),
	YAML_TEXT("target_url", CFG, c.target_url, .check = check_template),
	YAML_LIST("identity", &way_item, CFG, ways, way_count, 3),
	YAML_LIST("trusted_proxies", &range_item, CFG, c.trusted_proxies,
		  c.trusted_count, CONFIG_LIST_MAX),
	YAML_LIST("named_clients", &named_item, CFG, c.named, c.named_count,
		  CONFIG_LIST_MAX),
	YAML_BOOL("ignore_redfish_url", CFG, c.ignore_redfish_url),
	YAML_LIST("allowed_api_resources", &pattern_item, CFG, patterns, pattern_count,
		  PATH_ALLOW_MAX, .given = offsetof(CFG, allow_line)),
	YAML_LIST("munge_users", &user_item, CFG, c.munge_uids, c.munge_uid_count, 64),
	YAML_TEXT("munge_socket", CFG, c.munge_socket),
	YAML_BOOL("munge_check_origin", CFG, c.munge_check_origin),
	YAML_LIST("munge_hosts", &host_item, CFG, c.munge_hosts, c.munge_host_count,
		  CONFIG_LIST_MAX),
	YAML_BOOL("munge_unbound", CFG, c.munge_unbound),
	YAML_MAP("limits", limit_rows, CFG, c.limits),
	LOGIN_ROWS(CFG, c.login, .given = offsetof(CFG, login_line)),
	YAML_MAP("tls_config", tls_rows, CFG, c.tls),
	YAML_BOOL("insecure_skip_verify", CFG, c.tls.insecure,
		  .note = "old name, use tls_config.insecure_skip_verify"),
	{.key = "follow_redirects",
	 .read = yaml_read_unused_bool,
	 .note = "redirects are never followed"},
	{.key = "enable_http2",
	 .read = yaml_read_unused_bool,
	 .note = "HTTP/1.1 is used"},
	YAML_REFUSED("oauth2"),
	YAML_REFUSED("proxy_url"),
	YAML_REFUSED("no_proxy"),
	YAML_REFUSED("proxy_from_environment"),
	YAML_REFUSED("proxy_connect_header"),
	YAML_REFUSED("http_headers"),
	YAML_END,
};

static int check_one_section(struct yaml_reader *r, const char *key, yaml_node_t *v,
			     void *at)
{
	const struct config_file *f = r->config;

	(void)key;
	(void)at;
	return f->line && f->old_line
		       ? yaml_walk_fail(&r->w, v,
					"both redfish_proxy and redfish_config", NULL)
		       : 0;
}

static const struct yaml_row root_rows[] = {
	YAML_SAME("redfish_proxy", section_rows, .given = offsetof(CFG, line),
		  .check = check_one_section),
	YAML_SAME("redfish_config", section_rows, .given = offsetof(CFG, old_line),
		  .note = "old name, use redfish_proxy", .check = check_one_section),
	YAML_END,
};

/* ---- checks across keys, and what follows from others ---------------------------- */

static int check_login(struct yaml_reader *r, const struct config_login *l,
		       const char *where)
{
	const char *wrong = NULL;

	if ((l->how == LOGIN_BASIC || l->how == LOGIN_SESSION) &&
	    (!l->user || !*l->user))
		wrong = "basic_auth needs a username";
	else if (l->password && l->password_file)
		wrong = "password and password_file exclude each other";
	else if (l->credentials && l->credentials_file)
		wrong = "credentials and credentials_file exclude each other";
	else if (l->how == LOGIN_HEADER && !l->credentials && !l->credentials_file)
		wrong = "authorization needs credentials";
	else if (l->how == LOGIN_HEADER && l->user)
		wrong = "basic_auth and authorization exclude each other";
	if (!wrong)
		return 0;
	return err_set(r->w.err, -EINVAL, "%s: %s%s", r->w.file, where, wrong);
}

static int check_tls(struct yaml_reader *r, const struct config_tls *t,
		     const char *where)
{
	if (!t->cert_file == !t->key_file)
		return 0;
	return err_set(r->w.err, -EINVAL,
		       "%s: %stls_config: cert_file and key_file go together",
		       r->w.file, where);
}

/* A target without a URL uses the template. */
static int check_target(struct yaml_reader *r, const struct config *c,
			struct config_target *t)
{
	char url[URL_BYTES_MAX], where[64];

	snprintf(where, sizeof(where), "target of line %zu: ", t->line);
	if (!t->url) {
		if (!t->node_count || !c->target_url)
			return err_set(r->w.err, -EINVAL,
				       "%s:%zu: a target needs a url, or nodes and a "
				       "target_url for all",
				       r->w.file, t->line);
		if (url_of_node(c->target_url, t->nodes[0], url) < 0)
			return err_set(r->w.err, -EINVAL, "%s:%zu: no URL from %s",
				       r->w.file, t->line, t->nodes[0]);
		t->url = arena_text(r->arena, url);
		if (!t->url)
			return yaml_reader_no_memory(r);
	}
	int rc = check_login(r, &t->login, where);
	return rc < 0 ? rc : check_tls(r, &t->tls, where);
}

static int check_proxy_config(struct yaml_reader *r, struct config_file *f)
{
	struct config *c = &f->c;

	for (size_t i = 0; i < f->way_count; i++)
		c->identity |= 1u << f->ways[i];
	if (!c->identity)
		c->identity = IDENTITY_ADDRESS;
#ifndef HAVE_MUNGE
	if (c->identity & IDENTITY_MUNGE)
		return err_set(r->w.err, -ENOTSUP,
			       "%s: identity munge: built without libmunge", r->w.file);
#endif
	int rc = check_login(r, &c->login, "");
	if (rc == 0)
		rc = check_tls(r, &c->tls, "");
	for (size_t i = 0; rc == 0 && i < c->target_count; i++)
		rc = check_target(r, c, &c->targets[i]);
	for (size_t i = 0; rc == 0 && !f->allow_line && path_allow_default[i]; i++)
		rc = path_allow_add(&c->allow, path_allow_default[i], r->w.err);
	if (rc == 0 && !c->munge_uid_count && c->identity & IDENTITY_MUNGE) {
		c->munge_uid_count = 1; /* root */
		c->munge_uids = yaml_reader_alloc(r, 1, sizeof(*c->munge_uids));
		rc = c->munge_uids ? 0 : -ENOMEM;
	}
	if (rc == 0 && buf_error(&c->notes))
		rc = yaml_reader_no_memory(r);
	return rc;
}

static int parse_config(const char *text, size_t len, const char *file,
			const struct dropins *more, bool expand, struct config *ret,
			struct err *err)
{
	struct config_file f = {
		.c = {.munge_check_origin = true, .munge_unbound = true}};
	struct yaml_reader r = {.w = {.file = file, .err = err, .more = more},
				.arena = &f.c.arena,
				.expand = expand,
				.notes = &f.c.notes,
				.config = &f};

	yaml_rows_default(limit_rows, &f.c.limits);
	int rc = yaml_rows_read(&r, text, len, CONFIG_BYTES_MAX, "configuration",
				root_rows, &f);
	if (rc == 0)
		rc = check_proxy_config(&r, &f);
	f.c.has_secrets = r.has_secret;
	if (rc < 0)
		config_done(&f.c);
	else
		*ret = f.c;
	return rc;
}

int config_parse(const char *text, size_t len, const char *file, bool expand,
		 struct config *ret, struct err *err)
{
	return parse_config(text, len, file, NULL, expand, ret, err);
}

int config_load(const char *file, bool expand, struct config *ret, struct err *err)
{
	auto_secret struct buf text = BUF_INIT;
	auto_dropins struct dropins more = {.count = 0};
	struct config c;
	struct stat st = {0};
	int rc = 0;

	if (*file)
		rc = secret_read(file, CONFIG_BYTES_MAX, &text, &st, err);
	if (rc == 0 && *file)
		rc = dropins_read(file, &more, err);
	if (rc == 0)
		rc = parse_config(text.data ? text.data : "", text.len, file, &more,
				  expand, &c, err);
	if (rc != 0)
		return rc;
	/* whoever can write it decides who reads which BMC, even without secrets */
	if (*file && (st.st_mode & 0022))
		rc = err_set(err, -EPERM,
			     "%s: can be written by others than its owner (mode %04o), "
			     "refused",
			     file, st.st_mode & 07777);
	if (rc == 0)
		rc = dropins_check_writers(&more, err);
	if (rc == 0 && c.has_secrets)
		rc = secret_check(file, &st, err);
	if (rc == 0 && c.has_secrets)
		rc = dropins_check_secret(&more, err);
	if (rc < 0)
		config_done(&c);
	else
		*ret = c;
	return rc;
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
	arena_done(&c->arena);
	path_allow_done(&c->allow);
	buf_done(&c->notes);
	*c = (struct config){0};
}
