/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Request bodies. Their length is limited by the route, and all bodies held at a time
 * by the server; a request whose end is ambiguous (RFC 9112, 6.3 and 11.2) is
 * refused. */
#include "lib/http/web_body.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/http_text.h"
#include "lib/parse.h"

#define ROOM_FIRST ((size_t)16 << 10)

static const struct {
	const char *name;
	enum web_method method;
} methods[] = {
	{"GET", WEB_GET},         {"HEAD", WEB_HEAD},   {"POST", WEB_POST},
	{"PUT", WEB_PUT},         {"PATCH", WEB_PATCH}, {"DELETE", WEB_DELETE},
	{"OPTIONS", WEB_OPTIONS},
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static unsigned find_method(const char *name)
{
	for (size_t i = 0; i < METHODS; i++) {
		if (strcmp(methods[i].name, name) == 0)
			return methods[i].method;
	}
	return 0;
}

void web_methods_text(unsigned set, char *ret, size_t size)
{
	size_t at = 0;

	*ret = '\0';
	for (size_t i = 0; i < METHODS && at < size; i++) {
		if (set & methods[i].method)
			at += (size_t)snprintf(ret + at, size - at, "%s%s",
					       at ? ", " : "", methods[i].name);
	}
}

struct headers {
	unsigned host, length, encoding, expect;
	bool bad_name;
};

static inline bool is_header_named(const char *s, size_t len, const char *name)
{
	return len == strlen(name) && strcasecmp(s, name) == 0;
}

static enum MHD_Result look_at_header(void *cls, enum MHD_ValueKind kind,
				      const char *name, size_t len, const char *value,
				      size_t value_len)
{
	struct headers *h = cls;

	(void)kind;
	(void)value;
	(void)value_len;
	/* with a blank before its colon another parser would see another header */
	h->bad_name |= !http_text_is_token(name, len);
	h->host += is_header_named(name, len, MHD_HTTP_HEADER_HOST);
	h->length += is_header_named(name, len, MHD_HTTP_HEADER_CONTENT_LENGTH);
	h->encoding += is_header_named(name, len, MHD_HTTP_HEADER_TRANSFER_ENCODING);
	h->expect += is_header_named(name, len, MHD_HTTP_HEADER_EXPECT);
	return MHD_YES;
}

static unsigned check_framing(struct web_request *r, bool http11, const char **ret_text)
{
	struct headers h = {0};
	uint64_t n = 0;

	MHD_get_connection_values_n(r->connection, MHD_HEADER_KIND, look_at_header, &h);
	*ret_text = "ambiguous request\n";
	if (h.bad_name || h.host > 1 || h.length > 1 || h.encoding > 1 ||
	    (h.length && h.encoding) || (h.encoding && !http11))
		return MHD_HTTP_BAD_REQUEST;
	/* in strict mode the library (0.9.75) answers twice */
	*ret_text = "no Host\n";
	if (http11 && !h.host)
		return MHD_HTTP_BAD_REQUEST;
	*ret_text = "bad Content-Length\n";
	if (h.length &&
	    parse_u64(web_header(r, MHD_HTTP_HEADER_CONTENT_LENGTH), &n) < 0)
		return MHD_HTTP_BAD_REQUEST;
	*ret_text = "unknown transfer coding\n";
	if (h.encoding && strcasecmp(web_header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING),
				     "chunked") != 0)
		return MHD_HTTP_NOT_IMPLEMENTED;
	*ret_text = "unknown expectation\n";
	if (h.expect &&
	    (h.expect > 1 ||
	     strcasecmp(web_header(r, MHD_HTTP_HEADER_EXPECT), "100-continue") != 0))
		return MHD_HTTP_EXPECTATION_FAILED;
	r->body.chunked = h.encoding;
	r->body.announced = h.length;
	r->body.length = n;
	r->body.expected = h.expect;
	return 0;
}

/* Whether the media type, without its parameters, is the one wanted. */
static bool is_type(const char *value, const char *want)
{
	size_t n = strlen(want);

	if (!value || strncasecmp(value, want, n) != 0)
		return false;
	value += n;
	value += strspn(value, " \t");
	return *value == '\0' || *value == ';';
}

unsigned web_head_check(struct web_request *r, const char *method, const char *version,
			const char **ret_text)
{
	bool http11 = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
	unsigned status = check_framing(r, http11, ret_text);
	uint64_t most = r->route ? r->route->body_bytes_max : 0;
	bool body = r->body.chunked || r->body.length;

	if (status)
		return status;
	r->method = find_method(method);
	*ret_text = "method not allowed here\n";
	if (!(r->method & web_methods(r)))
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	bool wants = most && r->method & (WEB_POST | WEB_PUT | WEB_PATCH);
	*ret_text = wants ? "body too long\n" : "no request may have a body here\n";
	if (body && (!wants || r->body.length > most))
		return MHD_HTTP_CONTENT_TOO_LARGE;
	if (!wants)
		return 0;
	*ret_text = "Content-Length is missing\n";
	if (!body && !r->body.announced)
		return MHD_HTTP_LENGTH_REQUIRED;
	*ret_text = "unsupported content type\n";
	if (r->route->body_type &&
	    !is_type(web_header(r, MHD_HTTP_HEADER_CONTENT_TYPE), r->route->body_type))
		return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	return 0;
}

int web_bodies_init(struct web *w, struct err *err)
{
	w->bodies = calloc(1, sizeof(*w->bodies));
	if (!w->bodies || gnutls_rnd(GNUTLS_RND_NONCE, w->bodies->hash_key,
				     sizeof(w->bodies->hash_key)) < 0)
		return err_set(err, -ENOMEM, "web: out of memory");
	return 0;
}

/* Clients without proof leave a quarter to proved ones, and one to front ends, and have
 * a quarter each, but always room for what this call needs. Mutex held. */
static size_t most_of(const struct web_request *r)
{
	size_t all = r->w->bodies_bytes_max;
	size_t most = r->body.stranger ? all / 4 : all - all / 4;

	return most > r->route->body_bytes_max ? most : r->route->body_bytes_max;
}

static bool body_has_room(const struct web_request *r, size_t bytes)
{
	const struct web *w = r->w;
	size_t all = w->bodies_bytes_max;

	size_t strangers = w->is_front_end ? all / 2 : all - all / 4;

	if (bytes > all || w->bodies_bytes > all - bytes)
		return false;
	if (r->body.unproved && w->bodies_unproved + bytes > all - all / 4 &&
	    w->bodies_unproved)
		return false;
	if (r->body.stranger && w->bodies_strangers + bytes > strangers &&
	    w->bodies_strangers)
		return false;
	size_t most = most_of(r), used = web_budget_used(w->bodies, r->body.holder);
	return bytes <= most && used <= most - bytes;
}

static void find_holder(struct web_request *r)
{
	const struct web_conn *conn = web_conn_of(r->connection);
	uint64_t who = conn ? web_conn_who(conn) : 0;

	if (r->body.room)
		return;
	r->body.unproved = !who;
	r->body.stranger = !who && !(conn && web_conn_from(conn)->front_end);
	r->body.holder = who ? who : conn ? ~web_conn_from(conn)->client : 0;
}

static bool take_room(struct web_request *r, size_t bytes)
{
	struct web *w = r->w;

	pthread_mutex_lock(&w->bodies_mutex);
	find_holder(r);
	bool good = body_has_room(r, bytes) &&
		    web_budget_take(w->bodies, r->body.holder, bytes, SIZE_MAX);
	if (good) {
		w->bodies_bytes += bytes;
		w->bodies_unproved += r->body.unproved ? bytes : 0;
		w->bodies_strangers += r->body.stranger ? bytes : 0;
	} else {
		w->bodies_refused++;
	}
	pthread_mutex_unlock(&w->bodies_mutex);
	return good;
}

static void give_room(struct web_request *r, size_t bytes)
{
	struct web *w = r->w;

	if (!bytes)
		return;
	pthread_mutex_lock(&w->bodies_mutex);
	web_budget_give(w->bodies, r->body.holder, bytes);
	w->bodies_bytes -= bytes;
	w->bodies_unproved -= r->body.unproved ? bytes : 0;
	w->bodies_strangers -= r->body.stranger ? bytes : 0;
	pthread_mutex_unlock(&w->bodies_mutex);
}

bool web_body_fits(struct web_request *r)
{
	pthread_mutex_lock(&r->w->bodies_mutex);
	find_holder(r);
	bool fits = body_has_room(r, (size_t)r->body.length);
	r->w->bodies_refused += !fits;
	pthread_mutex_unlock(&r->w->bodies_mutex);
	return fits;
}

/* Makes room for len more, which is within the route's limit. */
static bool make_body_room(struct web_request *r, size_t len)
{
	size_t most =
		r->body.chunked ? r->route->body_bytes_max : (size_t)r->body.length;
	size_t need = r->body.len + len;
	size_t room = r->body.room ? r->body.room : ROOM_FIRST;

	if (need <= r->body.room)
		return true;
	while (room < need)
		room *= 2; /* need is at most body_bytes_max */
	room = room < most ? room : most;
	if (!take_room(r, room - r->body.room))
		return false;
	char *data = realloc(r->body.data, room);
	if (!data) {
		give_room(r, room - r->body.room);
		return false;
	}
	r->body.data = data;
	r->body.room = room;
	return true;
}

bool web_body_add(struct web_request *r, const void *data, size_t len)
{
	size_t most = r->route->body_bytes_max;

	if (!r->body.refused && !r->held) {
		if (len > most - r->body.len)
			r->body.refused = MHD_HTTP_CONTENT_TOO_LARGE;
		else if (!make_body_room(r, len))
			r->body.refused = MHD_HTTP_SERVICE_UNAVAILABLE;
	}
	if (!r->body.refused && !r->held) {
		memcpy(r->body.data + r->body.len, data, len);
		r->body.len += len;
		return true;
	}
	web_body_free(r);
	r->body.skipped += len;
	return r->body.skipped <= most;
}

void web_body_free(struct web_request *r)
{
	give_room(r, r->body.room);
	free(r->body.data);
	r->body.data = NULL;
	r->body.room = r->body.len = 0;
}
