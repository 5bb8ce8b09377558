/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/power_curve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

#define W 1000000ull
#define SPEC                                                                           \
	"0:95.5,10:140,20:160,30:180,40:200,50:220,60:245,70:270,80:300,90:340,100:"   \
	"390"

static int parse(const char *text, struct power_curve *c, struct err *err)
{
	return power_parse_curve(text, strlen(text), c, err);
}

static void watts_are_taken_to_the_microwatt(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int rc;
		uint64_t uw;
	} cases[] = {{"0", 0, 0},
		     {"105", 0, 105 * W},
		     {"105.25", 0, 105250000},
		     {"0.000001", 0, 1},
		     {"1000000", 0, POWER_UW_MAX},
		     {"1000000.000001", -ERANGE, 0},
		     {"1000001", -ERANGE, 0},
		     {"99999999999999999999", -ERANGE, 0},
		     {"1.0000001", -EINVAL, 0},
		     {"1.", -EINVAL, 0},
		     {".5", -EINVAL, 0},
		     {"-1", -EINVAL, 0},
		     {"1e3", -EINVAL, 0},
		     {"105W", -EINVAL, 0},
		     {" 105", -EINVAL, 0},
		     {"", -EINVAL, 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t uw = 77;
		assert_int_equal(
			power_parse_watts(cases[i].text, strlen(cases[i].text), &uw),
			cases[i].rc);
		assert_true(uw == (cases[i].rc ? 77 : cases[i].uw));
	}
}

static void a_curve_meets_its_points_and_is_straight_between(void **state)
{
	(void)state;
	struct power_curve c;
	assert_int_equal(parse(SPEC, &c, NULL), 0);
	assert_int_equal(c.count, 11);
	for (uint32_t i = 0; i < c.count; i++)
		assert_true(power_at(&c, c.points[i].percent, 100) == c.points[i].uw);
	assert_true(power_at(&c, 55, 100) == 232500000);
	assert_true(power_at(&c, 5, 100) == 117750000);
	assert_true(power_at(&c, 1, 1000000000) >= 95500000);
	/* more than all is all, and nothing overflows */
	assert_true(power_at(&c, 200, 100) == 390 * W);
	assert_true(power_at(&c, UINT64_MAX, UINT64_MAX) == 390 * W);
	power_linear(0, POWER_UW_MAX, &c);
	assert_true(power_at(&c, UINT64_MAX / 2, UINT64_MAX - 1) == POWER_UW_MAX / 2);
}

static void power_never_falls_with_load(void **state)
{
	(void)state;
	struct power_curve c;
	assert_int_equal(parse(SPEC, &c, NULL), 0);
	uint64_t last = 0;
	for (uint64_t busy = 0; busy <= 7919; busy++) {
		uint64_t uw = power_at(&c, busy, 7919);
		assert_true(uw >= last && uw >= c.points[0].uw);
		last = uw;
	}
}

static void what_is_wrong_with_a_curve_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "point 1 is not \"percent:watts\""},
		{"0:1", "the last point must be of 100 %"},
		{"100:1", "point 1: the first must be of 0 %"},
		{"0:10,50:20", "the last point must be of 100 %"},
		{"0:10,50:20,100:15", "point 3: watts must not fall"},
		{"0:10,50:20,50:30,100:40", "point 3: percents must rise"},
		{"0:10,101:20", "point 2: more than 100 %"},
		{"0:10,18446744073709551615:20", "point 2: more than 100 %"},
		{"0:10,100:20,", "point 3 is not \"percent:watts\""},
		{"0:10,,100:20", "point 2 is not \"percent:watts\""},
		{"0:10;100:20", "point 1 is not \"percent:watts\""},
		{"0:10,100:x", "point 2 is not \"percent:watts\""},
		{"0:10,100:2000000", "point 2 is not \"percent:watts\""},
		{"0:0,100:0", "0 watts at 100 %"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct power_curve c = {.count = 99};
		struct err err = {""};
		assert_int_equal(parse(cases[i].text, &c, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].why);
		assert_int_equal(c.count, 99);
	}
	char many[4096];
	size_t n = 0;
	for (int i = 0; i < 102; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "%s%d:1",
				      i ? "," : "", i);
	struct power_curve c;
	struct err err = {""};
	assert_int_equal(parse(many, &c, &err), -EINVAL);
	assert_string_equal(err.text, "more than 101 points");
}

static void options_that_do_not_fit_are_named(void **state)
{
	(void)state;
	static const struct {
		const char *idle, *max, *curve, *why;
	} cases[] = {
		{"", "100", "", "are given together or not at all"},
		{"50", "", "", "are given together or not at all"},
		{"x", "100", "", "--energy.model.idle-watts=x: not a number of watts"},
		{"50", "1kW", "", "--energy.model.max-watts=1kW: not a number of"},
		{"50", "40", "", "--energy.model.max-watts=40: less than"},
		{"0", "0", "", "--energy.model.max-watts=0: 0"},
		{"50", "100", "0:1,100:2", "--energy.model.idle-watts does not go"},
		{"", "100", "0:1,100:2", "--energy.model.max-watts does not go"},
		{"", "", "0:1", "--energy.model.curve=0:1: the last point must"},
	};
	struct power_curve c;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {""};
		assert_int_equal(power_configured(cases[i].idle, cases[i].max,
						  cases[i].curve, &c, &err),
				 -EINVAL);
		if (!strstr(err.text, cases[i].why))
			fail_msg("%s", err.text);
	}
	assert_int_equal(power_configured("", "", "", &c, NULL), 0);
	assert_int_equal(power_configured("50.5", "100", "", &c, NULL), 1);
	assert_true(power_at(&c, 0, 1) == 50500000 && power_at(&c, 1, 1) == 100 * W);
	assert_int_equal(power_configured("", "", SPEC, &c, NULL), 1);
	assert_int_equal(c.count, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(watts_are_taken_to_the_microwatt),
		cmocka_unit_test(a_curve_meets_its_points_and_is_straight_between),
		cmocka_unit_test(power_never_falls_with_load),
		cmocka_unit_test(what_is_wrong_with_a_curve_is_named),
		cmocka_unit_test(options_that_do_not_fit_are_named),
	};
	return cmocka_run_group_tests_name("power_curve_test", tests, NULL, NULL);
}
