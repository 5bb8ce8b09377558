/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The purpose of a MUNGE credential, written by clients and compared by servers. */
#include "lib/identity/munge_request.h"

#include <ctype.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/own_host.h"

#define HASH_BYTES 32u
#define HOST_BYTES 256
#define WORD_LEN (sizeof(MUNGE_REQUEST_WORD) - 1)

static int hash_body(const void *body, size_t len, char ret[MUNGE_REQUEST_HASH_BYTES])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char hash[HASH_BYTES];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, len ? body : "", len, hash) < 0)
		return -EIO;
	for (size_t i = 0; i < HASH_BYTES; i++) {
		ret[2 * i] = hex[hash[i] >> 4];
		ret[2 * i + 1] = hex[hash[i] & 15];
	}
	ret[2 * (size_t)HASH_BYTES] = '\0';
	return 0;
}

/* ---- a client's ------------------------------------------------------------------ */

/* url has been checked: scheme and host, no user. */
static void put_place(struct buf *out, const char *url)
{
	const char *p = strstr(url, "://");
	bool tls = strncasecmp(url, "https:", 6) == 0;

	p = p ? p + 3 : url;
	size_t n = strcspn(p, "/?");
	const char *close = memchr(p, ']', n), *from = close ? close : p;
	for (size_t i = 0; i < n; i++)
		buf_putc(out, (char)tolower((unsigned char)p[i]));
	if (!memchr(from, ':', n - (size_t)(from - p)))
		buf_puts(out, tls ? ":443" : ":80");
	buf_putc(out, ' ');
	if (p[n] != '/')
		buf_putc(out, '/');
	buf_puts(out, p + n);
}

int munge_request_write_node(const char *socket, const char *node, const char *method,
			     const char *url, const void *body, size_t len,
			     struct buf *ret, struct err *err)
{
	auto_buf struct buf payload = {.max = MUNGE_PAYLOAD_MAX};
	char hash[MUNGE_REQUEST_HASH_BYTES];

	if (hash_body(body, len, hash) < 0)
		return err_set(err, -EIO, "munge: no SHA-256");
	buf_printf(&payload, MUNGE_REQUEST_WORD "%s ", method);
	put_place(&payload, url);
	buf_printf(&payload, " %s%s%s", hash, node ? " " : "", node ? node : "");
	if (buf_error(&payload))
		return err_set(err, -E2BIG, "munge: too long a URL");
	return munge_write(socket, payload.data, payload.len, ret, err);
}

int munge_request_write(const char *socket, const char *method, const char *url,
			const void *body, size_t len, struct buf *ret, struct err *err)
{
	return munge_request_write_node(socket, NULL, method, url, body, len, ret, err);
}

/* ---- a server's ------------------------------------------------------------------ */

bool munge_request_is_bound(const struct munge_facts *m)
{
	return m->payload.len > WORD_LEN &&
	       memcmp(m->payload.data, MUNGE_REQUEST_WORD, WORD_LEN) == 0;
}

struct munge_field {
	const char *s;
	size_t len;
};

/* None contains a blank. */
struct fields {
	struct munge_field method, authority, target, hash,
		node; /* node.s NULL: none */
};

static bool split_payload(const struct munge_facts *m, struct fields *ret)
{
	const char *p = m->payload.data + WORD_LEN,
		   *end = m->payload.data + m->payload.len;
	struct munge_field f[5] = {{NULL, 0}};
	size_t n = 0;

	for (; p && n < 5; n++) {
		const char *blank = memchr(p, ' ', (size_t)(end - p));
		f[n] = (struct munge_field){p, (size_t)((blank ? blank : end) - p)};
		p = blank ? blank + 1 : NULL;
	}
	*ret = (struct fields){f[0], f[1], f[2], f[3], f[4]};
	return !p && n >= 4 && ret->hash.len == 2 * (size_t)HASH_BYTES &&
	       memchr(ret->hash.s, 0, ret->hash.len) == NULL;
}

static bool field_is_text(const struct munge_field *f, const char *text)
{
	return strlen(text) == f->len && memcmp(text, f->s, f->len) == 0;
}

/* host:port, [host]:port; the host without brackets. */
static bool cut_host(const struct munge_field *authority, char *ret, size_t size)
{
	const char *s = authority->s, *colon = memrchr(s, ':', authority->len);
	size_t n = colon ? (size_t)(colon - s) : 0;

	if (n >= 2 && s[0] == '[' && s[n - 1] == ']') {
		s++;
		n -= 2;
	}
	if (!n || n >= size || memchr(s, 0, n))
		return false;
	memcpy(ret, s, n);
	ret[n] = '\0';
	return true;
}

bool munge_request_host(const struct munge_facts *m, char *ret, size_t size)
{
	struct fields f;

	return munge_request_is_bound(m) && split_payload(m, &f) &&
	       cut_host(&f.authority, ret, size);
}

bool munge_request_node(const struct munge_facts *m, char *ret, size_t size)
{
	struct fields f;

	if (!munge_request_is_bound(m) || !split_payload(m, &f) || f.node.len >= size ||
	    (f.node.s && memchr(f.node.s, 0, f.node.len)))
		return false;
	if (f.node.s)
		memcpy(ret, f.node.s, f.node.len);
	ret[f.node.len] = '\0';
	return true;
}

/* Whether it is a configured name, with or without the port. */
static bool is_listed_host(const struct munge_asked *a,
			   const struct munge_field *authority, const char *host)
{
	for (size_t i = 0; i < a->host_count; i++) {
		const char *s = a->hosts[i];
		if (strcmp(s, "*") == 0 || strcasecmp(s, host) == 0 ||
		    (strlen(s) == authority->len &&
		     strncasecmp(s, authority->s, authority->len) == 0))
			return true;
	}
	return false;
}

static bool is_ours(const struct munge_asked *a, const struct munge_field *authority,
		    const char *host)
{
	struct netaddr address;
	bool literal = netaddr_parse(host, &address) == 0;

	if (is_listed_host(a, authority, host))
		return true;
	/* loopback names mean the host that it was sent from */
	if (literal ? netaddr_is_loopback(&address)
		    : strcasecmp(host, "localhost") == 0)
		return !a->has_peer || netaddr_is_loopback(&a->peer);
	if (literal)
		return a->has_local && netaddr_equal(&address, &a->local);
	return own_host_is_named(host);
}

int munge_request_check(const struct munge_facts *m, const struct munge_asked *a,
			char ret_hash[MUNGE_REQUEST_HASH_BYTES], struct err *err)
{
	char host[HOST_BYTES];
	struct fields f;

	if (!munge_request_is_bound(m) || !split_payload(m, &f) ||
	    !cut_host(&f.authority, host, sizeof(host)) || a->node != !!f.node.s)
		return err_set(err, -EACCES,
			       "munge: the credential is not bound to a request");
	if (!is_ours(a, &f.authority, host))
		return err_set(err, -EACCES,
			       "munge: the credential was made for host %.100s, which "
			       "is not this one (munge-hosts of its "
			       "configuration)",
			       host);
	if (!field_is_text(&f.method, a->method) ||
	    !field_is_text(&f.target, a->target))
		return err_set(err, -EACCES,
			       "munge: the credential was made for another method or "
			       "path");
	memcpy(ret_hash, f.hash.s, f.hash.len);
	ret_hash[f.hash.len] = '\0';
	return 0;
}

int munge_request_check_body(const char *hash, const void *body, size_t len,
			     struct err *err)
{
	char is[MUNGE_REQUEST_HASH_BYTES];

	if (hash_body(body, len, is) == 0 && strcmp(is, hash) == 0)
		return 0;
	return err_set(err, -EACCES, "munge: the credential was made for another body");
}
