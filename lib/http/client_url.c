/* SPDX-License-Identifier: GPL-2.0-or-later */
/* URLs parsed as by libcurl (RFC 3986), so that what was checked is what is requested;
 * and secrets from files. */
#include "lib/http/client_url.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/http/client.h"
#include "lib/parse.h"
#include "lib/secret.h"

#define URL_MAX 4096u
#define SECRET_MAX 4096u

static void cleanup_url(CURLU **u)
{
	curl_url_cleanup(*u);
}
#define auto_url __attribute__((cleanup(cleanup_url)))

static void cleanup_part(char **s)
{
	curl_free(*s);
}
#define auto_part __attribute__((cleanup(cleanup_part)))

static CURLU *parse_http_url(const char *url)
{
	CURLU *u = curl_url();

	if (u && curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK) {
		curl_url_cleanup(u);
		return NULL;
	}
	return u;
}

static char *dup_url_part(CURLU *u, CURLUPart what)
{
	char *s = NULL;

	if (curl_url_get(u, what, &s, CURLU_DEFAULT_PORT) != CURLUE_OK)
		return NULL;
	return s;
}

int http_url_check(const char *url, struct err *err)
{
	size_t n = strnlen(url, URL_MAX + 1);

	if (n > URL_MAX)
		return err_set(err, -EINVAL, "URL too long");
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)url[i] <= 0x20 || url[i] == 0x7f)
			return err_set(err, -EINVAL,
				       "contains a blank or control character");
	}
	auto_url CURLU *u = parse_http_url(url);
	if (!u)
		return err_set(err, -EINVAL,
			       strstr(url, "://")
				       ? "not a URL (http://HOST:PORT, a port must be "
					 "1 to 65535)"
				       : "must begin with http:// or https://");
	auto_part char *scheme = dup_url_part(u, CURLUPART_SCHEME);
	auto_part char *host = dup_url_part(u, CURLUPART_HOST);
	auto_part char *user = dup_url_part(u, CURLUPART_USER);
	auto_part char *password = dup_url_part(u, CURLUPART_PASSWORD);
	auto_part char *fragment = dup_url_part(u, CURLUPART_FRAGMENT);
	if (!scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		return err_set(err, -EINVAL, "neither http nor https");
	if (!host || !*host)
		return err_set(err, -EINVAL, "no host");
	if (user || password)
		return err_set(err, -EINVAL, "must not contain user and password");
	if (fragment)
		return err_set(err, -EINVAL, "must not contain a fragment");
	return 0;
}

/* No characters that could break a line of HTTP, or make a path ambiguous. */
static bool is_plain_url_text(const char *s, const char *more)
{
	for (; *s; s++) {
		bool alnum = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
			     (*s >= '0' && *s <= '9');

		if (!alnum && !strchr(more, *s))
			return false;
	}
	return true;
}

static int copy_host(const char *host, struct http_url_parts *ret)
{
	size_t n = strlen(host);
	bool v6 = host[0] == '[' && n > 2 && host[n - 1] == ']';

	n -= v6 ? 2 : 0;
	if (n >= sizeof(ret->host))
		return -EINVAL;
	memcpy(ret->host, host + v6, n);
	ret->host[n] = '\0';
	return is_plain_url_text(ret->host, v6 ? ":." : ".-_") ? 0 : -EINVAL;
}

int http_url_split(const char *url, struct http_url_parts *ret, struct err *err)
{
	struct http_url_parts p = {.tls = false};
	uint32_t port = 0;
	int rc = http_url_check(url, err);

	if (rc < 0)
		return rc;
	auto_url CURLU *u = parse_http_url(url);
	auto_part char *scheme = dup_url_part(u, CURLUPART_SCHEME);
	auto_part char *host = dup_url_part(u, CURLUPART_HOST);
	auto_part char *number = dup_url_part(u, CURLUPART_PORT);
	auto_part char *path = dup_url_part(u, CURLUPART_PATH);
	auto_part char *query = dup_url_part(u, CURLUPART_QUERY);
	auto_part char *zone = dup_url_part(u, CURLUPART_ZONEID);
	if (!scheme || !host || !number || !path)
		return err_set(err, -ENOMEM, "out of memory");
	if (query || zone)
		return err_set(err, -EINVAL, "must not contain a query or zone");
	p.tls = strcmp(scheme, "https") == 0;
	if (parse_u32(number, &port) < 0 || !port || port > 65535)
		return err_set(err, -EINVAL, "a port must be 1 to 65535");
	p.port = (uint16_t)port;
	size_t n = strlen(path);
	while (n && path[n - 1] == '/')
		n--;
	if (copy_host(host, &p) < 0)
		return err_set(err, -EINVAL, "not a host");
	if (n >= sizeof(p.path) || !is_plain_url_text(path, "/.-_~") ||
	    strstr(path, "//") || strstr(path, "/."))
		return err_set(err, -EINVAL, "not a plain path");
	memcpy(p.path, path, n);
	*ret = p;
	return 0;
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart what)
{
	auto_part char *x = dup_url_part(a, what);
	auto_part char *y = dup_url_part(b, what);

	return x && y && strcasecmp(x, y) == 0;
}

bool http_url_same_origin(const char *a, const char *b)
{
	auto_url CURLU *x = parse_http_url(a);
	auto_url CURLU *y = parse_http_url(b);

	return x && y && http_url_check(b, NULL) == 0 &&
	       same_part(x, y, CURLUPART_SCHEME) && same_part(x, y, CURLUPART_HOST) &&
	       same_part(x, y, CURLUPART_PORT);
}

void http_url_name(const char *url, char *ret, size_t size)
{
	const char *host = strstr(url, "://");
	size_t n = strcspn(url, "?#"), out = 0;

	if (!size)
		return;
	/* drops what precedes an @ in the authority */
	size_t start = host && (size_t)(host - url) < n ? (size_t)(host - url) + 3 : 0;
	size_t slash = start + strcspn(url + start, "/?#");
	size_t skip = start;
	for (size_t i = start; i < slash; i++) {
		if (url[i] == '@')
			skip = i + 1;
	}
	for (size_t i = 0; i < n && out + 1 < size; i++) {
		if (i >= start && i < skip)
			continue;
		unsigned char c = (unsigned char)url[i];
		ret[out++] = (char)(c <= 0x20 || c >= 0x7f ? '?' : c);
	}
	ret[out] = '\0';
}

int http_secret_read(const char *path, struct buf *ret, struct err *err)
{
	auto_secret struct buf text = {.max = (size_t)4 * SECRET_MAX};
	int rc = secret_load(path, SECRET_MAX, &text, err);

	if (rc < 0)
		return rc;
	while (text.len &&
	       (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
		buf_truncate(&text, text.len - 1);
	if (!text.len || strlen(text.data) != text.len)
		return err_set(err, -EINVAL, "%s: contains no secret", path);
	buf_put(ret, text.data, text.len);
	rc = buf_error(ret);
	return rc ? err_set(err, rc, "%s: too long", path) : 0;
}

void http_url_put_escaped(struct buf *target, const char *text)
{
	static const char safe[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789-._~";

	for (; *text; text++) {
		if (strchr(safe, *text))
			buf_putc(target, *text);
		else
			buf_printf(target, "%%%02X", (unsigned char)*text);
	}
}
