/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/module_check.h"

#include "lib/clock.h"
#include "test/unit/unit.h"

#define WATT 1000000ull

/* So many readings, one a second, of a counter that rises by so many watts */
static enum module_counter read_counter(struct module_check *c, unsigned readings,
					uint64_t counter_watts, uint64_t gpu_watts,
					uint64_t module_watts)
{
	enum module_counter is = MODULE_COUNTER_OPEN;

	for (unsigned i = 0; i < readings && is == MODULE_COUNTER_OPEN; i++)
		is = module_check_add(c, (100 + i) * NSEC_PER_SEC,
				      (1000 + i * counter_watts) * WATT,
				      gpu_watts * WATT, module_watts * WATT);
	return is;
}

static void the_counter_is_what_it_is_like(void **state)
{
	struct module_check gpu = {0}, module = {0}, neither = {0};

	(void)state;
	assert_int_equal(read_counter(&gpu, 20, 400, 390, 600), MODULE_COUNTER_GPU);
	assert_float_equal(module_check_watts(&gpu, gpu.module_uw), 600, 0.1);
	assert_int_equal(read_counter(&module, 20, 610, 390, 600),
			 MODULE_COUNTER_MODULE);
	assert_int_equal(read_counter(&neither, 20, 500, 390, 600),
			 MODULE_COUNTER_OPEN);
	assert_int_equal(read_counter(&neither, 700, 500, 390, 600),
			 MODULE_COUNTER_NEITHER);
}

static void powers_that_are_alike_tell_nothing_yet(void **state)
{
	struct module_check c = {0};

	(void)state;
	assert_int_equal(read_counter(&c, 100, 100, 100, 110), MODULE_COUNTER_OPEN);
	assert_int_equal(read_counter(&c, 100, 0, 0, 110), MODULE_COUNTER_OPEN);
}

static void a_counter_that_begins_anew_is_compared_anew(void **state)
{
	struct module_check c = {0};

	(void)state;
	assert_int_equal(read_counter(&c, 10, 600, 390, 600), MODULE_COUNTER_OPEN);
	assert_int_equal(
		module_check_add(&c, 200 * NSEC_PER_SEC, 0, 390 * WATT, 600 * WATT),
		MODULE_COUNTER_OPEN);
	assert_int_equal(c.readings, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counter_is_what_it_is_like),
		cmocka_unit_test(powers_that_are_alike_tell_nothing_yet),
		cmocka_unit_test(a_counter_that_begins_anew_is_compared_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
