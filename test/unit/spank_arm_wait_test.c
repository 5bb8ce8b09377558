/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which steps wait for ceemsd to arm the CPUs' events, and for how long. Naps are
 * counted instead of slept. */
#include "lib/clock.h"
#include "spank/arm_wait.h"
#include "test/unit/spank_world.h"

static struct ring *ring;
static int naps, armed_after, profiled_after;
static uint64_t now_ns, nap_ns;

static uint64_t tell_time(void)
{
	return now_ns;
}

/* What ceemsd does when it has read all records and ceems-profiler samples them */
static void release_all(void)
{
	char record[RING_RECORD_MAX];
	uint64_t pos;
	size_t len;

	while (ring_peek(ring, record, &len, &pos) == 1)
		ring_release(ring, pos);
	ring_set_profiled(ring);
}

static void count_nap(void)
{
	naps++;
	now_ns += nap_ns;
	if (naps == armed_after)
		ring_set_armed(ring, RING_ARMED_HARDWARE);
	if (naps == profiled_after)
		release_all();
}

static int open_world(void **state)
{
	int rc = world_up(state);

	if (rc < 0)
		return rc;
	step_host.nap = count_nap;
	ring = &((struct world *)*state)->consumer;
	step_host.boottime_ns = tell_time;
	naps = armed_after = profiled_after = 0;
	nap_ns = NSEC_PER_MSEC;
	return 0;
}

static int naps_of_option(struct world *w, const char *name, const char *option)
{
	struct record r;

	make_v1(w);
	init(w, NULL, NULL);
	if (option)
		assert_int_equal(fake_option(name, option, 1), 0);
	naps = 0;
	fork_task(TASK_PID);
	fork_task(TASK_PID);
	end_task(0);
	while (world_take(w, &r))
		;
	return naps;
}

/* The naps of a step with this option */
static int naps_of_step(struct world *w, const char *option)
{
	return naps_of_option(w, "ceems-perf", option);
}

static void a_step_that_asks_begins_when_its_events_are_armed(void **state)
{
	ring_set_armed(ring, 0);
	armed_after = 3;
	assert_int_equal(naps_of_step(*state, "hardware"), 3);
	assert_null(fake_log_line("has not armed"));
	assert_int_equal(naps_of_step(*state, "hardware,software"), 0);
}

static void it_waits_for_no_more_than_the_time_that_it_may(void **state)
{
	ring_set_armed(ring, RING_ARMED_HARDWARE);
	assert_int_equal(naps_of_step(*state, "cache"), ARM_WAIT_MS);
	assert_non_null(fake_log_line("has not armed the CPUs' events in 100 ms"));
	nap_ns = 40 * NSEC_PER_MSEC; /* a busy machine */
	assert_int_equal(naps_of_step(*state, "cache"), 3);
}

static void a_step_that_asks_for_a_profile_begins_when_it_is_sampled(void **state)
{
	ring_set_armed(ring, RING_ARMED_PROFILES);
	profiled_after = 4;
	assert_int_equal(naps_of_option(*state, "ceems-profile", "97"), 4);
	/* the one before is, but this one is not yet */
	assert_int_equal(naps_of_option(*state, "ceems-profile", "97"), 4);
	profiled_after = 0;
	assert_null(fake_log_line("has not begun"));
	assert_int_equal(naps_of_option(*state, "ceems-profile", "97"), ARM_WAIT_MS);
	assert_non_null(fake_log_line("ceems-profiler has not begun in 100 ms"));
	/* who did not ask; a ceemsd that samples nobody */
	assert_int_equal(naps_of_step(*state, NULL), 0);
	ring_set_armed(ring, 0);
	assert_int_equal(naps_of_option(*state, "ceems-profile", "97"), 0);
}

static void nobody_else_waits(void **state)
{
	ring_set_armed(ring, 0);
	assert_int_equal(naps_of_step(*state, NULL), 0);
	assert_int_equal(naps_of_step(*state, "software"), 0);
	fake.step = RECORD_STEP_EXTERN;
	assert_int_equal(naps_of_step(*state, "hardware"), 0);
}

static void nobody_waits_for_what_cannot_come(void **state)
{
	struct world *w = *state;

	/* a ceemsd of before */
	assert_int_equal(ring_armed(ring), 0);
	assert_int_equal(naps_of_step(w, "hardware"), 0);
	ring_set_armed(ring, RING_ARMED_ALL);
	assert_int_equal(naps_of_step(w, "hardware,cache"), 0);
	ring_set_armed(ring, 0);
	/* one that was killed: what it said is still there */
	now_ns = clock_boottime_ns() + 6 * NSEC_PER_SEC;
	ring->header->heartbeat_ns = now_ns - 6 * NSEC_PER_SEC;
	assert_int_equal(naps_of_step(w, "hardware"), 0);
	ring->header->heartbeat_ns = now_ns - 4 * NSEC_PER_SEC;
	assert_int_equal(naps_of_step(w, "hardware"), ARM_WAIT_MS);
	assert_int_equal(remove_ring(w->ring), 0);
	assert_int_equal(naps_of_step(w, "hardware"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, world_down)
	const struct CMUnitTest tests[] = {
		TEST(a_step_that_asks_begins_when_its_events_are_armed),
		TEST(it_waits_for_no_more_than_the_time_that_it_may),
		TEST(a_step_that_asks_for_a_profile_begins_when_it_is_sampled),
		TEST(nobody_else_waits),
		TEST(nobody_waits_for_what_cannot_come),
	};
	return cmocka_run_group_tests_name("spank_arm_wait", tests, NULL, NULL);
}
