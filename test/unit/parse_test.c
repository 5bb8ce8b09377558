/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/parse.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

static void u64_takes_whole_strings_only(void **state)
{
	(void)state;
	uint64_t v = 7;
	assert_int_equal(parse_u64("18446744073709551615", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(parse_u64("18446744073709551616", &v), -ERANGE);
	static const char *const bad[] = {"",   " 1",   "1 ",  "-1",
					  "+1", "0x10", "1e3", "1.0"};
	v = 7;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_u64(bad[i], &v), -EINVAL);
	assert_int_equal(v, 7);
}

static void u64_of_a_part_is_the_whole_part_only(void **state)
{
	(void)state;
	uint64_t v = 7;

	assert_int_equal(parse_u64_len("1234", 2, &v), 0);
	assert_int_equal(v, 12);
	assert_int_equal(parse_u64_len("12 4", 3, &v), -EINVAL);
	assert_int_equal(parse_u64_len("12", 0, &v), -EINVAL);
	assert_int_equal(parse_u64_len("18446744073709551616", 20, &v), -ERANGE);
	assert_int_equal(v, 12);
}

static void u32_and_s64_know_their_ranges(void **state)
{
	(void)state;
	uint32_t u;
	int64_t s;
	assert_int_equal(parse_u32("4294967295", &u), 0);
	assert_int_equal(parse_u32("4294967296", &u), -ERANGE);
	assert_int_equal(parse_s64("-9223372036854775808", &s), 0);
	assert_true(s == INT64_MIN);
	assert_int_equal(parse_s64("9223372036854775808", &s), -ERANGE);
	assert_int_equal(parse_s64("--1", &s), -EINVAL);
}

static void f64_refuses_what_is_no_finite_number(void **state)
{
	(void)state;
	double v;
	assert_int_equal(parse_f64("1.5", &v), 0);
	assert_true(v == 1.5);
	assert_int_equal(parse_f64("nan", &v), -EINVAL);
	assert_int_equal(parse_f64("inf", &v), -EINVAL);
	assert_int_equal(parse_f64("1e999", &v), -ERANGE);
	assert_int_equal(parse_f64("1,5", &v), -EINVAL);
	assert_int_equal(parse_f64("", &v), -EINVAL);
}

static void durations_like_prometheus(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int rc;
		uint64_t ms;
	} cases[] = {
		{"15s", 0, 15000},
		{"1h30m", 0, 5400000},
		{"250ms", 0, 250},
		{"1m500ms", 0, 60500},
		{"0", 0, 0},
		{"15", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"1s1m", -EINVAL, 0},
		{"1m1m", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"99999999999999999y", -ERANGE, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ms = 0;
		assert_int_equal(parse_duration_ms(cases[i].text, &ms), cases[i].rc);
		assert_true(ms == cases[i].ms);
	}
}

static void bytes_with_both_kinds_of_prefix(void **state)
{
	(void)state;
	uint64_t v;
	assert_int_equal(parse_bytes("256MiB", &v), 0);
	assert_true(v == 268435456);
	assert_int_equal(parse_bytes("1GB", &v), 0);
	assert_true(v == 1000000000);
	assert_int_equal(parse_bytes("1 GB", &v), -EINVAL);
	assert_int_equal(parse_bytes("99999999999GiB", &v), -ERANGE);
}

static void lists_are_counted_and_bounded(void **state)
{
	(void)state;
	uint32_t n = 99;
	assert_int_equal(parse_list_count("0-3,8\n", 6, &n), 0);
	assert_int_equal(n, 5);
	assert_int_equal(parse_list_count("\n", 1, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(parse_list_count("3-1", 3, &n), -ERANGE);
	assert_int_equal(parse_list_count("0-4294967295", 12, &n), -ERANGE);
	assert_int_equal(parse_list_count("1,,2", 4, &n), -EINVAL);
	assert_int_equal(parse_list_count("a", 1, &n), -EINVAL);
}

static void scanners_stop_at_the_end(void **state)
{
	(void)state;
	const char text[] = "cpu  10 20\nlast";
	const char *p = text, *end = text + strlen(text), *s;
	size_t n;
	assert_true(scan_line(&p, end, &s, &n));
	assert_int_equal(n, 10);
	const char *q = s, *line_end = s + n;
	assert_true(scan_word(&q, line_end, &s, &n));
	assert_int_equal(n, 3);
	assert_true(scan_word(&q, line_end, &s, &n));
	assert_true(scan_word(&q, line_end, &s, &n));
	assert_false(scan_word(&q, line_end, &s, &n));
	assert_true(scan_line(&p, end, &s, &n));
	assert_int_equal(n, 4);
	assert_false(scan_line(&p, end, &s, &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(u64_takes_whole_strings_only),
		cmocka_unit_test(u64_of_a_part_is_the_whole_part_only),
		cmocka_unit_test(u32_and_s64_know_their_ranges),
		cmocka_unit_test(f64_refuses_what_is_no_finite_number),
		cmocka_unit_test(durations_like_prometheus),
		cmocka_unit_test(bytes_with_both_kinds_of_prefix),
		cmocka_unit_test(lists_are_counted_and_bounded),
		cmocka_unit_test(scanners_stop_at_the_end),
	};
	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
