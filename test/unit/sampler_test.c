/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "test/unit/unit.h"

/* A sensor whose reading hangs until it is let go, and one that answers at once */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool held, entered;
	atomic_int quick_samples, opens, closes;
	atomic_int open_rc, sample_rc;
	uint64_t gap_ms, pace_ms;
} w = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static uint64_t test_now_ns;
static uint64_t test_clock(void)
{
	return test_now_ns ? test_now_ns : clock_boottime_ns();
}

static int any_open(const struct env *env, void **ret_state, struct err *err)
{
	(void)env;
	w.opens++;
	if (w.open_rc)
		return err_set(err, w.open_rc, "test says no");
	*ret_state = &w;
	return 0;
}

static int fill(struct source_snapshot *out, uint64_t value)
{
	struct source_channel *c = source_snapshot_add(out);
	if (!c)
		return -ENOMEM;
	c->kind = SOURCE_ENERGY;
	c->value = value;
	c->measured_ns = test_clock();
	return 0;
}

static int slow_sample(void *state, struct source_snapshot *out, struct err *err)
{
	(void)state;
	(void)err;
	pthread_mutex_lock(&w.mutex);
	w.entered = true;
	pthread_cond_broadcast(&w.cond);
	while (w.held)
		pthread_cond_wait(&w.cond, &w.mutex);
	pthread_mutex_unlock(&w.mutex);
	return fill(out, 1);
}

static int quick_sample(void *state, struct source_snapshot *out, struct err *err)
{
	(void)state;
	if (w.sample_rc)
		return err_set(err, w.sample_rc, "test sensor fails");
	return fill(out, (uint64_t)++w.quick_samples);
}

static uint64_t quick_gap_ms(const void *state)
{
	(void)state;
	return w.gap_ms;
}

static uint64_t quick_pace_ms(const void *state)
{
	(void)state;
	return w.pace_ms;
}

static void any_close(void *state)
{
	w.closes += state != NULL;
}

static const struct source slow = {
	.name = "slow", .open = any_open, .sample = slow_sample, .close = any_close};
static const struct source quick = {.name = "quick",
				    .open = any_open,
				    .sample = quick_sample,
				    .gap_ms = quick_gap_ms,
				    .pace_ms = quick_pace_ms,
				    .close = any_close};
static const struct source *const both[] = {&slow, &quick};

static struct env env = {.boottime_ns = test_clock};

static int reset(void **state)
{
	(void)state;
	w.held = w.entered = false;
	w.quick_samples = w.opens = w.closes = w.open_rc = w.sample_rc = 0;
	w.gap_ms = UINT64_MAX;
	w.pace_ms = 0;
	test_now_ns = 0;
	return 0;
}

static void wait_entered(void)
{
	pthread_mutex_lock(&w.mutex);
	while (!w.entered)
		pthread_cond_wait(&w.cond, &w.mutex);
	pthread_mutex_unlock(&w.mutex);
}

static void pause_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&ts, NULL);
}

static void a_source_that_hangs_delays_no_other_and_no_reader(void **state)
{
	(void)state;
	struct sampler *s = NULL;
	struct source_snapshot snap = {0};
	w.held = true;
	assert_int_equal(sampler_new(&env, 5, both, 2, &s, NULL), 0);
	assert_int_equal(sampler_get(s, &quick, &snap, NULL), -EAGAIN);
	assert_int_equal(sampler_start(s, NULL), 0);
	wait_entered();
	/* while it hangs the other goes on, for as long as we like */
	for (int i = 0; w.quick_samples < 20 && i < 6000; i++) {
		assert_int_equal(sampler_get(s, &slow, &snap, NULL), -EAGAIN);
		pause_ms(5);
	}
	assert_true(w.quick_samples >= 20);
	assert_int_equal(sampler_get(s, &quick, &snap, NULL), 0);
	assert_int_equal(snap.count, 1);
	assert_true(snap.channels[0].value > 0);
	pthread_mutex_lock(&w.mutex);
	w.held = false;
	pthread_cond_broadcast(&w.cond);
	pthread_mutex_unlock(&w.mutex);
	sampler_free(s);
	assert_int_equal(w.closes, 2);
	source_snapshot_done(&snap);
}

static void a_failure_leaves_the_last_reading_in_force(void **state)
{
	(void)state;
	struct sampler *s = NULL;
	struct source_snapshot snap = {0};
	test_now_ns = 100 * NSEC_PER_SEC;
	assert_int_equal(sampler_new(&env, 1000, both + 1, 1, &s, NULL), 0);
	sampler_run(s);
	w.sample_rc = -EIO;
	test_now_ns = 130 * NSEC_PER_SEC;
	sampler_run(s);
	assert_int_equal(sampler_get(s, &quick, &snap, NULL), 0);
	assert_true(snap.channels[0].value == 1);
	assert_true(source_newest_ns(&snap) == 100 * NSEC_PER_SEC);
	assert_false(source_is_stale(&snap.channels[0], test_now_ns));
	assert_true(source_is_stale(&snap.channels[0], 191 * NSEC_PER_SEC));
	sampler_free(s);
	source_snapshot_done(&snap);
}

static void a_source_that_is_not_there_is_tried_again_each_minute(void **state)
{
	(void)state;
	struct sampler *s = NULL;
	struct source_snapshot snap = {0};
	struct err err = {""};
	test_now_ns = 100 * NSEC_PER_SEC;
	w.open_rc = -ENODEV;
	assert_int_equal(sampler_new(&env, 1000, both + 1, 1, &s, NULL), 0);
	assert_int_equal(sampler_is_open(s, &quick, &err), -ENODEV);
	assert_string_equal(err.text, "test says no");
	sampler_run(s);
	assert_int_equal(w.opens, 1);
	w.open_rc = 0;
	test_now_ns = 161 * NSEC_PER_SEC;
	sampler_run(s);
	assert_int_equal(w.opens, 2);
	assert_int_equal(sampler_get(s, &quick, &snap, NULL), 0);
	/* one that nobody asked for */
	assert_int_equal(sampler_get(s, &slow, &snap, NULL), -ENODEV);
	assert_int_equal(sampler_get(NULL, &slow, &snap, NULL), -ENODEV);
	sampler_free(s);
	source_snapshot_done(&snap);
}

static void a_source_is_sampled_as_often_as_it_must_be(void **state)
{
	(void)state;
	struct sampler *s = NULL;
	w.gap_ms = 40;
	assert_int_equal(sampler_new(&env, 1000, both, 2, &s, NULL), 0);
	assert_true(sampler_period_ms(s, &slow) == 1000);
	assert_true(sampler_period_ms(s, &quick) == 40);
	w.gap_ms = 20;
	sampler_run(s);
	assert_true(sampler_period_ms(s, &quick) == 20);
	sampler_free(s);
}

static void a_source_is_sampled_as_seldom_as_it_asks_for(void **state)
{
	(void)state;
	struct sampler *s = NULL;
	w.pace_ms = 5000;
	assert_int_equal(sampler_new(&env, 1000, both, 2, &s, NULL), 0);
	assert_true(sampler_period_ms(s, &slow) == 1000);
	assert_true(sampler_period_ms(s, &quick) == 5000);
	/* also when it fails */
	w.pace_ms = 10000;
	w.sample_rc = -EIO;
	sampler_run(s);
	assert_true(sampler_period_ms(s, &quick) == 10000);
	/* faster than configured it is not; what must not be missed comes first */
	w.pace_ms = 10;
	sampler_run(s);
	assert_true(sampler_period_ms(s, &quick) == 1000);
	w.pace_ms = 5000;
	w.gap_ms = 400;
	sampler_run(s);
	assert_true(sampler_period_ms(s, &quick) == 400);
	sampler_free(s);
}

static void channels_are_bounded(void **state)
{
	(void)state;
	struct source_snapshot snap = {0}, copy = {0};
	size_t n = 0;
	while (source_snapshot_add(&snap))
		n++;
	assert_int_equal(n, SOURCE_CHANNELS_MAX);
	assert_int_equal(source_snapshot_copy(&copy, &snap), 0);
	assert_int_equal(copy.count, n);
	assert_ptr_not_equal(copy.channels, snap.channels);
	source_snapshot_done(&snap);
	source_snapshot_done(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			a_source_that_hangs_delays_no_other_and_no_reader, reset),
		cmocka_unit_test_setup(a_failure_leaves_the_last_reading_in_force,
				       reset),
		cmocka_unit_test_setup(
			a_source_that_is_not_there_is_tried_again_each_minute, reset),
		cmocka_unit_test_setup(a_source_is_sampled_as_often_as_it_must_be,
				       reset),
		cmocka_unit_test_setup(a_source_is_sampled_as_seldom_as_it_asks_for,
				       reset),
		cmocka_unit_test(channels_are_bounded),
	};
	return cmocka_run_group_tests_name("sampler_test", tests, NULL, NULL);
}
