/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregator/witness.h"

#include <stdio.h>
#include <string.h>

#include "lib/clock.h"
#include "test/unit/unit.h"

#define SEC NSEC_PER_SEC
#define REAL (1700000000 * SEC)
#define BOOT (5000 * SEC)

static struct witnesses w = WITNESSES_INIT;

static void tell(const char *who, int64_t ahead_s, uint64_t later_s)
{
	witness_tell(&w, who, REAL + (uint64_t)(ahead_s * (int64_t)SEC) + later_s * SEC,
		     BOOT + later_s * SEC);
}

static void tell_many(uint32_t from, uint32_t n, int64_t ahead_s)
{
	char name[32];

	for (uint32_t i = from; i < from + n; i++) {
		snprintf(name, sizeof(name), "munge 10.0.%u.%u", i / 250, i % 250);
		tell(name, ahead_s, 0);
	}
}

static enum witness_state state_of(void)
{
	return witness_judge(&w, REAL, BOOT).state;
}

static void alone_it_is_undecided(void **state)
{
	(void)state;
	witness_done(&w);
	assert_int_equal(state_of(), WITNESS_UNDECIDED);
	tell(WITNESS_DATABASE, 0, 0);
	assert_int_equal(state_of(), WITNESS_UNDECIDED);
	tell("munge 10.0.0.1", 119, 0);
	assert_int_equal(state_of(), WITNESS_GOOD);
}

static void the_database_and_a_host_outweigh_us(void **state)
{
	(void)state;
	char text[WITNESS_TEXT_BYTES];

	witness_done(&w);
	tell(WITNESS_DATABASE, 10800, 0);
	assert_int_equal(state_of(), WITNESS_WRONG);
	tell("munge 10.0.0.1", 10801, 0);
	struct witness_verdict v = witness_judge(&w, REAL, BOOT);
	assert_int_equal(v.state, WITNESS_WRONG);
	assert_int_equal(v.contradict, 2);
	assert_true(witness_text(&v, text));
	assert_non_null(strstr(text, "behind"));
	/* the clock is set right meanwhile: nobody need say anything again */
	v = witness_judge(&w, REAL + 10800 * SEC, BOOT);
	assert_int_equal(v.state, WITNESS_GOOD);
	assert_false(witness_text(&v, text));
}

static void one_node_that_differs_is_itself_wrong(void **state)
{
	(void)state;
	witness_done(&w);
	tell(WITNESS_DATABASE, 0, 0);
	tell("munge 10.0.0.1", 10800, 0);
	assert_int_equal(state_of(), WITNESS_UNDECIDED);
	tell_many(2, 1, 0);
	assert_int_equal(state_of(), WITNESS_GOOD);
}

static void who_says_much_counts_once(void **state)
{
	(void)state;
	witness_done(&w);
	tell(WITNESS_DATABASE, 0, 0);
	for (int i = 0; i < 1000; i++)
		tell("token 0011", -7776000 + i % 50, (uint64_t)i / 10);
	struct witness_verdict v = witness_judge(&w, REAL, BOOT);
	assert_int_equal(v.contradict, 1);
	assert_int_equal(v.state, WITNESS_UNDECIDED);
}

static void those_that_differ_from_each_other_say_nothing(void **state)
{
	(void)state;
	witness_done(&w);
	tell_many(0, 2, 0);
	for (uint32_t i = 0; i < 20; i++)
		tell_many(100 + i, 1, 1000 * (int64_t)(i + 1));
	assert_int_equal(state_of(), WITNESS_GOOD);
	tell_many(200, 3, -500);
	assert_int_equal(state_of(), WITNESS_WRONG);
}

static void who_is_silent_is_forgotten_and_many_are_bounded(void **state)
{
	(void)state;
	witness_done(&w);
	tell_many(0, WITNESS_MAX + 500, 10800);
	assert_int_equal(witness_judge(&w, REAL, BOOT).contradict, WITNESS_MAX);
	uint64_t late = WITNESS_TTL_NS + SEC;
	struct witness_verdict v = witness_judge(&w, REAL + late, BOOT + late);
	assert_int_equal(v.contradict, 0);
	assert_int_equal(v.state, WITNESS_UNDECIDED);
	witness_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_it_is_undecided),
		cmocka_unit_test(the_database_and_a_host_outweigh_us),
		cmocka_unit_test(one_node_that_differs_is_itself_wrong),
		cmocka_unit_test(who_says_much_counts_once),
		cmocka_unit_test(those_that_differ_from_each_other_say_nothing),
		cmocka_unit_test(who_is_silent_is_forgotten_and_many_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
