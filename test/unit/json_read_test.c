/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON without a tree: what RFC 8259 allows and what it does not. */
#include "lb/promql/json_read.h"

#include "test/unit/unit.h"

#include <errno.h>
#include <string.h>

static int skip_all_of(const char *text, size_t len)
{
	struct json_reader r;
	struct err err = {""};
	int rc;

	json_reader_init(&r, text, len, &err);
	rc = json_skip(&r);
	rc = rc ? rc : json_end(&r);
	assert_int_equal(rc == 0, !*err.text);
	return rc;
}

static void what_the_standard_allows_is_read(void **state)
{
	static const char *const good[] = {
		"0",
		"-0.5e+10",
		"1E9",
		" true ",
		"null",
		"\"\"",
		"\"\\u00e9\\ud83d\\ude00\\n\\/\"",
		"\"\xc3\xa9\"",
		"[]",
		"{}",
		"[1,[2,{\"a\":\"b\"}],\t{\"x\" : false}\r\n]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (skip_all_of(good[i], strlen(good[i])))
			fail_msg("refused: %s", good[i]);
}

static void what_it_does_not_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"01",
		"+1",
		"1.",
		".5",
		"1e",
		"-",
		"tru",
		"NaN",
		"'a'",
		"\"",
		"\"\\\"",
		"\"\\x\"",
		"\"\\u12g4\"",
		"\"\\u12\"",
		"\"\\u0000\"",
		"\"\\ud800\"",
		"\"\\ud800\\u0041\"",
		"\"\\udc00\"",
		"\"a\nb\"",
		"\"\xff\"",
		"\"\xc0\xaf\"",
		"[1,]",
		"[,1]",
		"[1 2]",
		"[1",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{a:1}",
		"{1:1}",
		"{\"a\":1",
		"[1}",
		"1 2",
		"// 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (skip_all_of(bad[i], strlen(bad[i])) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(skip_all_of("\"a\0b\"", 5), -EINVAL);
	assert_int_equal(skip_all_of("1\0", 2), -EINVAL);
}

static void depth_is_bounded(void **state)
{
	char text[4 * JSON_READ_DEPTH_MAX];

	(void)state;
	memset(text, '[', sizeof(text));
	memset(text + JSON_READ_DEPTH_MAX, ']', JSON_READ_DEPTH_MAX);
	assert_int_equal(skip_all_of(text, 2 * JSON_READ_DEPTH_MAX), 0);
	memset(text, '[', sizeof(text));
	memset(text + JSON_READ_DEPTH_MAX + 1, ']', JSON_READ_DEPTH_MAX + 1);
	assert_int_equal(skip_all_of(text, 2 * JSON_READ_DEPTH_MAX + 2), -E2BIG);
	memset(text, '[', sizeof(text));
	assert_int_equal(skip_all_of(text, sizeof(text)), -E2BIG);
}

static void escapes_are_taken_out_in_place(void **state)
{
	char text[] = " \"a\\u0062\\t\\ud83d\\ude00\\\\\\\"\" ";
	struct json_reader r;
	struct str raw;
	uint32_t len;

	(void)state;
	json_reader_init(&r, text, strlen(text), NULL);
	assert_true(json_at_string(&r));
	assert_int_equal(json_raw_string(&r, &raw), 0);
	assert_int_equal(json_end(&r), 0);
	assert_int_equal(json_unescape(&r, raw, (char *)raw.p, &len), 0);
	assert_int_equal(len, 9);
	assert_memory_equal(raw.p, "ab\t\xf0\x9f\x98\x80\\\"", 9);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_standard_allows_is_read),
		cmocka_unit_test(what_it_does_not_is_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(escapes_are_taken_out_in_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
