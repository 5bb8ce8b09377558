/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/periodic.h"

#include <errno.h>
#include <semaphore.h>

#include "lib/wait.h"
#include "test/unit/unit.h"

#define HOUR_MS 3600000u

struct work {
	struct periodic thread;
	uint64_t rest_ms;
	sem_t begun, may_end;
	bool held; /* a turn ends when it may */
	unsigned turns, lasts;
};

static uint64_t count_turn(void *arg)
{
	struct work *w = arg;

	w->turns++;
	sem_post(&w->begun);
	if (w->held)
		sem_wait(&w->may_end);
	return w->rest_ms;
}

static void count_last(void *arg)
{
	((struct work *)arg)->lasts++;
}

static void start_work(struct work *w)
{
	sem_init(&w->begun, 0, 0);
	sem_init(&w->may_end, 0, 0);
	periodic_init(&w->thread);
	assert_int_equal(periodic_start(&w->thread, 0, count_turn, count_last, w), 0);
}

static void stop_ends_a_long_rest_and_calls_last_once(void **state)
{
	(void)state;
	struct work w = {.rest_ms = HOUR_MS};

	start_work(&w);
	sem_wait(&w.begun);
	periodic_done(&w.thread); /* or the test would take an hour */
	assert_int_equal(w.turns, 1);
	assert_int_equal(w.lasts, 1);
}

static void turns_follow_each_other_with_and_without_a_rest(void **state)
{
	(void)state;
	for (uint64_t rest_ms = 0; rest_ms < 2; rest_ms++) {
		struct work w = {.rest_ms = rest_ms};

		start_work(&w);
		for (int i = 0; i < 5; i++)
			sem_wait(&w.begun);
		periodic_done(&w.thread);
		assert_true(w.turns >= 5);
	}
}

static void a_turn_can_be_the_last_one(void **state)
{
	(void)state;
	struct work w = {.rest_ms = PERIODIC_END};

	start_work(&w);
	assert_int_equal(periodic_join(&w.thread, NULL), 0);
	assert_int_equal(w.turns, 1);
	assert_int_equal(w.lasts, 1);
	assert_int_equal(periodic_join(&w.thread, NULL), 0);
	periodic_done(&w.thread);
}

static void join_with_a_deadline_leaves_a_stuck_turn_alone(void **state)
{
	(void)state;
	struct work w = {.rest_ms = HOUR_MS, .held = true};
	struct timespec past = wait_in(0);

	start_work(&w);
	sem_wait(&w.begun);
	periodic_ask_stop(&w.thread);
	assert_true(atomic_load(&w.thread.stopping)); /* what the turn can see */
	assert_int_equal(periodic_join(&w.thread, &past), -ETIMEDOUT);
	assert_int_equal(periodic_done_within(&w.thread, 0), -ETIMEDOUT);
	assert_int_equal(w.lasts, 0);
	sem_post(&w.may_end);
	assert_int_equal(periodic_done_within(&w.thread, HOUR_MS), 0);
	assert_int_equal(w.lasts, 1);
}

static void done_without_a_start_is_fine(void **state)
{
	(void)state;
	struct periodic p;

	periodic_init(&p);
	assert_int_equal(periodic_join(&p, NULL), 0);
	periodic_done(&p);
}

static void a_rest_is_what_is_left_of_the_period(void **state)
{
	(void)state;
	uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t ms = periodic_rest_ms(now_ns, HOUR_MS);

	assert_true(ms > 0 && ms <= HOUR_MS);
	assert_int_equal(periodic_rest_ms(now_ns - 2 * NSEC_PER_SEC, 1000), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stop_ends_a_long_rest_and_calls_last_once),
		cmocka_unit_test(turns_follow_each_other_with_and_without_a_rest),
		cmocka_unit_test(a_turn_can_be_the_last_one),
		cmocka_unit_test(join_with_a_deadline_leaves_a_stuck_turn_alone),
		cmocka_unit_test(done_without_a_start_is_fine),
		cmocka_unit_test(a_rest_is_what_is_left_of_the_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
