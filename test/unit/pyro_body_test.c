/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/pyroscope/pyro_body.h"

#include <errno.h>
#include <string.h>

#include <zlib.h>

#include "lb/pyroscope/pyro_message.h"
#include "test/unit/unit.h"

#define BYTES(s) .body = s, .body_len = sizeof(s) - 1

struct row {
	struct protocol_input in;
	int rc;
	const char *text; /* the message, or a part of the error */
	const char *type; /* of what is sent on */
};

static void check(const struct row *w)
{
	auto_buf struct buf message = BUF_INIT;
	struct pyro_form form = {0};
	struct err err = {0};
	int rc = pyro_body_read(&w->in, &form, &message, &err);

	if (rc != w->rc || (rc && !strstr(err.text, w->text)))
		fail_msg("%s: %d %s, not %d %s",
			 w->in.query        ?: w->in.content_type ?: "", rc, err.text,
			 w->rc, w->text);
	if (rc)
		return;
	assert_int_equal(message.len, strlen(w->text));
	if (message.len)
		assert_memory_equal(message.data, w->text, message.len);
	assert_string_equal(form.content_type, w->type);
}

static void media_types_are_what_they_say(void **state)
{
	(void)state;
#define POST(type_) .in = {.post = true, .content_type = type_, BYTES("ab") }
	static const struct row rows[] = {
		{POST("application/proto"), 0, "ab", "application/proto"},
		{POST("application/json"), 0, "ab", "application/json"},
		{POST("Application/JSON; charset=UTF-8"), 0, "ab", "application/json"},
		{POST("application/json;charset=\"utf-8\""), 0, "ab",
		 "application/json"},
		{POST("application/json; charset=utf-7"), -EOPNOTSUPP, "utf-7"},
		{POST("application/json; charset=utf-8; x=y"), -EOPNOTSUPP, "x=y"},
		{POST("application/json; x=y"), -EOPNOTSUPP, "x=y"},
		{POST("application/json application/proto"), -EOPNOTSUPP,
		 ": use application"},
		{POST("application/json, application/proto"), -EOPNOTSUPP,
		 ": use application"},
		{POST("application/jsonx"), -EOPNOTSUPP, ": use application"},
		{POST("application/protobuf"), -EOPNOTSUPP, ": use application"},
		{POST("application/x-www-form-urlencoded"), -EOPNOTSUPP,
		 ": use application"},
		/* streams, HTTP/2's gRPC, and base64 that no server of these speaks */
		{POST("application/connect+proto"), -EOPNOTSUPP, ": use application"},
		{POST("application/grpc"), -EOPNOTSUPP, ": use application"},
		{POST("application/grpc+proto"), -EOPNOTSUPP, ": use application"},
		{POST("application/grpc-web-text"), -EOPNOTSUPP, ": use application"},
		{POST("application/grpc-web-text+proto"), -EOPNOTSUPP,
		 ": use application"},
		{POST(""), -EOPNOTSUPP, ": use application"},
		{POST(NULL), -EOPNOTSUPP, "is missing"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

static void frames_of_grpc_web_hold_one_message(void **state)
{
	(void)state;
#define WEB(bytes)                                                                     \
	.in = {.post = true, .content_type = "application/grpc-web", BYTES(bytes) }
#define WEB_TYPE "application/grpc-web+proto"
	static const struct row rows[] = {
		{WEB("\0\0\0\0\2ab"), 0, "ab", WEB_TYPE},
		{WEB("\0\0\0\0\0"), 0, "", WEB_TYPE},
		{WEB(""), -EINVAL, "truncated"},
		{WEB("\0\0\0\0"), -EINVAL, "truncated"},
		{WEB("\0\0\0\0\3ab"), -EINVAL, "one gRPC-web frame"},
		{WEB("\0\0\0\0\1ab"), -EINVAL, "one gRPC-web frame"},
		{WEB("\0\0\0\0\1a\0\0\0\0\1b"), -EINVAL, "one gRPC-web frame"},
		{WEB("\0\xff\xff\xff\xff"), -EINVAL, "one gRPC-web frame"},
		{WEB("\x80\0\0\0\2ab"), -EINVAL, "one gRPC-web frame"},
		{WEB("\2\0\0\0\2ab"), -EINVAL, "one gRPC-web frame"},
		{WEB("\1\0\0\0\2ab"), -EINVAL, "not gzip"},
		{.in = {.post = true,
			.content_type = "application/grpc-web+json",
			BYTES("\0\0\0\0\2{}")},
		 0,
		 "{}",
		 "application/grpc-web+json"},
		{.in = {.post = true,
			.content_type = "application/grpc-web",
			.content_encoding = "gzip",
			BYTES("\0\0\0\0\2ab")},
		 -EOPNOTSUPP,
		 "in its frame"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

static void a_message_in_the_url_is_base64url(void **state)
{
	(void)state;
#define GET(query_) .in = {.query = query_ }
#define P "application/proto"
	static const struct row rows[] = {
		{GET("encoding=json&message=%7B%7D"), 0, "{}", "application/json"},
		{GET("connect=v1&encoding=proto&message=ab"), 0, "ab", P},
		{GET("encoding=proto&message="), 0, "", P},
		{GET("encoding=proto&base64=0&message=YWI"), 0, "YWI", P},
		{GET("encoding=proto&base64=1&message=YWI"), 0, "ab", P},
		{GET("encoding=proto&base64=1&message=YWI%3D"), 0, "ab", P},
		{GET("encoding=proto&base64=1&message=YWI="), 0, "ab", P},
		{GET("encoding=proto&base64=1&message=-_8"), 0, "\xfb\xff", P},
		{GET("encoding=proto&base64=1&message="), 0, "", P},
		{GET("encoding=proto&compression=identity&message=ab"), 0, "ab", P},
		/* what another reader of base64 would take */
		{GET("encoding=proto&base64=1&message=%2B%2F8"), -EINVAL, "base64url"},
		{GET("encoding=proto&base64=1&message=YWI=="), -EINVAL, "base64url"},
		{GET("encoding=proto&base64=1&message=YW=I"), -EINVAL, "base64url"},
		{GET("encoding=proto&base64=1&message=YWJ"), -EINVAL, "base64url"},
		{GET("encoding=proto&base64=1&message=Y"), -EINVAL, "base64url"},
		{GET("encoding=proto&base64=1&message=YW%0AI"), -EINVAL, "base64url"},
		{GET("encoding=proto&base64=1&message=YW+I"), -EINVAL, "base64url"},
		{GET("encoding=proto&base64=2&message=YWI"), -EINVAL, "base64"},
		{GET("encoding=proto&base64=true&message=YWI"), -EINVAL, "base64"},
		{GET("encoding=proto&compression=br&message=YWI"), -EINVAL,
		 "compression"},
		{GET("encoding=proto&compression=gzip&message=YWI"), -EINVAL,
		 "not gzip"},
		{GET("encoding=text&message=YWI"), -EINVAL, "encoding"},
		{GET("message=YWI"), -EINVAL, "\"encoding\" is missing"},
		{GET("encoding=proto"), -EINVAL, "\"message\" is missing"},
		{GET("connect=v2&encoding=proto&message=a"), -EINVAL, "connect"},
		{GET("encoding=proto&message=a&message=b"), -EINVAL, "appears twice"},
		{GET("encoding=proto&encoding=json&message=b"), -EINVAL,
		 "appears twice"},
		{GET("encoding=proto&base64=1&base64=0&message=b"), -EINVAL,
		 "appears twice"},
		{GET("encoding=proto&message=%00"), -EINVAL, "NUL"},
		{GET(NULL), -EINVAL, "\"message\" is missing"},
		{.in = {.query = "encoding=proto&message=a", BYTES("b")},
		 -EINVAL,
		 "GET with a body"},
		{.in = {.post = true,
			.content_type = "application/proto",
			.query = "encoding=proto&message=a",
			BYTES("b")},
		 -EINVAL,
		 "parameters in the URL"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

/* ---- gzip ------------------------------------------------------------------------ */

static void zip(const void *bytes, size_t len, struct buf *out)
{
	z_stream z = {0};
	size_t room;

	assert_int_equal(
		deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
		Z_OK);
	room = deflateBound(&z, len);
	z.next_in = (Bytef *)bytes;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)buf_reserve(out, room);
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_commit(out, room - z.avail_out);
	deflateEnd(&z);
}

/* As the body of a POST */
static int unzip(const struct buf *body, size_t len, const char *encoding,
		 struct buf *message, struct err *err)
{
	const struct protocol_input in = {.post = true,
					  .content_type = "application/proto",
					  .content_encoding = encoding,
					  .body = body->data,
					  .body_len = len};
	struct pyro_form form;

	buf_reset(message);
	return pyro_body_read(&in, &form, message, err);
}

static void compression_is_undone_and_a_bomb_does_not_go_off(void **state)
{
	(void)state;
	auto_buf struct buf zeroes = BUF_INIT, zipped = BUF_INIT, message = BUF_INIT,
			    text = BUF_INIT;
	struct err err;

	/* numbers of units, as a message has them */
	for (unsigned i = 0; text.len < PYRO_BODY_MAX; i++)
		buf_printf(&text, "%u|", 100000 + i * 7);

	memset(buf_reserve(&zeroes, 8 << 20), 0, 8 << 20);
	buf_commit(&zeroes, 8 << 20);
	zip(zeroes.data, PYRO_BODY_MAX, &zipped);
	assert_int_equal(unzip(&zipped, zipped.len, "gzip", &message, &err), -E2BIG);
	assert_non_null(strstr(err.text, "compressed by more than"));
	buf_reset(&zipped);
	zip(text.data, PYRO_BODY_MAX, &zipped);
	assert_int_equal(unzip(&zipped, zipped.len, "gzip", &message, &err), 0);
	assert_int_equal(message.len, PYRO_BODY_MAX);
	assert_int_equal(unzip(&zipped, zipped.len, "GZIP", &message, &err), 0);
	/* each cut of it */
	for (size_t n = 0; n < zipped.len; n += n < 40 ? 1 : 37)
		assert_int_equal(unzip(&zipped, n, "gzip", &message, &err), -EINVAL);
	assert_int_equal(unzip(&zipped, zipped.len, "deflate", &message, &err),
			 -EOPNOTSUPP);
	assert_int_equal(unzip(&zipped, zipped.len, "gzip, gzip", &message, &err),
			 -EOPNOTSUPP);
	/* another member, or anything, behind it */
	buf_put(&zipped, zipped.data, 20);
	assert_int_equal(unzip(&zipped, zipped.len, "gzip", &message, &err), -EINVAL);
	assert_non_null(strstr(err.text, "after the gzip"));
	/* one byte more than may be, and a thousand times as many */
	for (size_t len = PYRO_BODY_MAX + 1; len;
	     len = len < zeroes.len ? zeroes.len : 0) {
		buf_reset(&zipped);
		zip(zeroes.data, len, &zipped);
		assert_int_equal(unzip(&zipped, zipped.len, "gzip", &message, &err),
				 -E2BIG);
		assert_true(message.cap <= 4 * PYRO_BODY_MAX);
	}
	assert_int_equal(unzip(&zeroes, PYRO_BODY_MAX + 1, NULL, &message, &err),
			 -E2BIG);
}

/* ---- refusals -------------------------------------------------------------------- */

static void refusals_are_in_the_form_of_the_client(void **state)
{
	(void)state;
	static const struct {
		const char *type;
		unsigned status;
		const char *text, *want;
		size_t len;
	} rows[] = {
		{"application/json", 403, "unit 1 is not \"yours\"",
		 "{\"code\":\"permission_denied\",\"message\":\"unit 1 is not "
		 "\\\"yours\\\"\"}",
		 0},
		{"application/proto", 400, "x",
		 "{\"code\":\"invalid_argument\",\"message\":\"x\"}", 0},
		{NULL, 401, "x", "{\"code\":\"unauthenticated\",\"message\":\"x\"}", 0},
		{"text/plain", 413, "x",
		 "{\"code\":\"resource_exhausted\",\"message\":\"x\"}", 0},
		{NULL, 429, "x", "{\"code\":\"resource_exhausted\",\"message\":\"x\"}",
		 0},
		{NULL, 503, "x", "{\"code\":\"unavailable\",\"message\":\"x\"}", 0},
		{NULL, 418, "x", "{\"code\":\"internal\",\"message\":\"x\"}", 0},
		{"application/grpc-web", 403, "100% \xc3\xa4\r\n",
		 "\x80\0\0\0\x33"
		 "grpc-status: 7\r\ngrpc-message: 100%25 %C3%A4%0D%0A\r\n",
		 5 + 51},
		{"application/grpc-web+json", 503, "x",
		 "\x80\0\0\0\x22"
		 "grpc-status: 14\r\ngrpc-message: x\r\n",
		 5 + 34},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct protocol_input in = {.post = true,
						  .content_type = rows[i].type};
		auto_buf struct buf out = BUF_INIT;
		const char *type = NULL;
		size_t len = rows[i].len ? rows[i].len : strlen(rows[i].want);

		pyro_body_refuse(&in, rows[i].status, rows[i].text, &out, &type);
		assert_int_equal(out.len, len);
		assert_memory_equal(out.data, rows[i].want, len);
		assert_string_equal(type, !rows[i].len ? "application/json"
					  : strstr(rows[i].type, "json")
						  ? "application/grpc-web+json"
						  : "application/grpc-web+proto");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(media_types_are_what_they_say),
		cmocka_unit_test(frames_of_grpc_web_hold_one_message),
		cmocka_unit_test(a_message_in_the_url_is_base64url),
		cmocka_unit_test(compression_is_undone_and_a_bomb_does_not_go_off),
		cmocka_unit_test(refusals_are_in_the_form_of_the_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
