/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/buf.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "test/unit/unit.h"

static void put_scaled_prints_exact_decimals(void **state)
{
	(void)state;
	static const struct {
		uint64_t v;
		unsigned decimals;
		const char *text;
	} cases[] = {
		{0, 9, "0"},
		{1, 9, "0.000000001"},
		{1500000000, 9, "1.5"},
		{1557888, 9, "0.001557888"},
		{UINT64_MAX, 9, "18446744073.709551615"},
		{42, 0, "42"},
		{1000, 3, "1"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf b = BUF_INIT;
		buf_put_scaled(&b, cases[i].v, cases[i].decimals);
		assert_string_equal(b.data, cases[i].text);
	}
}

static void put_f64_reads_back(void **state)
{
	(void)state;
	static const struct {
		double v;
		const char *text;
	} cases[] = {{0.1, "0.1"},
		     {1e300, "1e+300"},
		     {0.30000000000000004, "0.30000000000000004"},
		     {INFINITY, "+Inf"},
		     {-INFINITY, "-Inf"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf b = BUF_INIT;
		buf_put_f64(&b, cases[i].v);
		assert_string_equal(b.data, cases[i].text);
	}
	auto_buf struct buf nan = BUF_INIT;
	buf_put_f64(&nan, NAN);
	assert_string_equal(nan.data, "NaN");
}

static void limit_is_sticky_and_keeps_what_was_there(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	buf_init(&b, 8);
	buf_puts(&b, "1234567");
	assert_int_equal(buf_error(&b), 0);
	buf_puts(&b, "89");
	assert_int_equal(buf_error(&b), -EFBIG);
	buf_putc(&b, 'x');
	assert_string_equal(b.data, "1234567");
	buf_reset(&b);
	assert_int_equal(buf_error(&b), 0);
	buf_puts(&b, "ok");
	assert_string_equal(b.data, "ok");
}

static void json_escapes_and_repairs(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	buf_put_json(&b, "a\"\\\n\x01\xff\xc3\xa4\xed\xa0\x80", 11);
	assert_string_equal(
		b.data,
		"\"a\\\"\\\\\\u000a\\u0001\\ufffd\xc3\xa4\\ufffd\\ufffd\\ufffd\"");
}

static void printf_longer_than_its_first_guess(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	char text[1000];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	buf_printf(&b, "<%s>", text);
	assert_int_equal(b.len, 1001);
	assert_int_equal(b.data[1000], '>');
}

static void utf8_len_rejects_overlong_and_surrogates(void **state)
{
	(void)state;
	assert_int_equal(utf8_len("\xc0\x80", 2), 0);
	assert_int_equal(utf8_len("\xe0\x80\x80", 3), 0);
	assert_int_equal(utf8_len("\xed\xa0\x80", 3), 0);
	assert_int_equal(utf8_len("\xf4\x90\x80\x80", 4), 0);
	assert_int_equal(utf8_len("\xf0\x9f\x98\x80", 4), 4);
	assert_int_equal(utf8_len("\xf0\x9f\x98", 3), 0);
	assert_int_equal(utf8_len("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_scaled_prints_exact_decimals),
		cmocka_unit_test(put_f64_reads_back),
		cmocka_unit_test(limit_is_sticky_and_keeps_what_was_there),
		cmocka_unit_test(json_escapes_and_repairs),
		cmocka_unit_test(printf_longer_than_its_first_guess),
		cmocka_unit_test(utf8_len_rejects_overlong_and_surrogates),
	};
	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
