/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/pyroscope/pyro_message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

#define BYTES(s) s, sizeof(s) - 1
/* one string of ten and of thirty times itself */
#define TEN(s) s s s s s s s s s s

struct row {
	const struct pyro_type *type;
	const char *bytes;
	size_t len;
	int rc;
	const char *text; /* as JSON, or a part of the error */
};

static void check(const struct row *w, bool json)
{
	struct pyro_arena a = {0};
	struct pyro_message *m = NULL;
	auto_buf struct buf out = BUF_INIT;
	struct err err = {0};
	char *exact = malloc(w->len ? w->len : 1); /* so that a byte more is seen */
	int rc;

	assert_non_null(exact);
	memcpy(exact, w->bytes, w->len);
	rc = (json ? pyro_read_json(&a, w->type, exact, w->len, &m, &err)
		   : pyro_read_proto(&a, w->type, exact, w->len, &m, &err));
	free(exact);
	if (rc != w->rc || (rc && !strstr(err.text, w->text)))
		fail_msg("%.60s: %d %s, not %d %s", w->bytes, rc, err.text, w->rc,
			 w->text);
	if (!rc) {
		pyro_write_json(m, &out);
		assert_string_equal(out.data, w->text);
	}
	pyro_arena_done(&a);
}

static void what_protobuf_says_is_read(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{&pyro_label_names, BYTES(""), 0, "{}"},
		{&pyro_label_names, BYTES("\x0a\x01{\x10\x05\x0a\x01}"), 0,
		 "{\"matchers\":[\"{\",\"}\"],\"start\":\"5\"}"},
		/* in any order, zero is not there, numbers longer than they need be */
		{&pyro_label_names, BYTES("\x18\x80\x80\x00\x10\x85\x00"), 0,
		 "{\"start\":\"5\"}"},
		{&pyro_label_names,
		 BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0,
		 "{\"start\":\"-1\"}"},
		/* fields that are not known: dropped */
		{&pyro_label_names,
		 BYTES("\x20\x05\x29"
		       "12345678"
		       "\x32\x03"
		       "abc"
		       "\x3d"
		       "1234"
		       "\x10\x07"),
		 0, "{\"start\":\"7\"}"},
		/* asynchronous: not sent on */
		{&pyro_stacktraces, BYTES("\x4a\x02\x10\x01"), 0, "{}"},
		{&pyro_stacktraces, BYTES("\x28\x00"), 0, "{\"maxNodes\":\"0\"}"},
		{&pyro_stacktraces, BYTES("\x3a\x04\x12\x02\x10\x01"), 0,
		 "{\"stackTraceSelector\":{\"goPgo\":{\"aggregateCallees\":true}}}"},
		{&pyro_stacktraces, BYTES("\x3a\x04\x0a\x00\x0a\x00"), 0,
		 "{\"stackTraceSelector\":{\"callSite\":[{},{}]}}"},
		{&pyro_nothing, BYTES("\x08\x01"), 0, "{}"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], false);
}

static void protobuf_that_two_readers_could_read_in_two_ways_is_refused(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{&pyro_stacktraces, BYTES("\x12\x01{\x12\x01}"), -EINVAL,
		 "\"label_selector\" appears twice"},
		{&pyro_stacktraces, BYTES("\x18\x01\x20\x01\x18\x02"), -EINVAL,
		 "\"start\" appears twice"},
		{&pyro_stacktraces, BYTES("\x18\x00\x18\x00"), -EINVAL, "twice"},
		/* which one reader merges */
		{&pyro_diff, BYTES("\x0a\x03\x12\x01{\x0a\x03\x0a\x01x"), -EINVAL,
		 "\"left\" appears twice"},
		{&pyro_stacktraces, BYTES("\x3a\x00\x3a\x00"), -EINVAL, "twice"},
		/* a field of another wire type is not known to some */
		{&pyro_stacktraces, BYTES("\x10\x01"), -EINVAL, "another wire type"},
		{&pyro_stacktraces, BYTES("\x1a\x01\x05"), -EINVAL,
		 "\"start\" has another wire type"}, /* packed */
		{&pyro_stacktraces,
		 BYTES("\x19"
		       "12345678"),
		 -EINVAL, "another wire type"},
		{&pyro_select_series, BYTES("\x30\x01"), -EINVAL, "another wire type"},
		{&pyro_stacktraces, BYTES("\x13\x14"), -EINVAL, "another wire type"},
		{&pyro_stacktraces, BYTES("\xa3\x06\xa4\x06"), -EINVAL, "groups"},
		{&pyro_stacktraces, BYTES("\xa4\x06"), -EINVAL, "groups"},
		{&pyro_stacktraces, BYTES("\xa6\x06"), -EINVAL, "groups"},
		{&pyro_stacktraces, BYTES("\xa7\x06"), -EINVAL, "groups"},
		/* no field has this number */
		{&pyro_stacktraces, BYTES("\x00\x01"), -EINVAL, "malformed"},
		{&pyro_stacktraces, BYTES("\x82\x80\x80\x80\x10\x00"), -EINVAL,
		 "malformed"},
		/* text that is none */
		{&pyro_stacktraces, BYTES("\x12\x01\xff"), -EINVAL, "not UTF-8"},
		{&pyro_stacktraces, BYTES("\x12\x02\xc0\x80"), -EINVAL, "not UTF-8"},
		{&pyro_stacktraces, BYTES("\x12\x03\xed\xa0\x80"), -EINVAL,
		 "not UTF-8"},
		{&pyro_stacktraces,
		 BYTES("\x12\x02"
		       "a\0"),
		 -EINVAL, "not UTF-8"},
		/* values that are not known, or too large */
		{&pyro_stacktraces, BYTES("\x30\x05"), -EINVAL, "not supported here"},
		{&pyro_stacktraces, BYTES("\x3a\x04\x12\x02\x10\x02"), -EINVAL,
		 "not supported here"},
		{&pyro_stacktraces, BYTES("\x3a\x08\x12\x06\x08\x80\x80\x80\x80\x10"),
		 -EINVAL, "not supported here"},
		/* cut */
		{&pyro_stacktraces, BYTES("\x12"), -EINVAL, "truncated"},
		{&pyro_stacktraces,
		 BYTES("\x12\x05"
		       "a"),
		 -EINVAL, "truncated"},
		{&pyro_stacktraces, BYTES("\x18\x80"), -EINVAL, "truncated"},
		{&pyro_stacktraces,
		 BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -EINVAL,
		 "truncated"},
		{&pyro_stacktraces,
		 BYTES("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), -EINVAL,
		 "truncated"},
		{&pyro_stacktraces, BYTES("\x18" TEN("\x80") "\x01"), -EINVAL,
		 "truncated"},
		{&pyro_select_series,
		 BYTES("\x31"
		       "1234567"),
		 -EINVAL, "truncated"},
		{&pyro_stacktraces,
		 BYTES("\xfd\x01"
		       "123"),
		 -EINVAL, "truncated"},
		/* a message that ends before what is in it */
		{&pyro_diff,
		 BYTES("\x0a\x02\x12\x05"
		       "{a=\"\""),
		 -EINVAL, "truncated"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], false);
}

static void what_json_says_is_read(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{&pyro_label_names, BYTES(" {\n} "), 0, "{}"},
		{&pyro_label_names,
		 BYTES("{\"matchers\" : [ \"a\" , \"b\" ] , \"start\":\"5\"}"), 0,
		 "{\"matchers\":[\"a\",\"b\"],\"start\":\"5\"}"},
		{&pyro_label_names, BYTES("{\"start\":5,\"end\":-0}"), 0,
		 "{\"start\":\"5\"}"},
		{&pyro_label_names, BYTES("{\"start\":null,\"matchers\":null}"), 0,
		 "{}"},
		/* both names of a field */
		{&pyro_series, BYTES("{\"label_names\":[\"a\"]}"), 0,
		 "{\"labelNames\":[\"a\"]}"},
		{&pyro_stacktraces, BYTES("{\"profile_typeID\":\"x\"}"), 0,
		 "{\"profileTypeID\":\"x\"}"},
		/* names that are not known: dropped, whatever they are */
		{&pyro_label_names,
		 BYTES("{\"Matchers\":[\"x\"],\"x\":{\"a\":[1,-2.5e+3,{},[],true,"
		       "false,null,\"\\\"\"]},\"start\":7,\"x\":1}"),
		 0, "{\"start\":\"7\"}"},
		{&pyro_label_names,
		 BYTES("{\"matchers\":[\"\\u00e4\\ud83d\\ude00\\n\\/\"]}"), 0,
		 "{\"matchers\":[\"\xc3\xa4\xf0\x9f\x98\x80\\u000a/\"]}"},
		{&pyro_label_names, BYTES("{\"\\u0073tart\":7}"), 0,
		 "{\"start\":\"7\"}"},
		{&pyro_stacktraces, BYTES("{\"format\":2}"), 0,
		 "{\"format\":\"PROFILE_FORMAT_TREE\"}"},
		{&pyro_stacktraces, BYTES("{\"format\":\"PROFILE_FORMAT_DOT\"}"), 0,
		 "{\"format\":\"PROFILE_FORMAT_DOT\"}"},
		{&pyro_select_series, BYTES("{\"step\":\"1.5\"}"), 0, "{\"step\":1.5}"},
		{&pyro_stacktraces,
		 BYTES("{\"stackTraceSelector\":{\"callSite\":[{\"name\":\"a\"},{}],"
		       "\"go_pgo\":{\"keepLocations\":4294967295,"
		       "\"aggregateCallees\":false}}}"),
		 0,
		 "{\"stackTraceSelector\":{\"callSite\":[{\"name\":\"a\"},{}],"
		 "\"goPgo\":{\"keepLocations\":4294967295}}}"},
		{&pyro_stacktraces, BYTES("{\"async\":{\"type\":1}}"), 0, "{}"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], true);
}

static void json_that_two_readers_could_read_in_two_ways_is_refused(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{&pyro_label_names, BYTES("{\"start\":1,\"start\":2}"), -EINVAL,
		 "\"start\" appears twice"},
		{&pyro_label_names, BYTES("{\"start\":null,\"start\":2}"), -EINVAL,
		 "twice"},
		{&pyro_label_names, BYTES("{\"matchers\":[],\"matchers\":[\"a\"]}"),
		 -EINVAL, "twice"},
		{&pyro_label_names, BYTES("{\"start\":1,\"\\u0073tart\":2}"), -EINVAL,
		 "twice"},
		{&pyro_stacktraces,
		 BYTES("{\"labelSelector\":\"a\",\"label_selector\":\"b\"}"), -EINVAL,
		 "\"label_selector\" appears twice"},
		{&pyro_label_names, BYTES(""), -EINVAL, "expected an object"},
		{&pyro_label_names, BYTES("[]"), -EINVAL, "expected an object"},
		{&pyro_label_names, BYTES("null"), -EINVAL, "expected an object"},
		{&pyro_label_names, BYTES("{} {}"), -EINVAL, "more after"},
		{&pyro_label_names, BYTES("{}\0"), -EINVAL, "more after"},
		{&pyro_label_names, BYTES("{\"start\":1,}"), -EINVAL,
		 "expected a string"},
		{&pyro_label_names, BYTES("{,}"), -EINVAL, "expected a string"},
		{&pyro_label_names, BYTES("{start:1}"), -EINVAL, "expected a string"},
		{&pyro_label_names, BYTES("{'start':1}"), -EINVAL, "expected a string"},
		{&pyro_label_names, BYTES("{\"start\" 1}"), -EINVAL, "colon"},
		{&pyro_label_names, BYTES("{\"start\":1"), -EINVAL, "unterminated"},
		{&pyro_label_names, BYTES("{/**/}"), -EINVAL, "expected a string"},
		{&pyro_label_names, BYTES("\xef\xbb\xbf{}"), -EINVAL,
		 "expected an object"},
		/* numbers */
		{&pyro_label_names, BYTES("{\"start\":1.5}"), -EINVAL, "whole number"},
		{&pyro_label_names, BYTES("{\"start\":1e3}"), -EINVAL, "whole number"},
		{&pyro_label_names, BYTES("{\"start\":01}"), -EINVAL,
		 "expected a number"},
		{&pyro_label_names, BYTES("{\"start\":+1}"), -EINVAL,
		 "expected a number"},
		{&pyro_label_names, BYTES("{\"start\":0x1}"), -EINVAL, "unterminated"},
		{&pyro_label_names, BYTES("{\"start\":\" 1\"}"), -EINVAL,
		 "not a number"},
		{&pyro_label_names, BYTES("{\"start\":\"1 \"}"), -EINVAL,
		 "not a number"},
		{&pyro_label_names, BYTES("{\"start\":\"\"}"), -EINVAL, "not a number"},
		{&pyro_label_names, BYTES("{\"start\":true}"), -EINVAL,
		 "expected a number"},
		{&pyro_label_names, BYTES("{\"start\":9223372036854775808}"), -EINVAL,
		 "whole number"},
		{&pyro_label_names,
		 BYTES("{\"start\":" TEN("1") TEN("1") TEN("1") TEN("1") "}"), -EINVAL,
		 "too long"},
		{&pyro_stacktraces,
		 BYTES("{\"stackTraceSelector\":{\"goPgo\":{\"keepLocations\":"
		       "4294967296"
		       "}}}"),
		 -EINVAL, "whole number"},
		{&pyro_select_series, BYTES("{\"step\":NaN}"), -EINVAL,
		 "expected a number"},
		{&pyro_select_series, BYTES("{\"step\":\"NaN\"}"), -EINVAL,
		 "not a number"},
		{&pyro_select_series, BYTES("{\"step\":1.}"), -EINVAL,
		 "expected a number"},
		{&pyro_stacktraces, BYTES("{\"format\":5}"), -EINVAL, "not supported"},
		{&pyro_stacktraces, BYTES("{\"format\":-1}"), -EINVAL, "not supported"},
		{&pyro_stacktraces, BYTES("{\"format\":\"profile_format_dot\"}"),
		 -EINVAL, "not supported"},
		/* other things than the field holds */
		{&pyro_label_names, BYTES("{\"matchers\":\"a\"}"), -EINVAL,
		 "expected a list"},
		{&pyro_label_names, BYTES("{\"matchers\":[null]}"), -EINVAL,
		 "expected a string"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"a\",]}"), -EINVAL,
		 "expected a string"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"a\"}"), -EINVAL,
		 "unterminated"},
		{&pyro_stacktraces, BYTES("{\"labelSelector\":[\"a\"]}"), -EINVAL,
		 "expected a string"},
		{&pyro_diff, BYTES("{\"left\":\"a\"}"), -EINVAL, "expected an object"},
		/* strings */
		{&pyro_label_names, BYTES("{\"matchers\":[\"a\n\"]}"), -EINVAL,
		 "control"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"\\x41\"]}"), -EINVAL,
		 "escape"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"\\u00\"]}"), -EINVAL,
		 "\\u"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"\\u0000\"]}"), -EINVAL,
		 "NUL"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"\\ud83d\"]}"), -EINVAL,
		 "surrogate"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"\\ud83d\\u0041\"]}"),
		 -EINVAL, "surrogate"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"\\ude00\"]}"), -EINVAL,
		 "surrogate"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"\xff\"]}"), -EINVAL,
		 "not UTF-8"},
		{&pyro_label_names, BYTES("{\"x\":\"\xff\"}"), -EINVAL, "not UTF-8"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"a"), -EINVAL,
		 "unterminated"},
		{&pyro_label_names, BYTES("{\"matchers\":[\"\\"), -EINVAL,
		 "unterminated"},
		{&pyro_label_names,
		 BYTES("{\"x\":" TEN("[") TEN("[") "1" TEN("]") TEN("]") "}"), -E2BIG,
		 "too deep"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], true);
}

/* n strings in a list of matchers */
static void put_many(struct buf *out, size_t n)
{
	buf_puts(out, "{\"matchers\":[\"\"");
	while (--n)
		buf_puts(out, ",\"\"");
	buf_puts(out, "]}");
}

static void messages_are_bounded(void **state)
{
	(void)state;
	auto_buf struct buf most = BUF_INIT, more = BUF_INIT, large = BUF_INIT;
	struct pyro_arena a = {0};
	struct pyro_message *m;
	struct err err;

	put_many(&most, PYRO_VALUES_MAX);
	put_many(&more, PYRO_VALUES_MAX + 1);
	assert_int_equal(
		pyro_read_json(&a, &pyro_label_names, most.data, most.len, &m, &err),
		0);
	pyro_arena_done(&a);
	assert_int_equal(
		pyro_read_json(&a, &pyro_label_names, more.data, more.len, &m, &err),
		-E2BIG);
	pyro_arena_done(&a);
	for (size_t i = 0; i <= PYRO_BODY_MAX; i++)
		buf_putc(&large, ' ');
	assert_int_equal(
		pyro_read_json(&a, &pyro_label_names, large.data, large.len, &m, &err),
		-E2BIG);
	assert_int_equal(
		pyro_read_proto(&a, &pyro_label_names, large.data, large.len, &m, &err),
		-E2BIG);
	pyro_arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_protobuf_says_is_read),
		cmocka_unit_test(
			protobuf_that_two_readers_could_read_in_two_ways_is_refused),
		cmocka_unit_test(what_json_says_is_read),
		cmocka_unit_test(
			json_that_two_readers_could_read_in_two_ways_is_refused),
		cmocka_unit_test(messages_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
