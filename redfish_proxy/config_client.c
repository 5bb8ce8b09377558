/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP client settings for BMCs, in the style of Prometheus' HTTP client; limits; and
 * consistency. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/parse.h"
#include "redfish_proxy/config_impl.h"

int config_no_memory(struct config_parser *p)
{
	return err_set(p->w.err, -ENOMEM, "%s: out of memory", p->w.file);
}

int config_value(struct config_parser *p, const char *key, yaml_node_t *n, char **ret)
{
	return yaml_walk_value(&p->w, p->expand, key, n, ret);
}

int config_unsupported(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_fail(&p->w, v, "not supported", key);
}

static int on_login_user(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_value(p, key, v, &p->login->user);
}

static int on_password(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	p->c->has_secrets = true;
	return config_value(p, key, v, &p->login->password);
}

static int on_password_file(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_value(p, key, v, &p->login->password_file);
}

static int on_scheme(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_value(p, key, v, &p->login->scheme);
}

static int on_credentials(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	p->c->has_secrets = true;
	return config_value(p, key, v, &p->login->credentials);
}

static int on_credentials_file(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_value(p, key, v, &p->login->credentials_file);
}

static int on_login_how(struct config_parser *p, const char *key, yaml_node_t *v)
{
	static const char *const names[] = {"none", "basic", "session"};
	auto_free char *text = NULL;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			p->login->how = (enum login_how)i;
			p->login->how_given = true;
			return 0;
		}
	}
	return yaml_walk_fail(&p->w, v, "must be none, basic or session", key);
}

int config_on_login(struct config_parser *p, struct config_login *login,
		    const char *key, yaml_node_t *v)
{
	static const struct yaml_key basic[] = {
		{"username", on_login_user},
		{"password", on_password},
		{"password_file", on_password_file},
		{"username_file", config_unsupported},
	};
	static const struct yaml_key authorization[] = {
		{"type", on_scheme},
		{"credentials", on_credentials},
		{"credentials_file", on_credentials_file},
	};
	p->login = login;
	if (strcmp(key, "login") == 0)
		return on_login_how(p, key, v);
	if (strcmp(key, "basic_auth") == 0) {
		if (!login->how_given)
			login->how = LOGIN_SESSION;
		return yaml_walk_map(&p->w, p, key, v, basic, 4);
	}
	login->how = LOGIN_HEADER;
	return yaml_walk_map(&p->w, p, key, v, authorization, 3);
}

static int on_bmc_ca(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_value(p, key, v, &p->tls->ca_file);
}

static int on_bmc_cert(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_value(p, key, v, &p->tls->cert_file);
}

static int on_bmc_key(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return config_value(p, key, v, &p->tls->key_file);
}

static int on_bmc_insecure(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	return yaml_walk_bool(&p->w, key, v, &p->tls->insecure);
}

static int on_bmc_min_version(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	auto_free char *s = NULL;
	uint32_t minor = 0;
	int rc = config_value(p, key, v, &s);

	if (rc < 0)
		return rc;
	if (strlen(s) != 5 || strncmp(s, "TLS1", 4) != 0 ||
	    parse_u32(s + 4, &minor) < 0 || minor > 3)
		return yaml_walk_fail(&p->w, v, "must be TLS10, TLS11, TLS12 or TLS13",
				      key);
	p->tls->min_version = 10 + minor;
	return 0;
}

int config_on_tls(struct config_parser *p, struct config_tls *tls, const char *key,
		  yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"ca_file", on_bmc_ca},
		{"cert_file", on_bmc_cert},
		{"key_file", on_bmc_key},
		{"insecure_skip_verify", on_bmc_insecure},
		{"min_version", on_bmc_min_version},
		{"max_version", config_unsupported},
		{"server_name", config_unsupported},
		{"ca", config_unsupported},
		{"cert", config_unsupported},
		{"key", config_unsupported},
	};
	p->tls = tls;
	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

int config_on_redirects(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	bool on = false;
	int rc = yaml_walk_bool(&p->w, key, v, &on);

	if (rc == 0 && on)
		buf_puts(&p->c->notes,
			 "follow_redirects: redirects are never followed\n");
	return rc;
}

int config_on_http2(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	bool on = false;
	int rc = yaml_walk_bool(&p->w, key, v, &on);

	if (rc == 0 && on)
		buf_puts(&p->c->notes, "enable_http2: HTTP/1.1 is used\n");
	return rc;
}

struct limit {
	const char *name;
	size_t off;
	char kind; /* 'd'uration, 'b'ytes, 'n'umber */
	uint64_t def, min, max;
};

#define LIMIT(name_, member_, ...)                                                     \
	{                                                                              \
		name_, offsetof(struct config_limits, member_), __VA_ARGS__            \
	}

static const struct limit limits[] = {
	LIMIT("cache", cache_ms, 'd', 1000, 0, 3600000),
	LIMIT("error_cache", error_cache_ms, 'd', 5000, 0, 3600000),
	/* the web server gives up on a request after 60 s, and one may need two */
	LIMIT("timeout", timeout_ms, 'd', 10000, 100, 30000),
	LIMIT("connect_timeout", connect_timeout_ms, 'd', 3000, 100, 30000),
	LIMIT("body", body_bytes, 'b', 1 << 20, 1024, 64 << 20),
	LIMIT("concurrency", concurrency, 'n', 1, 1, 8),
	LIMIT("queue", queue, 'n', 16, 1, 1024),
	LIMIT("rate", rate, 'n', 10, 1, 100000),
	LIMIT("burst", burst, 'n', 20, 1, 100000),
	LIMIT("workers", workers, 'n', 32, 1, 1024),
	LIMIT("cache_entries", cache_entries, 'n', 16384, 1, 1 << 20),
	LIMIT("cache_bytes", cache_bytes, 'b', 64 << 20, 65536, 1ull << 34),
	LIMIT("targets", targets, 'n', 16384, 1, 1 << 20),
};
#define LIMITS (sizeof(limits) / sizeof(limits[0]))

void config_default_limits(struct config_limits *l)
{
	for (size_t i = 0; i < LIMITS; i++)
		*(uint64_t *)(void *)((char *)l + limits[i].off) = limits[i].def;
}

static int on_limit(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	const struct limit *l = limits;
	auto_free char *text = NULL;
	uint64_t n = 0;
	int rc = config_value(p, key, v, &text);

	if (rc < 0)
		return rc;
	while (strcmp(l->name, key) != 0)
		l++;
	int bad = l->kind == 'd'   ? parse_duration_ms(text, &n)
		  : l->kind == 'b' ? parse_bytes(text, &n)
				   : parse_u64(text, &n);
	if (bad < 0)
		return yaml_walk_fail(&p->w, v, key,
				      l->kind == 'd'   ? "not a duration, such as 10s"
				      : l->kind == 'b' ? "not a size (64KiB)"
						       : "not a number");
	if (n < l->min || n > l->max)
		return err_set(p->w.err, -EINVAL,
			       "%s:%zu: %s: must be from %llu to %llu%s", p->w.file,
			       yaml_walk_line(v), key, (unsigned long long)l->min,
			       (unsigned long long)l->max, l->kind == 'd' ? " ms" : "");
	*(uint64_t *)(void *)((char *)&p->c->limits + l->off) = n;
	return 0;
}

int config_on_limits(void *arg, const char *key, yaml_node_t *v)
{
	struct config_parser *p = arg;
	struct yaml_key keys[LIMITS];

	for (size_t i = 0; i < LIMITS; i++)
		keys[i] = (struct yaml_key){limits[i].name, on_limit};
	return yaml_walk_map(&p->w, p, key, v, keys, LIMITS);
}

static int check_login(struct config_parser *p, const struct config_login *l,
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
	return err_set(p->w.err, -EINVAL, "%s: %s%s", p->w.file, where, wrong);
}

static int check_tls(struct config_parser *p, const struct config_tls *t,
		     const char *where)
{
	if (!t->cert_file == !t->key_file)
		return 0;
	return err_set(p->w.err, -EINVAL,
		       "%s: %stls_config: cert_file and key_file go together",
		       p->w.file, where);
}

/* A target without a URL uses the template. */
static int check_target(struct config_parser *p, struct config_target *t)
{
	char url[URL_BYTES_MAX], where[64];

	snprintf(where, sizeof(where), "target of line %zu: ", t->line);
	if (!t->url) {
		if (!t->node_count || !p->c->target_url)
			return err_set(p->w.err, -EINVAL,
				       "%s:%zu: a target needs a url, or nodes and a "
				       "target_url for all",
				       p->w.file, t->line);
		if (url_of_node(p->c->target_url, t->nodes[0], url) < 0)
			return err_set(p->w.err, -EINVAL, "%s:%zu: no URL from %s",
				       p->w.file, t->line, t->nodes[0]);
		t->url = strdup(url);
		if (!t->url)
			return config_no_memory(p);
	}
	int rc = check_login(p, &t->login, where);
	return rc < 0 ? rc : check_tls(p, &t->tls, where);
}

int config_check(struct config_parser *p)
{
	struct config *c = p->c;

	if (!c->identity)
		c->identity = IDENTITY_ADDRESS;
#ifndef HAVE_MUNGE
	if (c->identity & IDENTITY_MUNGE)
		return err_set(p->w.err, -ENOTSUP,
			       "%s: identity munge: built without libmunge", p->w.file);
#endif
	int rc = check_login(p, &c->login, "");
	if (rc == 0)
		rc = check_tls(p, &c->tls, "");
	for (size_t i = 0; rc == 0 && i < c->target_count; i++)
		rc = check_target(p, &c->targets[i]);
	for (size_t i = 0; rc == 0 && !p->allow_given && path_allow_default[i]; i++)
		rc = path_allow_add(&c->allow, path_allow_default[i], p->w.err);
	if (rc == 0 && !c->munge_uid_count && c->identity & IDENTITY_MUNGE) {
		c->munge_uids = calloc(1, sizeof(*c->munge_uids)); /* root */
		c->munge_uid_count = 1;
		rc = c->munge_uids ? 0 : config_no_memory(p);
	}
	if (rc == 0 && buf_error(&c->notes))
		rc = config_no_memory(p);
	return rc;
}

static void wipe_secret(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

void config_login_done(struct config_login *l)
{
	free(l->user);
	wipe_secret(l->password);
	free(l->password_file);
	free(l->scheme);
	wipe_secret(l->credentials);
	free(l->credentials_file);
	*l = (struct config_login){0};
}

void config_tls_done(struct config_tls *t)
{
	free(t->ca_file);
	free(t->cert_file);
	free(t->key_file);
	*t = (struct config_tls){0};
}
