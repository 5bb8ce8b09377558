/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/rfc3339.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "test/unit/unit.h"

static void zones_are_respected(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t time_s;
	} cases[] = {{"1970-01-01T00:00:00Z", 0},
		     {"2025-08-07T10:00:00Z", 1754560800},
		     {"2025-08-07T10:00:00+00:00", 1754560800},
		     {"2025-08-07T12:00:00+02:00", 1754560800},
		     {"2025-08-07T12:00:00+0200", 1754560800},
		     {"2025-08-07T03:00:00-07:00", 1754560800},
		     {"2025-08-07t10:00:00.999999z", 1754560800},
		     {"2025-08-07 10:00:00Z", 1754560800},
		     {"2024-02-29T23:59:60Z", 1709251200},
		     {"2000-03-01T00:00:00Z", 951868800},
		     {"9999-12-31T23:59:59Z", 253402300799ull}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t t = 1;
		assert_int_equal(rfc3339_parse(cases[i].text, &t), 0);
		assert_true(t == cases[i].time_s);
	}
}

static void what_is_no_time_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {"",
					    "2025",
					    "2025-08-07",
					    "2025-08-07T10:00:00", /* of which zone? */
					    "2025-08-07T10:00Z",
					    "2025-8-7T10:00:00Z",
					    "2025-02-29T10:00:00Z",
					    "2025-13-01T10:00:00Z",
					    "2025-00-01T10:00:00Z",
					    "2025-04-31T10:00:00Z",
					    "2025-08-07T24:00:00Z",
					    "2025-08-07T10:60:00Z",
					    "2025-08-07T10:00:61Z",
					    "2025-08-07T10:00:00.Z",
					    "2025-08-07T10:00:00+24:00",
					    "2025-08-07T10:00:00+2:00",
					    "2025-08-07T10:00:00Z ",
					    " 2025-08-07T10:00:00Z",
					    "+025-08-07T10:00:00Z",
					    "2025-08-07T10:00:00Zulu"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t t = 7;
		assert_int_equal(rfc3339_parse(texts[i], &t), -EINVAL);
		assert_true(t == 7);
	}
	uint64_t t = 7;
	assert_int_equal(rfc3339_parse("1969-12-31T23:59:59Z", &t), -ERANGE);
	assert_int_equal(rfc3339_parse("1970-01-01T00:30:00+01:00", &t), -ERANGE);
	assert_true(t == 7);
}

/* libc's gmtime as the judge, over 600 years in odd steps */
static void printed_is_read_back_and_agrees_with_libc(void **state)
{
	(void)state;
	for (uint64_t t = 0; t < 18934214400ull; t += 1000003) {
		char text[RFC3339_BYTES], judge[32];
		struct tm tm;
		time_t when = (time_t)t;
		uint64_t back;
		rfc3339_print(t, text);
		assert_non_null(gmtime_r(&when, &tm));
		assert_true(strftime(judge, sizeof(judge), "%Y-%m-%dT%H:%M:%SZ", &tm) >
			    0);
		assert_string_equal(text, judge);
		assert_int_equal(rfc3339_parse(text, &back), 0);
		assert_true(back == t);
	}
}

static void what_is_too_late_to_print_is_the_end_of_9999(void **state)
{
	(void)state;
	char text[RFC3339_BYTES];
	rfc3339_print(UINT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_are_respected),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(printed_is_read_back_and_agrees_with_libc),
		cmocka_unit_test(what_is_too_late_to_print_is_the_end_of_9999),
	};
	return cmocka_run_group_tests_name("rfc3339_test", tests, NULL, NULL);
}
