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

#define CLIENT struct client_draft

static int check_url(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	struct http_url_parts parts;
	struct err err = {""};

	return http_url_split(*(const char **)at, &parts, &err) < 0
		       ? yaml_walk_fail(&r->w, v, key, err.text)
		       : 0;
}

static int read_client_version(struct yaml_reader *r, const struct yaml_row *row,
			       const char *key, yaml_node_t *v, void *at)
{
	const char *s = "";
	int rc = yaml_read_text(r, row, key, v, &s);

	(void)at;
	if (rc == 0 && strcmp(s, "TLS12") != 0)
		rc = yaml_walk_fail(
			&r->w, v, key,
			"TLS 1.2 and 1.3 are always used: only TLS12 can be given");
	return rc;
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

/* A header's value, from its file if it has one. */
static int take_header_value(struct site_parser *p, const struct yaml_header *h,
			     struct http_header *ret)
{
	auto_buf struct buf text = BUF_INIT;
	struct err err = {""};

	*ret = (struct http_header){h->name, h->value};
	if (!is_header_name(h->name) || is_reserved(h->name))
		return site_fail(p, h->line, "not a header to set", h->name);
	if (h->file) {
		if (http_secret_read(h->file, &text, &err) < 0)
			return site_fail(p, h->line, h->name, err.text);
		ret->value = arena_text(p->r.arena, text.data);
		explicit_bzero(text.data, text.cap);
		if (!ret->value)
			return yaml_reader_no_memory(&p->r);
	}
	return is_value(ret->value)
		       ? 0
		       : site_fail(p, h->line, h->name, "a control character");
}

static int check_client_headers(struct yaml_reader *r, const char *key, yaml_node_t *v,
				void *at)
{
	CLIENT *c = (void *)((char *)at - offsetof(CLIENT, given_headers));
	int rc = 0;

	(void)key;
	(void)v;
	c->headers = yaml_reader_alloc(r, c->header_count, sizeof(*c->headers));
	if (!c->headers)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < c->header_count; i++)
		rc = take_header_value(r->config, &c->given_headers[i], &c->headers[i]);
	return rc;
}

/* ---- all of it ------------------------------------------------------------------- */

static const struct yaml_row url_item = {.read = yaml_read_text, .check = check_url};

static const struct yaml_row basic_rows[] = {
	YAML_TEXT("username", CLIENT, auth.user),
	YAML_SECRET("password", CLIENT, auth.password),
	YAML_PATH("password_file", CLIENT, auth.password_file),
	YAML_REFUSED("username_file"),
	YAML_END,
};

static const struct yaml_row authorization_rows[] = {
	YAML_TEXT("type", CLIENT, auth.scheme),
	YAML_SECRET("credentials", CLIENT, auth.credentials),
	YAML_PATH("credentials_file", CLIENT, auth.credentials_file),
	YAML_END,
};

static const struct yaml_row tls_rows[] = {
	YAML_PATH("ca_file", CLIENT, ca_file),
	YAML_PATH("cert_file", CLIENT, cert_file),
	YAML_PATH("key_file", CLIENT, key_file),
	YAML_TEXT("server_name", CLIENT, server_name),
	YAML_BOOL("insecure_skip_verify", CLIENT, insecure),
	{.key = "min_version", .read = read_client_version},
	YAML_REFUSED("max_version"),
	YAML_REFUSED("ca"),
	YAML_REFUSED("cert"),
	YAML_REFUSED("key"),
	YAML_END,
};

const struct yaml_row site_client_rows[] = {
	YAML_TEXT("url", CLIENT, url, .check = check_url),
	YAML_LIST("urls", &url_item, CLIENT, urls, url_count, SITE_URLS_MAX),
	YAML_SAME("basic_auth", basic_rows, .given = offsetof(CLIENT, basic_line)),
	YAML_SAME("authorization", authorization_rows,
		  .given = offsetof(CLIENT, authorization_line)),
	YAML_SAME("tls_config", tls_rows),
	YAML_HEADERS("http_headers", CLIENT, given_headers, header_count,
		     SITE_HEADERS_MAX, .check = check_client_headers),
	YAML_RANGE("timeout", ms, CLIENT, timeout_ms, 0, 100, 60000),
	YAML_BOOL("munge", CLIENT, munge, .given = offsetof(CLIENT, munge_line)),
	{.key = "follow_redirects",
	 .read = yaml_read_unused_bool,
	 .note = "redirects are never followed"},
	{.key = "enable_http2",
	 .read = yaml_read_unused_bool,
	 .note = "HTTP/1.1 is used"},
	/* the API server's own, obsolete */
	YAML_SKIPPED("requests_limit", .note = "has no effect here"),
	YAML_REFUSED("oauth2"),
	YAML_REFUSED("proxy_url"),
	YAML_REFUSED("no_proxy"),
	YAML_REFUSED("proxy_from_environment"),
	YAML_REFUSED("proxy_connect_header"),
	YAML_END,
};

/* Puts url in front of urls. */
static int join_urls(struct yaml_reader *r, CLIENT *c, yaml_node_t *v)
{
	const char **all;

	if (!c->url)
		return 0;
	if (c->url_count == SITE_URLS_MAX)
		return yaml_walk_fail(&r->w, v, "urls", "too many");
	all = yaml_reader_alloc(r, c->url_count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	all[0] = c->url;
	if (c->url_count)
		memcpy(all + 1, c->urls, c->url_count * sizeof(*all));
	c->urls = all;
	c->url_count++;
	return 0;
}

int site_check_client(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	CLIENT *c = at;
	const struct http_auth *a = &c->auth;
	const char *wrong = NULL;
	int rc = join_urls(r, c, v);

	(void)key;
	if (rc < 0)
		return rc;
	if (!c->url_count)
		wrong = "a server needs a url";
	else if (c->basic_line &&
		 (!a->user || strchr(a->user, ':') || !is_value(a->user)))
		wrong = "basic_auth needs a username, without a colon";
	else if (a->password && a->password_file)
		wrong = "password and password_file exclude each other";
	else if (a->credentials && a->credentials_file)
		wrong = "credentials and credentials_file exclude each other";
	else if (c->authorization_line && !a->credentials && !a->credentials_file)
		wrong = "authorization needs credentials";
	else if (c->authorization_line && c->basic_line)
		wrong = "basic_auth and authorization exclude each other";
	else if ((a->scheme && !is_header_name(a->scheme)) ||
		 (a->credentials && !is_value(a->credentials)))
		wrong = "authorization has characters that no header can hold";
	else if (!c->cert_file != !c->key_file)
		wrong = "tls_config: cert_file and key_file go together";
	return wrong ? yaml_walk_fail(&r->w, v, wrong, NULL) : 0;
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
	return site_fail(p, c->line,
			 *err.text ? err.text : "a secret with a control character",
			 NULL);
}

int site_authorization(struct site_parser *p, const struct client_draft *c,
		       const char **ret)
{
	struct buf secret = BUF_INIT, text = BUF_INIT;
	int rc = 0;

	if (c->basic_line) {
		buf_printf(&secret, "%s:", c->auth.user);
		rc = put_secret(p, c, c->auth.password, c->auth.password_file, &secret);
		buf_puts(&text, "Basic ");
		base64_put(&text, secret.data ? secret.data : "", secret.len);
	} else if (c->authorization_line) {
		buf_printf(&text, "%s ", c->auth.scheme ? c->auth.scheme : "Bearer");
		rc = put_secret(p, c, c->auth.credentials, c->auth.credentials_file,
				&text);
	}
	*ret = NULL;
	if (rc == 0 && text.len)
		*ret = buf_error(&text) ? NULL : arena_text(p->r.arena, text.data);
	if (rc == 0 && text.len && !*ret)
		rc = yaml_reader_no_memory(&p->r);
	if (secret.data)
		explicit_bzero(secret.data, secret.cap);
	if (text.data)
		explicit_bzero(text.data, text.cap);
	buf_done(&secret);
	buf_done(&text);
	return rc;
}
