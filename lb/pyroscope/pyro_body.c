/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The envelope of a message: frames, compression, and a message in a URL. */
#include "lb/pyroscope/pyro_body.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <zlib.h>

#include "lb/promql/form.h"
#include "lb/pyroscope/pyro_message.h"
#include "lib/base64.h"

#define STEP_BYTES ((size_t)4096)
#define FRAME_BYTES 5u      /* flags and length */
#define FRAME_COMPRESSED 1u /* flags */
#define FRAME_TRAILERS 128u

static const struct media {
	const char *name;
	struct pyro_form form;
} medias[] = {
	{"application/proto", {"application/proto", false, false}},
	{"application/json", {"application/json", true, false}},
	{"application/grpc-web", {"application/grpc-web+proto", false, true}},
	{"application/grpc-web+proto", {"application/grpc-web+proto", false, true}},
	{"application/grpc-web+json", {"application/grpc-web+json", true, true}},
};
#define MEDIAS (sizeof(medias) / sizeof(medias[0]))

static const char *skip_pyro_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

/* The media type of a header; it may be followed only by the charset UTF-8. */
static const struct pyro_form *form_of(const char *header)
{
	size_t n = strcspn(header, "; \t");
	const char *p = skip_pyro_blanks(header + n);

	if (*p == ';') {
		static const char charset[] = "charset=";

		p = skip_pyro_blanks(p + 1);
		if (strncasecmp(p, charset, sizeof(charset) - 1) != 0)
			return NULL;
		p += sizeof(charset) - 1;
		if (strcasecmp(p, "utf-8") != 0 && strcasecmp(p, "\"utf-8\"") != 0)
			return NULL;
	} else if (*p) {
		return NULL;
	}
	for (size_t i = 0; i < MEDIAS; i++)
		if (strlen(medias[i].name) == n &&
		    strncasecmp(header, medias[i].name, n) == 0)
			return &medias[i].form;
	return NULL;
}

/* 0: none; 1: gzip */
static int parse_compression(const char *name, struct err *err)
{
	if (!name || !*name || !strcasecmp(name, "identity"))
		return 0;
	if (!strcasecmp(name, "gzip"))
		return 1;
	return err_set(err, -EOPNOTSUPP, "compression %.40s is not supported: use gzip",
		       name);
}

static int too_long(struct err *err)
{
	return err_set(err, -E2BIG, "a message of more than %u bytes", PYRO_BODY_MAX);
}

/* Limit of expansion: text of many units compresses to a twentieth, zeros to a
 * thousandth. */
#define INFLATED_TIMES 64u
#define INFLATED_FIRST ((size_t)16 << 10)

static int inflate_body(z_stream *z, struct buf *out, struct err *err)
{
	size_t most = INFLATED_FIRST + (size_t)z->avail_in * INFLATED_TIMES;

	for (;;) { /* each turn fills its room, or is the last */
		size_t room = PYRO_BODY_MAX + 1 - out->len;
		char *at;
		int rc;

		room = room < STEP_BYTES ? room : STEP_BYTES;
		at = buf_reserve(out, room);
		if (!at)
			return err_set(err, -ENOMEM, "out of memory");
		z->next_out = (Bytef *)at;
		z->avail_out = (uInt)room;
		rc = inflate(z, Z_NO_FLUSH);
		buf_commit(out, room - z->avail_out);
		if (out->len > PYRO_BODY_MAX)
			return too_long(err);
		if (out->len > most)
			return err_set(
				err, -E2BIG,
				"a message compressed by more than a factor of %u",
				INFLATED_TIMES);
		if (rc == Z_STREAM_END && z->avail_in)
			return err_set(err, -EINVAL, "bytes after the gzip body");
		if (rc == Z_STREAM_END)
			return 0;
		if (rc == Z_MEM_ERROR)
			return err_set(err, -ENOMEM, "out of memory");
		if (rc != Z_OK || z->avail_out)
			return err_set(err, -EINVAL, "not gzip, or truncated");
	}
}

static int unpack_body(const void *bytes, size_t len, bool gzip, struct buf *out,
		       struct err *err)
{
	z_stream z = {.next_in = (Bytef *)bytes, .avail_in = (uInt)len};
	int rc;

	if (!gzip) {
		buf_put(out, bytes, len);
		return buf_error(out) ? err_set(err, -ENOMEM, "out of memory") : 0;
	}
	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	rc = inflate_body(&z, out, err);
	inflateEnd(&z);
	return rc;
}

/* ---- Connect with GET ------------------------------------------------------------ */

static int unpack_base64(struct str s, struct buf *out, struct err *err)
{
	char *room = buf_reserve(out, BASE64_BYTES(s.len));
	ssize_t n = room ? base64_decode(s.p, s.len, BASE64_URL_EITHER, room,
					 BASE64_BYTES(s.len))
			 : -ENOMEM;

	if (n < 0)
		return err_set(err, (int)n,
			       n == -ENOMEM ? "out of memory"
					    : "message is not base64url");
	buf_commit(out, (size_t)n);
	return 0;
}

/* Index of an enumerated parameter's value; 0: missing */
static int read_form_choice(const struct form *f, const char *name,
			    const char *const *values, struct err *err)
{
	struct str v;
	int rc = form_get(f, name, &v, err);

	if (rc <= 0)
		return rc;
	for (int i = 0; values[i]; i++)
		if (str_eq(v, values[i]))
			return i + 1;
	return err_set(err, -EINVAL, "parameter \"%s\": %.40s is not supported here",
		       name, v.p);
}

static int read_url_message(const struct protocol_input *in, struct pyro_form *ret,
			    struct buf *message, struct err *err)
{
	static const char *const encodings[] = {"proto", "json", NULL},
				 *const yes[] = {"0", "1", NULL},
				 *const versions[] = {"v1", NULL},
				 *const compressions[] = {"identity", "gzip", NULL};
	auto_form struct form f = {0};
	auto_buf struct buf packed = BUF_INIT;
	int encoding, in_base64, zip, rc;
	struct str text;

	if (strlen(in->query ?: "") > PYRO_BODY_MAX)
		return too_long(err);
	rc = form_read(in->query ?: "", strlen(in->query ?: ""), &f, err);
	if (rc)
		return rc;
	encoding = read_form_choice(&f, "encoding", encodings, err);
	in_base64 = encoding < 0 ? encoding : read_form_choice(&f, "base64", yes, err);
	zip = in_base64 < 0 ? in_base64
			    : read_form_choice(&f, "compression", compressions, err);
	rc = zip < 0 ? zip : read_form_choice(&f, "connect", versions, err);
	rc = rc < 0 ? rc : form_get(&f, "message", &text, err);
	if (rc < 0)
		return rc;
	if (!rc || !encoding)
		return err_set(err, -EINVAL, "parameter \"%s\" is missing",
			       rc ? "encoding" : "message");
	*ret = medias[encoding - 1].form;
	if (in_base64 != 2)
		return unpack_body(text.p, text.len, zip == 2, message, err);
	rc = unpack_base64(text, &packed, err);
	return rc ? rc : unpack_body(packed.data, packed.len, zip == 2, message, err);
}

/* ---- POST ------------------------------------------------------------------------ */

static int read_frame(const struct protocol_input *in, struct buf *message,
		      struct err *err)
{
	const unsigned char *p = in->body;
	size_t len;

	if (in->body_len < FRAME_BYTES)
		return err_set(err, -EINVAL, "the gRPC-web frame is truncated");
	len = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	if (p[0] & ~FRAME_COMPRESSED || len != in->body_len - FRAME_BYTES)
		return err_set(err, -EINVAL, "the body is not one gRPC-web frame");
	return unpack_body(p + FRAME_BYTES, len, p[0] & FRAME_COMPRESSED, message, err);
}

int pyro_body_read(const struct protocol_input *in, struct pyro_form *ret,
		   struct buf *ret_message, struct err *err)
{
	const struct pyro_form *f;
	int zip;

	if (in->body_len > PYRO_BODY_MAX)
		return too_long(err);
	if (!in->post) {
		if (in->body_len)
			return err_set(err, -EINVAL, "GET with a body");
		return read_url_message(in, ret, ret_message, err);
	}
	if (in->query && *in->query)
		return err_set(err, -EINVAL, "POST with parameters in the URL");
	f = in->content_type ? form_of(in->content_type) : NULL;
	if (!f)
		return err_set(err, -EOPNOTSUPP,
			       "Content-Type %.60s: use application/proto, "
			       "application/json or application/grpc-web",
			       in->content_type ?: "is missing");
	zip = parse_compression(in->content_encoding, err);
	if (zip < 0)
		return zip;
	*ret = *f;
	if (!f->framed)
		return unpack_body(in->body, in->body_len, zip, ret_message, err);
	if (zip)
		return err_set(err, -EOPNOTSUPP,
			       "gRPC-web compresses in its frame, not the body");
	return read_frame(in, ret_message, err);
}

/* ---- writing --------------------------------------------------------------------- */

static void put_frame(unsigned flags, const void *bytes, size_t len, struct buf *out)
{
	buf_putc(out, (char)flags);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_putc(out, (char)(len >> shift));
	buf_put(out, bytes, len);
}

void pyro_body_write(const struct pyro_form *f, const struct buf *message,
		     struct buf *out)
{
	if (f->framed)
		put_frame(0, message->data, message->len, out);
	else
		buf_put(out, message->data, message->len);
}

void pyro_body_answer(const struct pyro_form *f, const struct buf *message,
		      struct buf *out)
{
	static const char good[] = "grpc-status: 0\r\n";

	pyro_body_write(f, message, out);
	if (f->framed)
		put_frame(FRAME_TRAILERS, good, sizeof(good) - 1, out);
}

/* gRPC codes and their Connect names, for HTTP statuses */
static const struct code {
	unsigned status, number;
	const char *name;
} codes[] = {
	{400, 3, "invalid_argument"},
	{401, 16, "unauthenticated"},
	{403, 7, "permission_denied"},
	{404, 12, "unimplemented"},
	{408, 4, "deadline_exceeded"},
	{413, 8, "resource_exhausted"},
	{415, 12, "unimplemented"},
	{422, 8, "resource_exhausted"},
	{429, 8, "resource_exhausted"},
	{502, 14, "unavailable"},
	{503, 14, "unavailable"},
	{504, 4, "deadline_exceeded"},
	{0, 13, "internal"},
};

/* Percent-encoded, as gRPC messages must be */
static void put_percent(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c > '~' || c == '%')
			buf_printf(out, "%%%02X", c);
		else
			buf_putc(out, *text);
	}
}

void pyro_body_refuse(const struct protocol_input *in, unsigned status,
		      const char *text, struct buf *out, const char **type)
{
	const struct pyro_form *f =
		in && in->content_type ? form_of(in->content_type) : NULL;
	auto_buf struct buf trailers = BUF_INIT;
	const struct code *c = codes;

	while (c->status && c->status != status)
		c++;
	if (!f || !f->framed) {
		buf_printf(out, "{\"code\":\"%s\",\"message\":", c->name);
		buf_put_json(out, text, strlen(text));
		buf_putc(out, '}');
		*type = "application/json";
		return;
	}
	buf_printf(&trailers, "grpc-status: %u\r\ngrpc-message: ", c->number);
	put_percent(&trailers, text);
	buf_puts(&trailers, "\r\n");
	put_frame(FRAME_TRAILERS, trailers.data, trailers.len, out);
	if (buf_error(&trailers))
		out->error = out->error ?: buf_error(&trailers);
	*type = f->content_type;
}
