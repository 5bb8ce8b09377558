/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a backend may answer, and what is refused of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lb/proxy/answer.h"

#define OK "HTTP/1.1 200 OK\r\n"

static ssize_t head(const char *text, struct answer_head *h)
{
	const char *why = NULL;
	ssize_t n = answer_head_read(text, strlen(text), 0, h, &why);

	if (n < 0)
		assert_non_null(why);
	return n;
}

static void head_with_a_length_is_read(void **state)
{
	struct answer_head h;
	const char text[] =
		OK "content-LENGTH: 42 \r\nContent-Type:\tapplication/json; "
		   "charset=utf-8\r\nContent-Encoding: gzip\r\n\r\nrest";

	(void)state;
	assert_int_equal(head(text, &h), sizeof(text) - 5);
	assert_int_equal(h.status, 200);
	assert_int_equal(h.framing, ANSWER_LENGTH);
	assert_int_equal(h.length, 42);
	assert_true(h.keeps);
	assert_string_equal(h.type, "application/json; charset=utf-8");
	assert_string_equal(h.encoding, "gzip");
}

static void an_error_of_grpc_web_in_headers_is_read(void **state)
{
	char text[2 * ANSWER_GRPC_MESSAGE_BYTES];
	struct answer_head h;

	(void)state;
	assert_true(head(OK "grpc-status: 3\r\nGrpc-Message: no 100%25\r\n\r\n", &h) >
		    0);
	assert_string_equal(h.grpc_status, "3");
	assert_string_equal(h.grpc_message, "no 100%25");
	assert_int_equal(head(OK "Grpc-Status: 3\r\nGrpc-Status: 0\r\n\r\n", &h),
			 -EBADMSG);
	assert_int_equal(head(OK "Grpc-Status: 3333\r\n\r\n", &h), -EBADMSG);
	/* a text that is too long is no reason to drop the answer */
	snprintf(text, sizeof(text), OK "Grpc-Status: 13\r\nGrpc-Message: %0*d\r\n\r\n",
		 ANSWER_GRPC_MESSAGE_BYTES, 0);
	assert_true(head(text, &h) > 0);
	assert_string_equal(h.grpc_status, "13");
	assert_string_equal(h.grpc_message, "");
}

static void framing_follows_the_head(void **state)
{
	static const struct {
		const char *text;
		enum answer_framing framing;
		bool keeps;
	} cases[] = {
		{OK "Transfer-Encoding: Chunked\r\n\r\n", ANSWER_CHUNKED, true},
		{OK "\r\n", ANSWER_CLOSE, false},
		{OK "Content-Length: 0\r\nConnection: x, Close\r\n\r\n", ANSWER_LENGTH,
		 false},
		{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", ANSWER_LENGTH, false},
		{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: "
		 "Keep-Alive\r\n\r\n",
		 ANSWER_LENGTH, true},
		{"HTTP/1.1 204 No Content\r\n\r\n", ANSWER_EMPTY, true},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", ANSWER_EMPTY,
		 true},
		{"HTTP/1.1 100 Continue\r\n\r\n", ANSWER_EMPTY, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct answer_head h;
		assert_int_equal(head(cases[i].text, &h), strlen(cases[i].text));
		assert_int_equal(h.framing, cases[i].framing);
		assert_int_equal(h.keeps, cases[i].keeps);
	}
}

static void what_two_readers_would_read_in_two_ways_is_refused(void **state)
{
	static const char *const cases[] = {
		OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
		OK "Content-Length: 5, 5\r\n\r\n",
		OK "Content-Length: +5\r\n\r\n",
		OK "Content-Length: 0x5\r\n\r\n",
		OK "Content-Length:\r\n\r\n",
		OK "Content-Length: 99999999999999999999\r\n\r\n",
		OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
		OK "Transfer-Encoding: identity\r\n\r\n",
		OK "Content-Length : 5\r\n\r\n",
		OK " Content-Length: 5\r\n\r\n",
		OK "X: y\r\n folded\r\n\r\n",
		OK "X: a\nContent-Length: 5\r\n\r\n",
		OK "X: a\rb\r\n\r\n",
		OK "no colon\r\n\r\n",
		OK ": empty\r\n\r\n",
		OK "Content-Type: a\r\nContent-Type: b\r\n\r\n",
		OK "Content-Encoding: gzip, br\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 101 Switching\r\n\r\n",
		"HTTP/1.1 600 No\r\n\r\n",
		"HTTP/1.1 099 No\r\n\r\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 200\r\n\r\n",
		"\r\n" OK "\r\n",
		"SSH-2.0-OpenSSH_9.2\r\n",
		"<html>",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct answer_head h;
		if (head(cases[i], &h) != -EBADMSG)
			fail_msg("taken: %s", cases[i]);
	}
}

static void head_in_pieces_is_waited_for(void **state)
{
	const char text[] = OK "Content-Length: 5\r\n\r\n";
	struct answer_head h;
	const char *why;

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		assert_int_equal(answer_head_read(text, n, n ? n - 1 : 0, &h, &why), 0);
	assert_int_equal(
		answer_head_read(text, sizeof(text) - 1, sizeof(text) - 2, &h, &why),
		sizeof(text) - 1);
}

static void head_too_long_is_refused(void **state)
{
	char *text = malloc(ANSWER_HEAD_MAX + 8);
	struct answer_head h;
	const char *why;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', ANSWER_HEAD_MAX + 8);
	memcpy(text, OK "X: ", strlen(OK) + 3);
	assert_int_equal(answer_head_read(text, ANSWER_HEAD_MAX - 1, 0, &h, &why), 0);
	assert_int_equal(answer_head_read(text, ANSWER_HEAD_MAX, 0, &h, &why), -EFBIG);
	free(text);
}

static ssize_t take(struct answer_body *b, const char *text, char *ret, size_t *used)
{
	size_t len = strlen(text);

	memcpy(ret, text, len + 1);
	ssize_t n = answer_body_take(b, ret, len, used);
	if (n >= 0)
		ret[n] = '\0';
	return n;
}

static void chunks_are_put_together(void **state)
{
	const struct answer_head h = {.framing = ANSWER_CHUNKED};
	struct answer_body b;
	char text[128];
	size_t used;

	(void)state;
	answer_body_begin(&b, &h, false);
	assert_int_equal(
		take(&b, "5\r\nabcde\r\n00A;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\nmore",
		     text, &used),
		15);
	assert_string_equal(text, "abcde0123456789");
	assert_true(b.over);
	assert_int_equal(answer_body_end(&b), 0);
}

static void bad_chunks_are_refused(void **state)
{
	static const char *const cases[] = {
		"g\r\n",
		"\r\n",
		"-1\r\n",
		"1 \r\na\r\n",
		"5\nabcde",
		"1\r\nab\r\n",
		"1\r\na\n0\r\n",
		"0000000000000001\r\n",
		"1;\x01\r\n",
		"0\r\nx\ny\r\n\r\n",
		"0\r\nx\ry\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct answer_head h = {.framing = ANSWER_CHUNKED};
		struct answer_body b;
		char text[128];
		size_t used;
		answer_body_begin(&b, &h, false);
		if (take(&b, cases[i], text, &used) != -EBADMSG)
			fail_msg("taken: %s", cases[i]);
	}
}

static void body_ends_where_its_length_says(void **state)
{
	const struct answer_head h = {.framing = ANSWER_LENGTH, .length = 5};
	struct answer_body b;
	char text[32];
	size_t used;

	(void)state;
	answer_body_begin(&b, &h, false);
	assert_int_equal(take(&b, "abc", text, &used), 3);
	assert_int_equal(answer_body_end(&b), -ECONNRESET);
	assert_int_equal(take(&b, "deHTTP/1.1 200", text, &used), 2);
	assert_int_equal(used, 2);
	assert_true(b.over);
	assert_int_equal(take(&b, "x", text, &used), 0);
	assert_int_equal(used, 0);
}

static void body_without_length_ends_with_its_connection(void **state)
{
	const struct answer_head h = {.framing = ANSWER_CLOSE};
	struct answer_body b;
	char text[32];
	size_t used;

	(void)state;
	answer_body_begin(&b, &h, false);
	assert_int_equal(take(&b, "abc", text, &used), 3);
	assert_false(b.over);
	assert_int_equal(answer_body_end(&b), 0);
	assert_true(b.over);
}

static void body_of_head_is_empty(void **state)
{
	const struct answer_head h = {.framing = ANSWER_LENGTH, .length = 5};
	struct answer_body b;

	(void)state;
	answer_body_begin(&b, &h, true);
	assert_true(b.over);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_with_a_length_is_read),
		cmocka_unit_test(an_error_of_grpc_web_in_headers_is_read),
		cmocka_unit_test(framing_follows_the_head),
		cmocka_unit_test(what_two_readers_would_read_in_two_ways_is_refused),
		cmocka_unit_test(head_in_pieces_is_waited_for),
		cmocka_unit_test(head_too_long_is_refused),
		cmocka_unit_test(chunks_are_put_together),
		cmocka_unit_test(bad_chunks_are_refused),
		cmocka_unit_test(body_ends_where_its_length_says),
		cmocka_unit_test(body_without_length_ends_with_its_connection),
		cmocka_unit_test(body_of_head_is_empty),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
