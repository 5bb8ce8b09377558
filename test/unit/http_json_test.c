/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

static const struct http_json_limits lenient = {.bytes_max = 100, .depth_max = 4};
static const struct http_json_limits strict = {
	.bytes_max = 100, .depth_max = 4, .strict = true};

static int parse(const char *text, const struct http_json_limits *l, const char *says)
{
	auto_json struct json_object *j = NULL;
	struct err err = {""};
	int rc = http_json_object(text, strlen(text), l, &j, &err);

	assert_true((rc == 0) == (j != NULL));
	if (!strstr(err.text, says))
		fail_msg("%s: %s", text, err.text);
	return rc;
}

static void an_object_with_blanks_around_it_is_taken(void **state)
{
	(void)state;
	assert_int_equal(parse("{}", &strict, ""), 0);
	assert_int_equal(parse(" \r\n\t{\"a\": [1, {\"b\": null}]} \n", &strict, ""),
			 0);
	assert_int_equal(parse(" {\"a\": 1} \r\n", &lenient, ""), 0);
}

static void what_came_instead_is_said_and_not_repeated(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct http_json_limits *l = i ? &strict : &lenient;
		assert_int_equal(parse("", l, "empty"), -EBADMSG);
		assert_int_equal(parse("\n", l, "empty"), -EBADMSG);
		assert_int_equal(parse("<html>", l, "web page"), -EBADMSG);
		assert_int_equal(parse("{\"a\": ", l, "cut short"), -EBADMSG);
		assert_int_equal(parse("[{}]", l, "not a JSON object"), -EBADMSG);
		assert_int_equal(parse("{} {}", l, "not JSON"), -EBADMSG);
		assert_int_equal(parse("{\"a\": planted}", l, "not JSON"), -EBADMSG);
	}
	struct err err;
	struct json_object *j = NULL;
	assert_int_equal(http_json_object("{\"a\": planted}", 14, &strict, &j, &err),
			 -EBADMSG);
	assert_null(strstr(err.text, "planted"));
}

static void depth_and_size_are_bounded(void **state)
{
	(void)state;
	char text[128];
	assert_int_equal(parse("{\"a\":{\"b\":{}}}", &strict, ""), 0);
	assert_int_equal(
		parse("{\"a\":{\"b\":{\"c\":{\"d\":{}}}}}", &strict, "not JSON"),
		-EBADMSG);
	memset(text, ' ', sizeof(text));
	text[0] = '{';
	text[99] = '}';
	text[100] = '\0';
	assert_int_equal(parse(text, &strict, ""), 0);
	text[100] = ' ';
	text[101] = '\0';
	assert_int_equal(parse(text, &strict, "too long"), -EBADMSG);
}

static void strict_is_to_the_letter(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"a\": [1,]}", &lenient, ""), 0);
	assert_int_equal(parse("{\"a\": [1,]}", &strict, "not JSON"), -EBADMSG);
	assert_int_equal(parse("{\"a\": \"\xff\"}", &strict, "not JSON"), -EBADMSG);
}

/* json-c 0.16 takes some of the bad ones in its strict mode, 0.18 refuses the umlaut */
static void strict_is_the_same_with_every_json_c(void **state)
{
	static const char *const good[] = {
		"{\"a\": \"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f\"}",
		"{\"\\u00e4\\n\\/\\\\\\\"\": [0, -0, 10, 1.50, 1e9, -1.5E+3, 2e-1]}",
		"{\"a\":[[],{},[[]],{\"b\":{}},\"\"],\"c\":true , \"d\" :false}",
		" { } ",
	};
	static const char *const bad[] = {
		"{\"a\": \"\t\"}",    "{\"a\": \"\n\"}",
		"{\"a\": \"\x01\"}",  "{\"a\": \"\\x\"}",
		"{\"a\": 01}",        "{\"a\": 1.}",
		"{\"a\": .5}",        "{\"a\": +1}",
		"{\"a\": 1e}",        "{\"a\": NaN}",
		"{\"a\": Infinity}",  "{\"a\": -Infinity}",
		"{\"a\": TRUE}",      "{\"a\": Null}",
		"{'a': 1}",           "{a: 1}",
		"{\"a\" 1}",          "{\"a\": 1,}",
		"{\"a\": [1 2]}",     "{\"a\": [,]}",
		"{\"a\": 1 /* b */}", "{\"a\": // b\n 1}",
		"{\"a\": 1}x",        "{\"a\": \"\\u12g4\"}",
		"{\"a\": \"\xc3\"}",  "{\"a\": \"\xc0\xaf\"}",
		"{\"a\": 1}\v",       "{\"a\": \"\xed\xa0\x80\xff\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(parse(good[i], &strict, ""), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(parse(bad[i], &strict, "not JSON"), -EBADMSG);
}

static void bytes_behind_the_end_are_not_read(void **state)
{
	(void)state;
	static const char text[] = {'{', '}', 'x', 'x'};
	auto_json struct json_object *j = NULL;
	struct json_object *none = NULL;
	struct err err;
	assert_int_equal(http_json_object(text, 2, &strict, &j, &err), 0);
	assert_int_equal(http_json_object("{}\0{}", 5, &strict, &none, &err), -EBADMSG);
	assert_null(none);
}

static const struct http_json_pick picked_c[] = {{.name = "c"}, {}};
static const struct http_json_pick picked[] = {
	{.name = "a"},
	{.name = "in", .inner = picked_c},
	{.name = "list", .inner = picked_c, .items_max = 2},
	{}};

/* What is picked of a text; NULL: nothing, and why is said */
static const char *pick_from(const char *text, size_t len)
{
	static char said[8192];
	auto_buf struct buf out = {.max = sizeof(said) - 1};
	struct err err = {""};
	int rc = http_json_pick(text, len, picked, &out, &err);

	assert_true((rc < 0) == (*err.text != '\0'));
	if (rc < 0)
		return NULL;
	memcpy(said, out.data, out.len + 1);
	return said;
}

static void only_the_members_that_are_named_are_picked(void **state)
{
	static const char *const texts[][2] = {
		{"{}", "{}"},
		{" { \"b\" : [1,{\"a\":2}] , \"a\" : 3 } ", "{\"a\" :3}"},
		{"{\"a\":null,\"in\":{\"a\":1,\"c\":\"\\u003c\"},\"x\":{}}",
		 "{\"a\":null,\"in\":{\"c\":\"\\u003c\"}}"},
		/* a value keeps its type, but is not looked into */
		{"{\"a\":{\"c\":1},\"in\":[{\"c\":1}],\"list\":{\"c\":1}}",
		 "{\"a\":{},\"in\":[],\"list\":{}}"},
		{"{\"list\":[1,{\"c\":1},[{\"c\":9}],{\"d\":1},{\"c\":3}]}",
		 "{\"list\":[{\"c\":1},{}]}"},
		/* a name is what stands there, and not the beginning of another */
		{"{\"\\u0061\":1,\"ab\":2,\"a\\\"\":3,\"\":4}", "{}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_string_equal(pick_from(texts[i][0], strlen(texts[i][0])),
				    texts[i][1]);
}

static void what_is_picked_from_must_be_right_to_the_letter(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"1",
		"{",
		"{\"a\"",
		"{\"a\":",
		"{\"a\":1",
		"{\"a\":1,}",
		"{\"a\":1}x",
		"{\"b\":[}",
		"{\"b\":01}",
		"{\"in\":{]}",
		"{\"list\":[,]}",
		"{\"list\":[{}",
		"{'a':1}",
	};
	char deep[HTTP_JSON_DEPTH_MAX + 16] = "{\"b\":";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_null(pick_from(bad[i], strlen(bad[i])));
	memset(deep + 5, '[', sizeof(deep) - 6);
	assert_null(pick_from(deep, strlen(deep)));
	assert_null(pick_from("{}\0", 3));
	assert_string_equal(pick_from("{}x", 2), "{}");
}

static void long_texts_are_empty_and_many_are_too_long(void **state)
{
	static char text[16384];
	size_t n = HTTP_JSON_PICK_TEXT_MAX - 2;

	(void)state;
	snprintf(text, sizeof(text), "{\"a\":\"%0*d\"}", (int)n, 7);
	assert_string_equal(pick_from(text, strlen(text)), text);
	snprintf(text, sizeof(text), "{\"a\":\"%0*d\"}", (int)n + 1, 7);
	assert_string_equal(pick_from(text, strlen(text)), "{\"a\":\"\"}");
	snprintf(text, sizeof(text), "{\"a\":\"%0*d\",\"a\":\"%0*d\",\"a\":1}", (int)n,
		 7, (int)n, 7);
	assert_null(pick_from(text, strlen(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_with_blanks_around_it_is_taken),
		cmocka_unit_test(what_came_instead_is_said_and_not_repeated),
		cmocka_unit_test(depth_and_size_are_bounded),
		cmocka_unit_test(strict_is_to_the_letter),
		cmocka_unit_test(strict_is_the_same_with_every_json_c),
		cmocka_unit_test(bytes_behind_the_end_are_not_read),
		cmocka_unit_test(only_the_members_that_are_named_are_picked),
		cmocka_unit_test(what_is_picked_from_must_be_right_to_the_letter),
		cmocka_unit_test(long_texts_are_empty_and_many_are_too_long),
	};
	return cmocka_run_group_tests_name("http_json_test", tests, NULL, NULL);
}
