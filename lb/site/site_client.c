/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP client settings: the part of the configuration that follows Prometheus'
 * "http_config" (prometheus.io/docs/prometheus/latest/configuration). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lb/site/site_impl.h"
#include "lib/base64.h"
#include "lib/cleanup.h"
#include "lib/http/client_url.h"

static int on_url(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct client_draft *c = p->client;
	const char *url = NULL;
	struct err err = {""};
	int rc = site_text(p, key, v, &url);

	if (rc < 0)
		return rc;
	if (c->url_count == sizeof(c->urls) / sizeof(c->urls[0]))
		return yaml_walk_fail(&p->w, v, key, "too many");
	struct http_url_parts parts;
	if (http_url_split(url, &parts, &err) < 0)
		return yaml_walk_fail(&p->w, v, key, err.text);
	c->urls[c->url_count++] = url;
	return 0;
}

static int on_urls(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, 8, on_url);
}

static int on_secret(struct site_parser *p, const char *key, yaml_node_t *v,
		     const char **ret)
{
	p->secrets = true;
	return site_text(p, key, v, ret);
}

static int on_basic_key(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct client_draft *c = p->client;

	if (strcmp(key, "username") == 0)
		return site_text(p, key, v, &c->user);
	if (strcmp(key, "password") == 0)
		return on_secret(p, key, v, &c->password);
	return site_path(p, key, v, &c->password_file);
}

static int on_basic(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"username", on_basic_key},
					       {"password", on_basic_key},
					       {"password_file", on_basic_key},
					       {"username_file", site_unsupported}};
	struct site_parser *p = arg;

	p->client->basic = true;
	return yaml_walk_map(&p->w, p, key, v, keys, 4);
}

static int on_authorization_key(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct client_draft *c = p->client;

	if (strcmp(key, "type") == 0)
		return site_text(p, key, v, &c->scheme);
	if (strcmp(key, "credentials") == 0)
		return on_secret(p, key, v, &c->credentials);
	return site_path(p, key, v, &c->credentials_file);
}

static int on_authorization(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"type", on_authorization_key},
		{"credentials", on_authorization_key},
		{"credentials_file", on_authorization_key}};
	struct site_parser *p = arg;

	p->client->authorization = true;
	return yaml_walk_map(&p->w, p, key, v, keys, 3);
}

static int on_tls_key(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct client_draft *c = p->client;

	if (strcmp(key, "insecure_skip_verify") == 0)
		return yaml_walk_bool(&p->w, key, v, &c->insecure);
	if (strcmp(key, "server_name") == 0)
		return site_text(p, key, v, &c->server_name);
	return site_path(p, key, v,
			 strcmp(key, "ca_file") == 0     ? &c->ca_file
			 : strcmp(key, "cert_file") == 0 ? &c->cert_file
							 : &c->key_file);
}

static int on_client_min_version(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	const char *s = NULL;
	int rc = site_text(p, key, v, &s);

	if (rc == 0 && strcmp(s, "TLS12") != 0)
		rc = yaml_walk_fail(
			&p->w, v, key,
			"TLS 1.2 and 1.3 are always used: only TLS12 can be given");
	return rc;
}

static int on_client_tls(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"ca_file", on_tls_key},
		{"cert_file", on_tls_key},
		{"key_file", on_tls_key},
		{"server_name", on_tls_key},
		{"insecure_skip_verify", on_tls_key},
		{"min_version", on_client_min_version},
		{"max_version", site_unsupported},
		{"ca", site_unsupported},
		{"cert", site_unsupported},
		{"key", site_unsupported},
	};
	struct site_parser *p = arg;
	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

/* ---- headers --------------------------------------------------------------------- */

static bool is_header_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789-_");
	return n && !s[n] && n < 128;
}

static bool is_value(const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	}
	return true;
}

/* Headers that define the request or its user are set by us only. */
static bool is_reserved(const char *name)
{
	static const char *const names[] = {"host",
					    "content-length",
					    "transfer-encoding",
					    "connection",
					    "upgrade",
					    "content-type",
					    "content-encoding",
					    "accept",
					    "accept-encoding",
					    "te",
					    "trailer",
					    "expect",
					    "keep-alive",
					    "authorization"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(names[i], name) == 0)
			return true;
	}
	return strncasecmp(name, "proxy-", 6) == 0;
}

static int add_client_header(struct site_parser *p, const char *key, yaml_node_t *v,
			     const char *value)
{
	struct client_draft *c = p->client;

	if (!is_value(value))
		return yaml_walk_fail(&p->w, v, key, "a control character");
	if (c->header_count == SITE_HEADERS_MAX)
		return yaml_walk_fail(&p->w, v, key, "too many headers");
	c->headers[c->header_count++] = (struct http_header){p->header, value};
	return 0;
}

static int on_header_value(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	const char *value = NULL;
	int rc = site_text(p, key, v, &value);
	return rc < 0 ? rc : add_client_header(p, key, v, value);
}

static int on_header_file(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	auto_buf struct buf text = BUF_INIT;
	const char *path = NULL;
	struct err err = {""};
	int rc = site_path(p, key, v, &path);

	if (rc < 0)
		return rc;
	if (http_secret_read(path, &text, &err) < 0)
		return yaml_walk_fail(&p->w, v, key, err.text);
	const char *value = arena_text(p->arena, text.data);
	explicit_bzero(text.data, text.cap);
	return value ? add_client_header(p, key, v, value) : site_no_memory(p);
}

static int on_header_list(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	bool files = strcmp(key, "files") == 0;

	if (strcmp(key, "secrets") == 0)
		p->secrets = true;
	return yaml_walk_list(&p->w, p, key, v, SITE_HEADERS_MAX,
			      files ? on_header_file : on_header_value);
}

static int on_client_headers(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"values", on_header_list},
					       {"secrets", on_header_list},
					       {"files", on_header_list}};
	struct site_parser *p = arg;

	if (v->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(&p->w, v, key, "must be a mapping");
	for (yaml_node_pair_t *i = v->data.mapping.pairs.start;
	     i < v->data.mapping.pairs.top; i++) {
		yaml_node_t *k = yaml_document_get_node(p->w.doc, i->key);
		const char *name = NULL;
		int rc = site_text(p, key, k, &name);

		if (rc < 0)
			return rc;
		if (!is_header_name(name) || is_reserved(name))
			return yaml_walk_fail(&p->w, k, "not a header to set", name);
		p->header = name;
		rc = yaml_walk_map(&p->w, p, name,
				   yaml_document_get_node(p->w.doc, i->value), keys, 3);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- all of it ------------------------------------------------------------------- */

static int on_timeout(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return site_number(p, key, v, 'd', 100, 60000, &p->client->timeout_ms);
}

static int on_munge(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	bool on = false;
	int rc = yaml_walk_bool(&p->w, key, v, &on);

	p->client->munge = on;
	return rc;
}

static int on_redirects(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	bool on = false;
	int rc = yaml_walk_bool(&p->w, key, v, &on);

	if (rc == 0 && on)
		site_note(p, key, "redirects are never followed");
	return rc;
}

static int on_client_http2(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	bool on = false;
	int rc = yaml_walk_bool(&p->w, key, v, &on);

	if (rc == 0 && on)
		site_note(p, key, "HTTP/1.1 is used");
	return rc;
}

static int check_client(struct site_parser *p, const struct client_draft *c,
			yaml_node_t *v)
{
	const char *wrong = NULL;

	if (!c->url_count)
		wrong = "a server needs a url";
	else if (c->basic && (!c->user || strchr(c->user, ':') || !is_value(c->user)))
		wrong = "basic_auth needs a username, without a colon";
	else if (c->password && c->password_file)
		wrong = "password and password_file exclude each other";
	else if (c->credentials && c->credentials_file)
		wrong = "credentials and credentials_file exclude each other";
	else if (c->authorization && !c->credentials && !c->credentials_file)
		wrong = "authorization needs credentials";
	else if (c->authorization && c->basic)
		wrong = "basic_auth and authorization exclude each other";
	else if ((c->scheme && !is_header_name(c->scheme)) ||
		 (c->credentials && !is_value(c->credentials)))
		wrong = "authorization has characters that no header can hold";
	else if (!c->cert_file != !c->key_file)
		wrong = "tls_config: cert_file and key_file go together";
	return wrong ? yaml_walk_fail(&p->w, v, wrong, NULL) : 0;
}

int site_client(struct site_parser *p, struct client_draft *c, const char *key,
		yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"url", on_url},
		{"urls", on_urls},
		{"basic_auth", on_basic},
		{"authorization", on_authorization},
		{"tls_config", on_client_tls},
		{"http_headers", on_client_headers},
		{"timeout", on_timeout},
		{"munge", on_munge},
		{"follow_redirects", on_redirects},
		{"enable_http2", on_client_http2},
		{"requests_limit", site_ignored}, /* the API server's own, obsolete */
		{"oauth2", site_unsupported},
		{"proxy_url", site_unsupported},
		{"no_proxy", site_unsupported},
		{"proxy_from_environment", site_unsupported},
		{"proxy_connect_header", site_unsupported},
	};

	c->line = yaml_walk_line(v);
	c->munge = -1;
	p->client = c;
	int rc = yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
	p->client = NULL;
	return rc < 0 ? rc : check_client(p, c, v);
}

/* Appends a secret from the configuration itself, or from its own file. */
static int put_secret(struct site_parser *p, const struct client_draft *c,
		      const char *text, const char *file, struct buf *out)
{
	struct err err = {""};

	if (!file) {
		buf_puts(out, text ? text : "");
		return 0;
	}
	if (http_secret_read(file, out, &err) == 0 && is_value(out->data))
		return 0;
	return err_set(p->w.err, -EINVAL, "%s:%zu: %s", p->w.file, c->line,
		       *err.text ? err.text : "a secret with a control character");
}

int site_authorization(struct site_parser *p, const struct client_draft *c,
		       const char **ret)
{
	struct buf secret = BUF_INIT, text = BUF_INIT;
	int rc = 0;

	if (c->basic) {
		buf_printf(&secret, "%s:", c->user);
		rc = put_secret(p, c, c->password, c->password_file, &secret);
		buf_puts(&text, "Basic ");
		base64_put(&text, secret.data ? secret.data : "", secret.len);
	} else if (c->authorization) {
		buf_printf(&text, "%s ", c->scheme ? c->scheme : "Bearer");
		rc = put_secret(p, c, c->credentials, c->credentials_file, &text);
	}
	*ret = NULL;
	if (rc == 0 && text.len)
		*ret = buf_error(&text) ? NULL : arena_text(p->arena, text.data);
	if (rc == 0 && text.len && !*ret)
		rc = site_no_memory(p);
	if (secret.data)
		explicit_bzero(secret.data, secret.cap);
	if (text.data)
		explicit_bzero(text.data, text.cap);
	buf_done(&secret);
	buf_done(&text);
	return rc;
}
