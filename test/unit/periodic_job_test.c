/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a periodic job waits that fails. */
#include "aggregator/periodic_job.h"

#include "test/unit/unit.h"

static void a_chore_that_fails_waits_twice_as_long_each_time(void **state)
{
	static const unsigned want[] = {1000,  2000,  4000,   8000,   16000,
					32000, 64000, 128000, 256000, 300000};

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(periodic_job_retry_ms(3600000, i + 1), want[i]);
	assert_int_equal(periodic_job_retry_ms(3600000, UINT32_MAX), 300000);
}

static void never_longer_than_its_own_period_nor_below_a_second(void **state)
{
	(void)state;
	assert_int_equal(periodic_job_retry_ms(10000, 4), 8000);
	assert_int_equal(periodic_job_retry_ms(10000, 5), 10000);
	assert_int_equal(periodic_job_retry_ms(10000, 4000000000u), 10000);
	assert_int_equal(periodic_job_retry_ms(1000, 1), 1000);
	assert_int_equal(periodic_job_retry_ms(500, 7), 1000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chore_that_fails_waits_twice_as_long_each_time),
		cmocka_unit_test(never_longer_than_its_own_period_nor_below_a_second),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
