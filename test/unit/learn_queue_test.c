/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/learn_queue.h"

#include <string.h>

#include "lib/clock.h"
#include "test/unit/unit.h"

static struct learn_queue q;

static int empty(void **state)
{
	(void)state;
	memset(&q, 0, sizeof(q));
	return 0;
}

static void one_is_looked_at_when_it_has_been_quiet(void **state)
{
	(void)state;
	learn_queue_put(&q, 5, 1000);
	assert_int_equal(learn_queue_take(&q, 1000), 0);
	learn_queue_put(&q, 5, 900000);
	assert_int_equal(learn_queue_take(&q, 900000 + LEARN_QUIET_NS - 1), 0);
	assert_int_equal(learn_queue_take(&q, 900000 + LEARN_QUIET_NS), 5);
	assert_int_equal(learn_queue_take(&q, UINT64_MAX / 2), 0);
}

static void one_that_is_never_quiet_is_looked_at_all_the_same(void **state)
{
	uint64_t now = 1000;
	uint32_t pid = 0;
	(void)state;

	for (; !pid && now < 1000 + 10 * (uint64_t)LEARN_LATEST_NS; now += 100000) {
		learn_queue_put(&q, 5, now);
		pid = learn_queue_take(&q, now);
	}
	assert_int_equal(pid, 5);
	assert_true(now <= 1000 + LEARN_LATEST_NS + 200000);
}

static void one_that_has_ended_is_not_looked_at(void **state)
{
	(void)state;
	learn_queue_put(&q, 5, 1000);
	learn_queue_put(&q, 6, 1000);
	learn_queue_drop(&q, 5);
	assert_int_equal(learn_queue_take(&q, NSEC_PER_SEC), 6);
	assert_int_equal(learn_queue_take(&q, NSEC_PER_SEC), 0);
	assert_int_equal(q.count, 0);
}

static void of_any_number_there_is_room_for_some(void **state)
{
	uint32_t taken = 0;
	(void)state;

	for (uint32_t pid = 1; pid <= 50000; pid++)
		learn_queue_put(&q, pid, pid);
	while (learn_queue_take(&q, NSEC_PER_SEC))
		taken++;
	assert_true(taken > LEARN_PLACES / 2 && taken <= LEARN_PLACES);
}

static void in_a_minute_no_more_are_looked_at_than_the_rate_allows(void **state)
{
	uint32_t may = 0;
	(void)state;

	for (uint64_t ms = 1; ms <= 60000; ms++)
		may += learn_queue_may(&q, ms * NSEC_PER_MSEC);
	assert_in_range(may, 59 * LEARN_RATE, 61 * LEARN_RATE + LEARN_BURST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_is_looked_at_when_it_has_been_quiet, empty),
		cmocka_unit_test_setup(
			one_that_is_never_quiet_is_looked_at_all_the_same, empty),
		cmocka_unit_test_setup(one_that_has_ended_is_not_looked_at, empty),
		cmocka_unit_test_setup(of_any_number_there_is_room_for_some, empty),
		cmocka_unit_test_setup(
			in_a_minute_no_more_are_looked_at_than_the_rate_allows, empty),
	};
	return cmocka_run_group_tests_name("learn_queue_test", tests, NULL, NULL);
}
