/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/gate/thread_pool.h"

#include <pthread.h>
#include <string.h>

#include "test/unit/unit.h"

/* A pool of one thread, which the first job holds until all others wait. */
static struct {
	struct thread_pool *pool;
	pthread_mutex_t mutex;
	pthread_cond_t change;
	bool open, reached;
	unsigned left;
	char order[THREAD_POOL_LANE_MAX + 8];
	size_t done;
} lab = {.mutex = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static bool run_held(struct thread_pool_job *j, void **mine, const atomic_bool *stop)
{
	(void)j;
	(void)mine;
	(void)stop;
	pthread_mutex_lock(&lab.mutex);
	lab.reached = true;
	pthread_cond_broadcast(&lab.change);
	while (!lab.open)
		pthread_cond_wait(&lab.change, &lab.mutex);
	pthread_mutex_unlock(&lab.mutex);
	return false;
}

static bool run_noted(struct thread_pool_job *j, void **mine, const atomic_bool *stop)
{
	bool failed = j->item.key == 'x';

	(void)mine;
	(void)stop;
	pthread_mutex_lock(&lab.mutex);
	lab.order[lab.done++] = (char)j->item.key;
	lab.left--;
	pthread_cond_signal(&lab.change);
	pthread_mutex_unlock(&lab.mutex);
	return failed;
}

static struct thread_pool_job held = {.run = run_held};

static void hold_pool(void)
{
	lab.open = lab.reached = false;
	assert_true(thread_pool_submit(lab.pool, &held, 0));
	pthread_mutex_lock(&lab.mutex);
	while (!lab.reached)
		pthread_cond_wait(&lab.change, &lab.mutex);
	pthread_mutex_unlock(&lab.mutex);
}

static int make_pool(void **state)
{
	(void)state;
	lab.left = 0;
	lab.done = 0;
	memset(lab.order, 0, sizeof(lab.order));
	assert_int_equal(thread_pool_new(1, NULL, &lab.pool), 0);
	assert_int_equal(thread_pool_start(lab.pool, NULL), 0);
	hold_pool();
	return 0;
}

static int free_pool(void **state)
{
	(void)state;
	thread_pool_stop(lab.pool);
	thread_pool_free(lab.pool);
	return 0;
}

static bool submit_one(struct thread_pool_job *j, char key)
{
	j->run = run_noted;
	bool good = thread_pool_submit(lab.pool, j, (uint64_t)key);
	if (good) {
		pthread_mutex_lock(&lab.mutex);
		lab.left++;
		pthread_mutex_unlock(&lab.mutex);
	}
	return good;
}

static void wait_for_all(void)
{
	pthread_mutex_lock(&lab.mutex);
	lab.open = true;
	pthread_cond_broadcast(&lab.change);
	while (lab.left)
		pthread_cond_wait(&lab.change, &lab.mutex);
	pthread_mutex_unlock(&lab.mutex);
}

static void one_who_asks_much_waits_behind_who_asks_little(void **state)
{
	static struct thread_pool_job jobs[THREAD_POOL_LANE_MAX + 1], other;
	size_t taken = 0;

	(void)state;
	while (taken <= THREAD_POOL_LANE_MAX && submit_one(&jobs[taken], 'a'))
		taken++;
	assert_int_equal(taken, THREAD_POOL_LANE_MAX);
	assert_true(submit_one(&other, 'b'));
	wait_for_all();
	const char *b = strchr(lab.order, 'b');
	assert_non_null(b);
	assert_true(b - lab.order <= 1);
}

static void who_fails_waits_behind_those_who_do_not(void **state)
{
	static struct thread_pool_job bad[8], good[4];

	(void)state;
	/* it is charged once it was done, before the pool is held again */
	assert_true(submit_one(&bad[0], 'x'));
	wait_for_all();
	hold_pool();
	for (size_t i = 1; i < 8; i++)
		assert_true(submit_one(&bad[i], 'x'));
	for (size_t i = 0; i < 4; i++)
		assert_true(submit_one(&good[i], (char)('a' + i)));
	wait_for_all();
	assert_memory_equal(lab.order + 1, "abcd", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			one_who_asks_much_waits_behind_who_asks_little, make_pool,
			free_pool),
		cmocka_unit_test_setup_teardown(who_fails_waits_behind_those_who_do_not,
						make_pool, free_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
