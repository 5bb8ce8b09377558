/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/web_budget.h"

#include <stdlib.h>

#include "test/unit/unit.h"

static struct web_budget *budget;

static int setup(void **state)
{
	(void)state;
	budget = calloc(1, sizeof(*budget));
	return budget ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(budget);
	return 0;
}

static void nobody_gets_more_than_most(void **state)
{
	(void)state;
	assert_true(web_budget_take(budget, 1, 60, 100));
	assert_false(web_budget_take(budget, 1, 41, 100));
	assert_true(web_budget_take(budget, 1, 40, 100));
	assert_true(web_budget_take(budget, 2, 100, 100));
	assert_false(web_budget_take(budget, 3, 101, 100));
	assert_false(web_budget_take(budget, 1, SIZE_MAX, SIZE_MAX));
	assert_int_equal(web_budget_used(budget, 1), 100);
	web_budget_give(budget, 1, 70);
	assert_int_equal(web_budget_used(budget, 1), 30);
	assert_int_equal(web_budget_used(budget, 3), 0);
	assert_int_equal(budget->count, 2);
}

static void too_many_at_a_time_get_nothing_and_take_nothing_away(void **state)
{
	uint64_t key = 0;

	(void)state;
	while (web_budget_take(budget, key, 1, 2))
		key++;
	assert_int_equal(key, WEB_BUDGET_SLOTS / 2);
	assert_true(web_budget_take(budget, 0, 1, 2));
	web_budget_give(budget, 7, 1);
	assert_true(web_budget_take(budget, key, 1, 2));
}

/* Against a plain array: whatever is taken and given back, each key has its own. */
static void any_order_keeps_each_keys_amount(void **state)
{
	enum { KEYS = 4000 };
	static size_t want[KEYS];
	unsigned seed = 3;

	(void)state;
	for (unsigned step = 0; step < 200000; step++) {
		seed = seed * 1103515245 + 12345;
		unsigned k = (seed >> 8) % KEYS, amount = 1 + (seed >> 4) % 3;
		if ((seed >> 24) % 2) {
			if (web_budget_take(budget, k, amount, 9))
				want[k] += amount;
			else
				assert_true(want[k] + amount > 9);
		} else if (want[k]) {
			size_t give = want[k] < amount ? want[k] : amount;
			web_budget_give(budget, k, give);
			want[k] -= give;
		}
	}
	for (unsigned k = 0; k < KEYS; k++)
		assert_int_equal(web_budget_used(budget, k), want[k]);
	for (unsigned k = 0; k < KEYS; k++) {
		if (want[k])
			web_budget_give(budget, k, want[k]);
	}
	assert_int_equal(budget->count, 0);
	for (size_t i = 0; i < WEB_BUDGET_SLOTS; i++)
		assert_int_equal(budget->slots[i].used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nobody_gets_more_than_most, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			too_many_at_a_time_get_nothing_and_take_nothing_away, setup,
			teardown),
		cmocka_unit_test_setup_teardown(any_order_keeps_each_keys_amount, setup,
						teardown),
	};
	return cmocka_run_group_tests_name("web_budget_test", tests, NULL, NULL);
}
