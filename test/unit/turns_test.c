/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/turns.h"

#include <errno.h>
#include <string.h>

#include "lib/clock.h"
#include "test/unit/unit.h"

#define MANY 64
#define MS NSEC_PER_MSEC

static struct turns t;
static struct fair_item items[MANY];
static unsigned used;

static int make_turns(void **state)
{
	(void)state;
	t = (struct turns){.fresh_in_a_row = 0};
	turns_init(&t, MANY, MANY / 2, NSEC_PER_SEC);
	used = 0;
	return 0;
}

static void push_lanes(const char *lanes, uint64_t now_ns)
{
	for (; *lanes; lanes++)
		assert_int_equal(
			turns_push(&t, &items[used++], (uint64_t)*lanes, now_ns), 0);
}

/* The lanes that are popped at that time. */
static const char *pop_lanes(uint64_t now_ns)
{
	static char got[MANY + 1];
	uint64_t at_ns;
	size_t n = 0;

	for (struct fair_item *i; (i = turns_pop(&t, now_ns, &at_ns));)
		got[n++] = (char)i->key;
	got[n] = '\0';
	return got;
}

static void right_checks_wait_for_nothing(void **state)
{
	uint64_t at_ns;

	(void)state;
	push_lanes("aaab", 5 * MS);
	assert_string_equal(pop_lanes(5 * MS), "abaa");
	assert_null(turns_pop(&t, 5 * MS, &at_ns));
	assert_int_equal(at_ns, UINT64_MAX);
}

static void a_failed_check_lets_the_thread_rest_for_what_it_took(void **state)
{
	uint64_t at_ns;

	(void)state;
	turns_charge(&t, 'a', 3 * MS, 10 * MS);
	push_lanes("b", 10 * MS);
	assert_null(turns_pop(&t, 12 * MS, &at_ns));
	assert_int_equal(at_ns, 13 * MS);
	assert_string_equal(pop_lanes(13 * MS), "b");
}

static void a_lane_that_failed_rests_longer_than_others(void **state)
{
	uint64_t at_ns;

	(void)state;
	turns_charge(&t, 'a', 3 * MS, 10 * MS);
	turns_charge(&t, 'a', 3 * MS, 20 * MS);
	push_lanes("ab", 20 * MS);
	assert_string_equal(pop_lanes(23 * MS), "b");
	assert_null(turns_pop(&t, 23 * MS, &at_ns));
	assert_int_equal(at_ns, 32 * MS);
	assert_string_equal(pop_lanes(32 * MS), "a");
	/* forgiven after a minute */
	push_lanes("ab", 20 * MS + 61 * NSEC_PER_SEC);
	assert_string_equal(pop_lanes(20 * MS + 61 * NSEC_PER_SEC), "ab");
}

static void a_check_that_took_long_is_charged_in_part(void **state)
{
	(void)state;
	t.took_max_ns = 2 * MS;
	turns_charge(&t, 'a', NSEC_PER_SEC, 10 * MS);
	push_lanes("b", 10 * MS);
	assert_string_equal(pop_lanes(12 * MS), "b");
}

static void neither_kind_starves_the_other(void **state)
{
	(void)state;
	turns_charge(&t, 'x', 1, 1);
	push_lanes("xxxabcdefghijk", MS);
	assert_string_equal(pop_lanes(MS), "abcdxefghxijkx");
}

static void each_kind_and_lane_is_bounded(void **state)
{
	struct fair_item one;

	(void)state;
	turns_charge(&t, 'x', 1, 1);
	for (unsigned i = 0; i < MANY / 2; i++)
		push_lanes("x", MS);
	assert_int_equal(turns_push(&t, &one, 'x', MS), -EBUSY);
	assert_int_equal(turns_push(&t, &one, 'a', MS), 0);
	assert_int_equal(turns_count(&t), MANY / 2 + 1);
}

static void many_failing_lanes_push_out_the_oldest(void **state)
{
	(void)state;
	for (uint64_t lane = 0; lane <= TURNS_FAILING_MAX; lane++)
		turns_charge(&t, 1000 + lane, 0, lane);
	assert_int_equal(turns_push(&t, &items[0], 1000, MS), 0);
	assert_int_equal(t.fresh.count, 1);
	assert_int_equal(turns_push(&t, &items[1], 1001, MS), 0);
	assert_int_equal(t.failing.count, 1);
}

static void at_the_end_no_rest_is_waited_for(void **state)
{
	(void)state;
	turns_charge(&t, 'a', NSEC_PER_SEC, 10 * MS);
	turns_charge(&t, 'a', NSEC_PER_SEC, 10 * MS);
	push_lanes("aab", 10 * MS);
	assert_int_equal(strlen(pop_lanes(UINT64_MAX)), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(right_checks_wait_for_nothing, make_turns),
		cmocka_unit_test_setup(
			a_failed_check_lets_the_thread_rest_for_what_it_took,
			make_turns),
		cmocka_unit_test_setup(a_lane_that_failed_rests_longer_than_others,
				       make_turns),
		cmocka_unit_test_setup(a_check_that_took_long_is_charged_in_part,
				       make_turns),
		cmocka_unit_test_setup(neither_kind_starves_the_other, make_turns),
		cmocka_unit_test_setup(each_kind_and_lane_is_bounded, make_turns),
		cmocka_unit_test_setup(many_failing_lanes_push_out_the_oldest,
				       make_turns),
		cmocka_unit_test_setup(at_the_end_no_rest_is_waited_for, make_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
