/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/time_share.h"

#include "lib/clock.h"
#include "test/unit/unit.h"

#define S NSEC_PER_SEC

static void who_takes_all_of_the_time_is_over_after_the_burst(void **state)
{
	struct time_share t = {.burst_ns = 5 * S};
	uint64_t now = 100 * S;
	(void)state;

	for (; now <= 105 * S; now += S) {
		assert_false(time_share_is_over(&t, 1, now));
		time_share_charge(&t, 1, now, now + S);
	}
	assert_true(time_share_is_over(&t, 1, now));
	assert_false(time_share_is_over(&t, 2, now));
	/* by what he had beyond half */
	assert_false(time_share_is_over(&t, 1, now + S));
}

static void who_takes_less_than_half_never_is(void **state)
{
	struct time_share t = {.burst_ns = S};
	(void)state;

	for (uint64_t now = 100 * S; now < 1000 * S; now += S) {
		assert_false(time_share_is_over(&t, 1, now));
		time_share_charge(&t, 1, now, now + S / 2);
	}
}

static void of_many_those_who_took_most_are_remembered(void **state)
{
	struct time_share t = {.burst_ns = S};
	(void)state;

	time_share_charge(&t, 1, 100 * S, 110 * S);
	for (uint32_t uid = 2; uid < 10 * TIME_SHARE_USERS; uid++)
		time_share_charge(&t, uid, 110 * S, 110 * S + 1);
	assert_true(time_share_is_over(&t, 1, 110 * S));
	assert_false(time_share_is_over(&t, 2, 110 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_takes_all_of_the_time_is_over_after_the_burst),
		cmocka_unit_test(who_takes_less_than_half_never_is),
		cmocka_unit_test(of_many_those_who_took_most_are_remembered),
	};
	return cmocka_run_group_tests_name("time_share_test", tests, NULL, NULL);
}
