/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client's side of the API: authentication, envelope, pages, and errors that say
 * what to do. */
#include "cli/cacct/api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/http/client_url.h"
#include "lib/http/json.h"
#include "lib/identity/munge_request.h"

#define BODY_MAX ((size_t)64 << 20)
#define TIMEOUT_MS 60000
#define PAGES_MAX 100000u

struct api {
	const struct api_site *site; /* borrowed */
	struct http_client *http;
	char base[1024]; /* the URL without its path */
	char path[512];  /* of the URL, without the last slash */
};

/* "http://host:9020/prefix/" to "http://host:9020" and "/prefix" */
static int split_url(struct api *a, struct err *err)
{
	const char *url = a->site->url;
	int rc = http_url_check(url, err);

	if (rc < 0)
		return rc;
	const char *host = strstr(url, "://");
	size_t base = host ? (size_t)(host + 3 - url) : 0;
	base += strcspn(url + base, "/?#");
	size_t path = strlen(url + base);
	while (path && url[base + path - 1] == '/')
		path--;
	if (memchr(url + base, '?', path))
		return err_set(err, -EINVAL, "must be a URL without '?'");
	if (base >= sizeof(a->base) || path >= sizeof(a->path))
		return err_set(err, -EINVAL, "URL too long");
	memcpy(a->base, url, base);
	memcpy(a->path, url + base, path);
	return 0;
}

int api_new(const struct api_site *site, struct api **ret, struct err *err)
{
	struct api *a = calloc(1, sizeof(*a));
	const struct http_client_config config = {.ca_file = site->ca_file,
						  .cert_file = site->cert_file,
						  .key_file = site->key_file,
						  .insecure = site->insecure,
						  .timeout_ms = TIMEOUT_MS,
						  .max_body_bytes = BODY_MAX,
						  .proxy = "env"};

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->site = site;
	int rc = split_url(a, err);
	if (rc == 0)
		rc = http_client_new(&config, &a->http, err);
	if (rc < 0) {
		free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	http_client_free(a->http);
	free(a);
}

/* A credential is valid once, for one request, so each request has its own. */
static int munge_auth(const char *socket, const char *url, struct buf *credential,
		      struct http_auth *auth, struct err *err)
{
	int rc = munge_request_write(socket, "GET", url, NULL, 0, credential, err);

	if (rc == -E2BIG)
		return err_set(err, -EINVAL,
			       "the request is too long: name fewer jobs");
	if (rc < 0)
		return err_prefix(err, rc,
				  "cannot show who you are (is munged running here? "
				  "else name a token file)");
	auth->scheme = "MUNGE";
	auth->credentials = credential->data;
	return 0;
}

static int prove_identity(struct api *a, const char *url, struct buf *credential,
			  struct http_auth *auth, struct err *err)
{
	const struct api_site *s = a->site;

	if (s->nobody)
		return 0;
	if (s->token_file) {
		auth->scheme = "Bearer";
		auth->credentials_file = s->token_file;
	} else if (s->user) {
		auth->user = s->user;
		auth->password_file = s->password_file;
	} else if (!s->cert_file) {
		int rc = munge_auth(s->munge_socket, url, credential, auth, err);
		return s->anonymous ? 0 : rc;
	}
	return 0;
}

static int do_get(struct api *a, const char *target, struct http_response *resp,
		  struct err *err)
{
	const struct http_header headers[] = {{"Accept", "application/json"}};
	struct http_auth auth = {.user = NULL};
	auto_buf struct buf url = {.max = 64 << 10}, credential = {.max = 64 << 10};
	struct http_request req = {
		.method = HTTP_GET, .headers = headers, .header_count = 1};

	buf_printf(&url, "%s%s%s", a->base, a->path, target);
	if (buf_error(&url))
		return err_set(err, -EINVAL,
			       "the request is too long: name fewer jobs");
	int rc = prove_identity(a, url.data, &credential, &auth, err);
	if (rc < 0)
		return rc;
	req.url = url.data;
	if (auth.scheme || auth.user)
		req.auth = &auth;
	rc = http_client_do(a->http, &req, resp, err);
	if (rc == -ECONNREFUSED || rc == -EHOSTUNREACH || rc == -ETIMEDOUT)
		return err_prefix(err, rc,
				  "no answer from the server (is it running, and is "
				  "--api.url right?)");
	return rc;
}

/* The server's own error text, if any. */
static const char *words_of(struct json_object *o)
{
	const char *text = http_json_text(o, "error");

	if (!text)
		text = http_json_text(o, "message"); /* Connect's form */

	return text ? text : "";
}

static int status_error(const struct http_response *resp, struct json_object *o,
			struct err *err)
{
	const char *words = words_of(o), *colon = *words ? ": " : "";

	switch (resp->status) {
	case 401:
		return err_set(err, -EACCES, "%s does not know who you are%s%.300s",
			       resp->url, colon, words);
	case 403:
		return err_set(err, -EACCES, "refused by %s%s%.300s", resp->url, colon,
			       words);
	case 404:
		return err_set(err, -ENOENT, "%s: not found%s%.300s", resp->url, colon,
			       words);
	case 400:
	case 413:
	case 414:
	case 422:
		return err_set(err, -EINVAL, "%s does not accept the request%s%.300s",
			       resp->url, colon, words);
	case 429:
	case 503:
		return err_set(err, -EBUSY,
			       "%s is busy or not ready, try again%s%.300s", resp->url,
			       colon, words);
	default:
		return err_set(err, -EPROTO, "%s: HTTP status %u%s%.300s", resp->url,
			       resp->status, colon, words);
	}
}

int api_get(struct api *a, const char *target, struct json_object **ret,
	    struct err *err)
{
	static const struct http_json_limits limits = {.bytes_max = BODY_MAX,
						       .depth_max = 24};
	auto_http_response struct http_response resp = {0};
	auto_json struct json_object *o = NULL;
	int rc = do_get(a, target, &resp, err);

	if (rc < 0)
		return rc;
	rc = http_json_object(resp.body.data ? resp.body.data : "", resp.body.len,
			      &limits, &o, err);
	if (resp.status != 200)
		return status_error(&resp, rc < 0 ? NULL : o, err);
	if (rc < 0)
		return err_prefix(err, -EPROTO, "%s is not the API", resp.url);
	const char *status = http_json_text(o, "status");
	if (!status || strcmp(status, "success") != 0)
		return err_set(err, -EPROTO, "%s is not the API, or it failed: %.300s",
			       resp.url, words_of(o));
	*ret = steal_ptr(&o);
	return 0;
}

int api_get_text(struct api *a, const char *target, struct buf *ret, struct err *err)
{
	auto_http_response struct http_response resp = {0};
	int rc = do_get(a, target, &resp, err);

	if (rc < 0)
		return rc;
	if (resp.status != 200) {
		static const struct http_json_limits limits = {.bytes_max = 1 << 16,
							       .depth_max = 8};
		auto_json struct json_object *o = NULL;
		if (http_json_object(resp.body.data ? resp.body.data : "",
				     resp.body.len, &limits, &o, NULL) < 0)
			o = NULL;
		return status_error(&resp, o, err);
	}
	buf_put(ret, resp.body.data, resp.body.len);
	return buf_error(ret);
}

void api_put_param(struct buf *target, const char *name, const char *value)
{
	bool first = !target->data || !strchr(target->data, '?');

	buf_putc(target, first ? '?' : '&');
	buf_puts(target, name);
	buf_putc(target, '=');
	http_url_put_escaped(target, value);
}

static int each_row(struct json_object *page, api_row_f f, void *arg, struct err *err)
{
	struct json_object *data = http_json_get_any(page, "data");

	if (!data)
		return 0;
	if (!json_object_is_type(data, json_type_array))
		return err_set(err, -EPROTO, "the server's data is not a list");
	size_t n = json_object_array_length(data);
	for (size_t i = 0; i < n; i++) {
		struct json_object *row = json_object_array_get_idx(data, i);
		if (!json_object_is_type(row, json_type_object))
			return err_set(err, -EPROTO,
				       "a row from the server is not an object");
		int rc = f(arg, row, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Where the next page begins; false: this is the last one, or the cursor did not
 * move. */
static bool next_cursor(struct json_object *page, struct buf *cursor)
{
	const char *text = http_json_text(page, "cursor");

	if (!text || !*text)
		return false;
	if (cursor->data && strcmp(cursor->data, text) == 0)
		return false;
	buf_reset(cursor);
	buf_puts(cursor, text);
	return !buf_error(cursor);
}

int api_rows(struct api *a, const char *target, api_row_f f, void *arg,
	     struct json_object **ret_meta, struct err *err)
{
	auto_buf struct buf cursor = {.max = 4096};

	for (unsigned n = 0; n < PAGES_MAX; n++) {
		auto_json struct json_object *page = NULL;
		auto_buf struct buf full = {.max = 64 << 10};
		buf_puts(&full, target);
		if (cursor.len)
			api_put_param(&full, "cursor", cursor.data);
		if (buf_error(&full))
			return err_set(err, -EINVAL, "the request is too long");
		int rc = api_get(a, full.data, &page, err);
		if (rc == 0)
			rc = each_row(page, f, arg, err);
		if (rc < 0)
			return rc;
		if (next_cursor(page, &cursor))
			continue;
		if (ret_meta) {
			json_object_object_del(page, "data");
			*ret_meta = steal_ptr(&page);
		}
		return 0;
	}
	return err_set(err, -EFBIG, "more than %u pages: ask for less", PAGES_MAX);
}
