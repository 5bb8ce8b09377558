/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/wait.h"

#include <errno.h>

#include "test/unit/unit.h"

static uint64_t monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* By the wall clock, which has a larger number, it would end at once. */
static void a_condition_waits_by_the_monotonic_clock(void **state)
{
	(void)state;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond;
	uint64_t start = monotonic_ns();
	int rc = 0;

	wait_cond_init(&cond);
	struct timespec until = wait_in(30);
	pthread_mutex_lock(&mutex);
	while (rc == 0)
		rc = pthread_cond_timedwait(&cond, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&cond);
	assert_int_equal(rc, ETIMEDOUT);
	assert_true(monotonic_ns() - start >= 30 * NSEC_PER_MSEC);
}

static void *wait_for_mutex(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

static void a_join_ends_at_its_deadline_and_can_be_repeated(void **state)
{
	(void)state;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;
	uint64_t start = monotonic_ns();

	pthread_mutex_lock(&mutex);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_mutex, &mutex), 0);
	struct timespec until = wait_in(30);
	assert_int_equal(wait_join(thread, &until), ETIMEDOUT);
	assert_true(monotonic_ns() - start >= 30 * NSEC_PER_MSEC);
	pthread_mutex_unlock(&mutex);
	until = wait_in(600000);
	assert_int_equal(wait_join(thread, &until), 0);
}

static void a_deadline_carries_into_the_seconds(void **state)
{
	(void)state;
	struct timespec at = wait_at(3 * NSEC_PER_SEC + 999999999);

	assert_int_equal(at.tv_sec, 3);
	assert_int_equal(at.tv_nsec, 999999999);
	at = wait_at(4 * NSEC_PER_SEC);
	assert_int_equal(at.tv_sec, 4);
	assert_int_equal(at.tv_nsec, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_waits_by_the_monotonic_clock),
		cmocka_unit_test(a_join_ends_at_its_deadline_and_can_be_repeated),
		cmocka_unit_test(a_deadline_carries_into_the_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
