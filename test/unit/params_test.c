/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of the API: what is taken, what is refused, what is ignored aloud. */
#include "aggregator/params.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

#define NOW_US (1700000000ull * 1000000)

static const struct param_spec text = {"project", PARAM_TEXT, true, ""};
static const struct param_spec id = {"uuid", PARAM_ID, true, ""};
static const struct param_spec flag = {"running", PARAM_FLAG, false, ""};
static const struct param_spec from = {"from", PARAM_TIME, false, ""};
static const struct param_spec limit = {"limit", PARAM_COUNT, false, ""};
static const struct param_spec *const specs[] = {&text, &id,    &flag,
						 &from, &limit, NULL};

static struct param_set p;
static struct buf warnings;
static struct err err;

static int parse(const char *query)
{
	char target[4096];

	params_done(&p);
	buf_reset(&warnings);
	snprintf(target, sizeof(target), "/api/v1/units%s", query);
	return params_parse(target, specs, NOW_US, &p, &warnings, &err);
}

static int done(void **state)
{
	(void)state;
	params_done(&p);
	buf_done(&warnings);
	return 0;
}

static void values_are_decoded_once(void **state)
{
	auto_buf struct buf list = BUF_INIT;

	(void)state;
	assert_int_equal(
		parse("?project=a%26b%3Dc&project=d+e&project=%2525&uuid=12_3&running"
		      "&limit=7&from=1699999999"),
		0);
	params_list(&p, "project", &list);
	assert_string_equal(list.data, "[\"a&b=c\",\"d e\",\"%25\"]");
	assert_int_equal(params_get(&p, "running")->number, 1);
	assert_int_equal(params_get(&p, "limit")->number, 7);
	assert_int_equal(params_get(&p, "from")->number, 1699999999ull * 1000000);
	assert_false(params_has(&p, "to"));
	assert_int_equal(parse(""), 0);
	assert_int_equal(parse("?"), 0);
	assert_int_equal(parse("?&&"), 0);
}

static void what_is_not_understood_is_refused(void **state)
{
	static const char *const bad[] = {"?x=1",
					  "?project=%",
					  "?project=%2",
					  "?project=%zz",
					  "?project=%00",
					  "?project=%0a",
					  "?project=%ff",
					  "?uuid=",
					  "?uuid=a%20b",
					  "?uuid=a'b",
					  "?running=maybe",
					  "?running=1&running=1",
					  "?from=yesterday",
					  "?from=1e9",
					  "?from=-1",
					  "?from=2025-03-10T10:00:00",
					  "?from=99999999999999999",
					  "?limit=0",
					  "?limit=1001",
					  "?limit=-1",
					  "?limit=1&limit=2",
					  "?=1",
					  "?%70roject=a",
					  "?Project=a",
					  "?project[]=a"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i]), -EINVAL);
		assert_int_equal(p.count, 0);
	}
}

static void what_the_peers_clients_send_is_ignored_aloud(void **state)
{
	(void)state;
	assert_int_equal(parse("?groupby=username&experimental&limit=3"), 0);
	assert_int_equal(p.count, 1);
	assert_non_null(strstr(warnings.data, "groupby"));
	assert_non_null(strstr(warnings.data, "experimental"));
}

static void there_is_an_end_to_parameters(void **state)
{
	auto_buf struct buf b = BUF_INIT;

	(void)state;
	buf_putc(&b, '?');
	for (int i = 0; i < PARAMS_MAX; i++)
		buf_puts(&b, "uuid=1&");
	assert_int_equal(parse(b.data), 0);
	assert_int_equal(p.count, PARAMS_MAX);
	buf_puts(&b, "uuid=1");
	assert_int_equal(parse(b.data), -EINVAL);
	buf_reset(&b);
	buf_puts(&b, "?project=");
	for (int i = 0; i <= PARAM_BYTES_MAX; i++)
		buf_putc(&b, 'a');
	assert_int_equal(parse(b.data), -EINVAL);
}

static void times_are_read_in_each_form(void **state)
{
	static const struct {
		const char *s;
		uint64_t us;
	} good[] = {
		{"0", 0},
		{"1700000000", NOW_US},
		{"1700000000.25", NOW_US},
		{"1700000000123", NOW_US},
		{"now", NOW_US},
		{"now-1h", NOW_US - 3600ull * 1000000},
		{"now-1d12h", NOW_US - 129600ull * 1000000},
		{"now-100y", 0},
		{"2023-11-14T22:13:20Z", NOW_US},
		{"2023-11-14T23:13:20+01:00", NOW_US},
	};
	static const char *const bad[] = {
		"",    "now+1h",      "now-", "now-x", "nowt", "1.",
		"1.x", "16000000001", "0x10", " 1",    "1 ",   "9999-01-01T00:00:00Z"};
	uint64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(params_time(good[i].s, NOW_US, &us), 0);
		assert_int_equal(us, good[i].us);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(params_time(bad[i], NOW_US, &us) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_decoded_once),
		cmocka_unit_test(what_is_not_understood_is_refused),
		cmocka_unit_test(what_the_peers_clients_send_is_ignored_aloud),
		cmocka_unit_test(there_is_an_end_to_parameters),
		cmocka_unit_test(times_are_read_in_each_form),
	};
	return cmocka_run_group_tests(tests, NULL, done);
}
