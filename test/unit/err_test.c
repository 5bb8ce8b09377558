/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/err.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "test/unit/unit.h"

static void set_returns_its_code_and_takes_null(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(err_set(&err, -EINVAL, "%s: %d", "a", 5), -EINVAL);
	assert_string_equal(err_text(&err), "a: 5");
	assert_int_equal(err_set(NULL, -EIO, "x"), -EIO);
	assert_string_equal(err_text(NULL), "");
}

static void prefix_is_put_before_and_cut_to_fit(void **state)
{
	(void)state;
	struct err err;
	err_set(&err, -EIO, "inner");
	assert_int_equal(err_prefix(&err, -EIO, "outer %d", 1), -EIO);
	assert_string_equal(err.text, "outer 1: inner");
	char text[ERR_TEXT_MAX];
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, -EIO, "%s", text);
	err_prefix(&err, -EIO, "p");
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
	assert_memory_equal(err.text, "p: yyy", 6);
}

static void repeated_failures_are_said_with_growing_gaps(void **state)
{
	(void)state;
	struct log_repeat r = {0};
	const uint64_t minute = 60000000000ull;
	assert_false(log_repeat_over(&r));
	assert_true(log_repeat_due(&r, 0));
	assert_false(log_repeat_due(&r, minute - 1));
	assert_true(log_repeat_due(&r, minute));
	assert_false(log_repeat_due(&r, 2 * minute));
	assert_true(log_repeat_due(&r, 3 * minute));
	assert_true(log_repeat_over(&r));
	assert_false(log_repeat_over(&r));
	assert_true(log_repeat_due(&r, 3 * minute + 1));
}

static void hidden_failures_are_those_since_the_last_line(void **state)
{
	(void)state;
	struct log_repeat r = {0};
	const uint64_t minute = 60000000000ull;
	assert_true(log_repeat_due(&r, 0));
	assert_int_equal(r.hidden, 0);
	for (int i = 0; i < 5; i++)
		assert_false(log_repeat_due(&r, minute - 1));
	assert_true(log_repeat_due(&r, minute));
	assert_int_equal(r.hidden, 5);
	assert_false(log_repeat_due(&r, 2 * minute));
	assert_true(log_repeat_due(&r, 3 * minute));
	assert_int_equal(r.hidden, 1);
	assert_false(log_repeat_due(&r, 4 * minute));
	assert_true(log_repeat_over(&r));
	assert_true(log_repeat_due(&r, 5 * minute));
	assert_int_equal(r.hidden, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_returns_its_code_and_takes_null),
		cmocka_unit_test(prefix_is_put_before_and_cut_to_fit),
		cmocka_unit_test(repeated_failures_are_said_with_growing_gaps),
		cmocka_unit_test(hidden_failures_are_those_since_the_last_line),
	};
	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
