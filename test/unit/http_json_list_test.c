/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/json_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

static struct buf seen;
static size_t refuse_at;

static int done(void **state)
{
	(void)state;
	buf_done(&seen);
	return 0;
}

static int take_number(void *arg, struct json_object *o, struct err *err)
{
	uint64_t n = 0;

	(void)arg;
	if (http_json_u64(o, "n", 100, &n) < 0)
		n = 99;
	if (refuse_at && n == refuse_at)
		return err_set(err, -EIO, "no more");
	buf_printf(&seen, "%llu ", (unsigned long long)n);
	return 0;
}

/* In pieces of so many bytes; ret, where it went well: what was seen, and the rest. */
static int read_in_pieces(const char *text, size_t piece, const char *rest,
			  struct err *err)
{
	struct http_json_list l = {
		.name = "list",
		.limits = {.bytes_max = 64, .depth_max = 8, .strict = true},
		.take = take_number};
	auto_json struct json_object *o = NULL;
	int rc = 0;

	buf_reset(&seen);
	for (size_t at = 0, len = strlen(text); at < len && rc == 0; at += piece)
		rc = http_json_list_feed(&l, text + at,
					 len - at < piece ? len - at : piece, err);
	rc = rc ? rc : http_json_list_end(&l, &o, err);
	assert_true((rc == 0) == (o != NULL));
	if (rc == 0)
		assert_string_equal(
			json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
			rest);
	http_json_list_done(&l);
	return rc;
}

static void check_read(const char *text, const char *numbers, const char *rest)
{
	struct err err = {""};

	for (size_t piece = 1; piece < 80; piece++) {
		if (read_in_pieces(text, piece, rest, &err) < 0)
			fail_msg("%s in pieces of %zu: %s", text, piece, err.text);
		assert_string_equal(seen.data ? seen.data : "", numbers);
	}
}

static void elements_are_taken_one_by_one_wherever_the_text_is_cut(void **state)
{
	(void)state;
	check_read("{\"list\":[{\"n\":1},{\"n\":2},{\"n\":3}]}", "1 2 3 ",
		   "{\"list\":[]}");
	check_read(" {\"a\": {\"list\": [{\"n\": 9}]}, \"list\" :\n[ {\"n\": 1} ,\t"
		   "{\"n\": 2, \"in\": [[{}], 5]}\r\n] , \"b\": [1, [2]]} ",
		   "1 2 ", "{\"a\":{\"list\":[{\"n\":9}]},\"list\":[],\"b\":[1,[2]]}");
	check_read("{\"x\": true, \"list\": [ ]}", "", "{\"x\":true,\"list\":[]}");
}

static void brackets_and_quotes_in_strings_are_text(void **state)
{
	(void)state;
	check_read(
		"{\"list\":[{\"s\":\"],}\\\"[{\",\"n\":1},{\"\\\\\":\"]\",\"n\":2}]}",
		"1 2 ", "{\"list\":[]}");
	check_read("{\"k\":\"\\\"list\\\":[\",\"\\\"list\":[7],\"list\":[{\"n\":1}]}",
		   "1 ", "{\"k\":\"\\\"list\\\":[\",\"\\\"list\":[7],\"list\":[]}");
	check_read("{\"the list\":[7],\"lis\":[7],\"list\":[{\"n\":1}]}", "1 ",
		   "{\"the list\":[7],\"lis\":[7],\"list\":[]}");
}

static void what_is_not_such_an_object_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"[{\"list\":[{\"n\":1}]}]",
		"{\"list\":{\"n\":1}}",
		"{\"list\":[{\"n\":1}]",
		"{\"list\":[{\"n\":1}",
		"{\"list\":[{\"n\":1",
		"{\"list\":[{\"n\":1}}",
		"{\"list\":[{\"n\":1]}",
		"{\"list\":[{\"n\":1},]}",
		"{\"list\":[,{\"n\":1}]}",
		"{\"list\":[{\"n\":1},,{\"n\":2}]}",
		"{\"list\":[{\"n\":1}{\"n\":2}]}",
		"{\"list\":[{\"n\":1},2]}",
		"{\"list\":[{\"n\":1}]}{}",
		"{\"list\":[{\"n\":1}]} x",
		"{\"list\":[{\"n\":1}],\"list\":[{\"n\":2}]}",
		"{\"a\":\"list\":[{\"n\":1}]}",
		"{\"list\":[{\"n\":1,\"s\":\"\xff\"}]}",
		"{\"\xff\":1,\"list\":[{\"n\":1}]}",
		"<html><body>\"list\":[{\"n\":1}]",
		"{\"list\":[{\"n\":1}],\"d\":[[[[[[[[[[1]]]]]]]]]]}",
	};
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for (size_t piece = 1; piece < 60; piece++) {
			err.text[0] = '\0';
			if (read_in_pieces(bad[i], piece, "", &err) != -EBADMSG ||
			    !*err.text)
				fail_msg("%s in pieces of %zu: %s", bad[i], piece,
					 err.text);
		}
	}
}

static void an_element_and_all_else_are_bounded(void **state)
{
	char text[200];
	struct err err = {""};

	(void)state;
	(void)snprintf(text, sizeof(text), "{\"list\":[{\"n\":1},{\"s\":\"%070d\"}]}",
		       0);
	assert_int_equal(read_in_pieces(text, 1, "", &err), -EFBIG);
	assert_string_equal(err.text, "an element is longer than 64 bytes");
	assert_string_equal(seen.data, "1 ");
	(void)snprintf(text, sizeof(text), "{\"list\":[{\"n\":1}], \"s\":\"%070d\"}",
		       0);
	assert_int_equal(read_in_pieces(text, 200, "", &err), -EFBIG);
	assert_string_equal(err.text, "all but the list is longer than 64 bytes");
}

static void who_takes_them_may_end_it(void **state)
{
	struct err err = {""};

	(void)state;
	refuse_at = 2;
	assert_int_equal(read_in_pieces("{\"list\":[{\"n\":1},{\"n\":2},{\"n\":3}]}", 5,
					"", &err),
			 -EIO);
	assert_string_equal(err.text, "no more");
	assert_string_equal(seen.data, "1 ");
	refuse_at = 0;
}

static int see_element(void *arg, struct json_object *o, struct err *err)
{
	(void)arg;
	(void)err;
	buf_puts(&seen, json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	return 0;
}

static int read_whole(const char *text, bool may_be_null, struct err *err)
{
	static const struct http_json_pick picks[] = {{.name = "n"}, {}};
	struct http_json_list l = {.name = "list",
				   .limits = {.bytes_max = 64, .depth_max = 8},
				   .take = see_element,
				   .picks = picks,
				   .may_be_null = may_be_null};
	auto_json struct json_object *o = NULL;

	buf_reset(&seen);
	int rc = http_json_list_feed(&l, text, strlen(text), err);
	rc = rc ? rc : http_json_list_end(&l, &o, err);
	http_json_list_done(&l);
	return rc;
}

static void of_an_element_nothing_but_what_is_wanted_is_kept(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(read_whole("{\"list\":[{\"a\":[{},{}],\"n\":1},{\"b\":2}]}",
				    false, &err),
			 0);
	assert_string_equal(seen.data, "{\"n\":1}{}");
	assert_int_equal(read_whole("{\"list\":[{\"a\":}]}", false, &err), -EBADMSG);
}

static void null_is_an_empty_list_where_that_is_said(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(read_whole("{\"list\":null}", true, &err), 0);
	assert_int_equal(read_whole("{\"list\":null}", false, &err), -EBADMSG);
	assert_int_equal(read_whole("{\"list\":{}}", true, &err), -EBADMSG);
	assert_int_equal(read_whole("{}", true, &err), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			elements_are_taken_one_by_one_wherever_the_text_is_cut),
		cmocka_unit_test(brackets_and_quotes_in_strings_are_text),
		cmocka_unit_test(what_is_not_such_an_object_is_refused),
		cmocka_unit_test(an_element_and_all_else_are_bounded),
		cmocka_unit_test(who_takes_them_may_end_it),
		cmocka_unit_test(of_an_element_nothing_but_what_is_wanted_is_kept),
		cmocka_unit_test(null_is_an_empty_list_where_that_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
