/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregator/ingest/ingest_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "test/unit/unit.h"

#define SEC NSEC_PER_SEC
#define NOW (1700000000 * SEC)
#define UP (100000 * SEC) /* the node's boottime when it sends */
#define BOOT "11111111-2222-3333-4444-555555555555"
#define EARLIER "21111111-2222-3333-4444-555555555555"

static struct report r;
static const int64_t offs_s[] = {0,     5,          -5,          119,
				 -119,  3600,       10800,       -10800,
				 86400, 30 * 86400, -30 * 86400, -1600000000};
#define OFFS (sizeof(offs_s) / sizeof(offs_s[0]))

static uint64_t off(uint64_t ns, int64_t s)
{
	return (uint64_t)((int64_t)ns + s * (int64_t)SEC);
}

/* A unit that began age_s ago, as a node says it whose clock was off by that much then
 */
static void make_final(const char *boot, uint64_t age_s, int64_t off_s)
{
	report_init(&r, REPORT_FINAL, MANAGER_SLURM);
	snprintf(r.boot_id, sizeof(r.boot_id), "%s", boot);
	r.started_ns = r.t0_ns = off(NOW - age_s * SEC, off_s);
	r.started_boottime_ns = UP - age_s * SEC;
	r.ended_ns = r.t1_ns = r.started_ns + 300 * SEC;
	r.steps[0] = (struct report_step){.started_ns = r.started_ns + SEC,
					  .ended_ns = r.started_ns + 299 * SEC};
	r.step_count = 1;
}

static struct report_clock clock_of(int64_t off_s)
{
	struct report_clock c = {.boottime_ns = UP, .realtime_ns = off(NOW, off_s)};

	snprintf(c.boot_id, sizeof(c.boot_id), "%s", BOOT);
	return c;
}

#define KEPT (30 * 86400 * SEC)
static int64_t shift_of(const struct report_clock *c, uint64_t now_ns)
{
	const struct ingest_place at = {
		.clock = c, .now_ns = now_ns, .oldest_ns = now_ns - KEPT};

	return ingest_place_shift(&r, &at);
}

static uint64_t over_of(const struct report_clock *c)
{
	const struct ingest_place at = {
		.clock = c, .now_ns = NOW, .oldest_ns = NOW - KEPT};

	return ingest_place_over(&r, &at, ingest_place_shift(&r, &at), false);
}

static void assert_near(uint64_t a, uint64_t b, uint64_t s)
{
	if ((a > b ? a - b : b - a) > s * SEC)
		fail_msg("%llu is not near %llu", (unsigned long long)(a / SEC),
			 (unsigned long long)(b / SEC));
}

static void a_unit_of_this_boot_is_where_its_age_says(void **state)
{
	(void)state;
	for (size_t then = 0; then < OFFS; then++) {
		for (size_t now = 0; now < OFFS; now++) {
			struct report_clock c = clock_of(offs_s[now]);
			make_final(BOOT, 5000, offs_s[then]);
			int64_t ms = shift_of(&c, NOW);
			ingest_place_move(&r, ms);
			/* a clock that is little off counts as right */
			assert_near(r.started_ns, NOW - 5000 * SEC,
				    llabs(offs_s[now]) <= 120
					    ? 2 + (uint64_t)llabs(offs_s[now])
					    : 2);
			assert_int_equal(r.ended_ns - r.started_ns, 300 * SEC);
			assert_int_equal(r.t0_ns, r.started_ns);
			assert_int_equal(r.t1_ns, r.ended_ns);
			assert_int_equal(r.steps[0].ended_ns - r.steps[0].started_ns,
					 298 * SEC);
			assert_int_equal(r.steps[0].started_ns - r.started_ns, SEC);
		}
	}
}

static void a_right_clock_is_believed_whatever_the_push_took(void **state)
{
	(void)state;
	struct report_clock c = clock_of(0);

	for (uint64_t late_s = 0; late_s < 120; late_s++) {
		make_final(BOOT, 5000, 0);
		assert_int_equal(shift_of(&c, NOW + late_s * SEC), 0);
	}
	/* and NTP moves it a little while the unit lives */
	c.realtime_ns += SEC;
	assert_int_equal(shift_of(&c, NOW), 0);
}

static void a_sender_half_a_minute_off_moves_nothing_that_is_right(void **state)
{
	(void)state;
	struct report_clock c = clock_of(30);

	make_final(BOOT, 5000, 0);
	assert_int_equal(shift_of(&c, NOW), 0);
	c = clock_of(-30);
	assert_int_equal(shift_of(&c, NOW), 0);
}

static void of_an_earlier_boot_is_what_was_before_this_one(void **state)
{
	(void)state;
	struct report_clock c = clock_of(0);

	make_final(EARLIER, UP / SEC + 5000, 0);
	r.started_boottime_ns = 77;
	assert_int_equal(shift_of(&c, NOW), 0);
	make_final(EARLIER, UP / SEC + 5000, -28 * 86400);
	assert_int_equal(shift_of(&c, NOW), 0);
	make_final(EARLIER, UP / SEC + 5000, 30 * 86400);
	ingest_place_move(&r, shift_of(&c, NOW));
	assert_near(r.ended_ns, NOW - UP, 1);
	assert_true(r.ended_ns <= NOW - UP);
	assert_int_equal(r.ended_ns - r.started_ns, 300 * SEC);
}

static void without_clocks_what_is_ahead_by_hours_is_now(void **state)
{
	(void)state;
	make_final(BOOT, 400, 3600);
	assert_int_equal(shift_of(NULL, NOW), 0);
	make_final(BOOT, 400, 10800);
	ingest_place_move(&r, shift_of(NULL, NOW));
	assert_near(r.ended_ns, NOW, 1);
	make_final(BOOT, 400, -29 * 86400);
	assert_int_equal(shift_of(NULL, NOW), 0);
}

/* As near to what it says as is kept, and never after its boot. */
static void what_seems_too_old_is_at_the_edge_of_what_is_kept(void **state)
{
	(void)state;
	struct report_clock c = clock_of(0);
	struct ingest_place at = {.clock = &c, .now_ns = NOW, .oldest_ns = NOW - KEPT};

	make_final(EARLIER, UP / SEC + 5000, -30 * 86400);
	struct ingest_placed p = ingest_place_find(&r, &at, NULL);
	assert_true(p.judged && !p.move);
	ingest_place_move(&r, p.shift_ms);
	assert_near(r.started_ns, NOW - KEPT + INGEST_EDGE_NS, 1);
	/* its boot was over before */
	make_final(EARLIER, 40 * 86400, 0);
	c.boottime_ns = KEPT + 86400 * SEC;
	p = ingest_place_find(&r, &at, NULL);
	ingest_place_move(&r, p.shift_ms);
	assert_true(r.ended_ns <= NOW - c.boottime_ns);
}

static void what_lies_after_its_boot_moves_its_instance_back_by_hours(void **state)
{
	(void)state;
	struct report_clock c = clock_of(0);
	struct ingest_place at = {.clock = &c, .now_ns = NOW, .oldest_ns = NOW - KEPT};
	const int64_t hour = 3600000;

	for (int64_t ms = -90 * 86400000ll; ms <= 90 * 86400000ll; ms += 12345678) {
		struct known_place known = {.shift_ms = ms, .flagged = true};
		make_final(EARLIER, UP / SEC + 5000, 0);
		struct ingest_placed p = ingest_place_find(&r, &at, &known);
		assert_int_equal((p.shift_ms - ms) % hour, 0);
		assert_true(p.move == p.judged && p.move == (p.shift_ms != ms));
		assert_true(p.shift_ms <= ms);
		ingest_place_move(&r, p.shift_ms);
		assert_true(r.ended_ns <= NOW - UP + INGEST_CLOCKS_AGREE_NS);
		/* and there it stays */
		known.shift_ms = p.shift_ms;
		make_final(EARLIER, UP / SEC + 5000, 0);
		assert_false(ingest_place_find(&r, &at, &known).move);
	}
}

static void whose_age_is_known_moves_to_where_it_belongs_by_hours(void **state)
{
	(void)state;
	struct report_clock c = clock_of(0);
	struct ingest_place at = {
		.clock = &c, .now_ns = NOW, .oldest_ns = NOW - KEPT, .sure = true};
	const int64_t hour = 3600000;

	for (int64_t ms = -90 * 86400000ll; ms <= 90 * 86400000ll; ms += 1234567) {
		struct known_place known = {.shift_ms = ms};
		make_final(BOOT, 5000, 0);
		struct ingest_placed p = ingest_place_find(&r, &at, &known);
		assert_int_equal((p.shift_ms - ms) % hour, 0);
		assert_true(llabs(p.shift_ms) <=
			    (int64_t)(INGEST_ANEW_NS / NSEC_PER_MSEC));
		known.shift_ms = p.shift_ms;
		assert_false(ingest_place_find(&r, &at, &known).move);
		/* not flagged any more */
		known.flagged = true;
		assert_true(ingest_place_find(&r, &at, &known).move);
	}
}

/* A clock that nobody confirms moves nothing but what it would have to refuse, and for
 * that the push waits. */
static void an_unsure_clock_moves_nothing_that_can_stay(void **state)
{
	(void)state;
	struct report_clock c = clock_of(0);
	struct ingest_place at = {.clock = &c, .now_ns = NOW, .oldest_ns = NOW - KEPT};
	struct known_place known = {.shift_ms = -5 * 3600000};

	make_final(BOOT, 5000, 0);
	struct ingest_placed p = ingest_place_find(&r, &at, &known);
	assert_true(p.shift_ms == known.shift_ms && !p.move && !p.judged);
	known.shift_ms = 5 * 3600000;
	p = ingest_place_find(&r, &at, &known);
	assert_true(p.shift_ms == 0 && p.move && p.judged);
}

static void clocks_that_lie_make_no_nonsense(void **state)
{
	(void)state;
	static const uint64_t odd[] = {1, SEC, NOW, INT64_MAX, INT64_MAX / 2};
	struct report_clock c = clock_of(0);

	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < 5; k++) {
			for (size_t n = 0; n < 5; n++) {
				make_final(BOOT, 5000, 0);
				c.boottime_ns = odd[i];
				c.realtime_ns = odd[k];
				r.started_boottime_ns = odd[n];
				ingest_place_move(&r, shift_of(&c, NOW));
				assert_true(r.started_ns > 0);
				assert_true(r.started_ns < NOW + 7200 * SEC);
				assert_true(r.ended_ns >= r.started_ns);
			}
		}
	}
	ingest_place_move(&r, INT64_MIN);
	ingest_place_move(&r, INT64_MAX);
	assert_true(r.started_ns < NOW + 7200 * SEC);
}

/* A node without a battery: 1970 until NTP has spoken, and then the next boot. */
static void a_clock_that_was_never_set_loses_nothing(void **state)
{
	(void)state;
	struct report_clock c = clock_of(0);

	make_final(EARLIER, 0, 0);
	ingest_place_move(&r, 60000 - (int64_t)(NOW / NSEC_PER_MSEC));
	ingest_place_move(&r, shift_of(&c, NOW));
	assert_near(r.ended_ns, NOW - UP, 1);
	assert_int_equal(r.ended_ns - r.started_ns, 300 * SEC);
	make_final("", 0, 0);
	r.started_boottime_ns = 0;
	ingest_place_move(&r, 60000 - (int64_t)(NOW / NSEC_PER_MSEC));
	ingest_place_move(&r, shift_of(NULL, NOW));
	assert_near(r.ended_ns, NOW, 1);
}

static void times_that_only_a_wall_clock_knows_are_flagged(void **state)
{
	(void)state;
	struct report_clock c = clock_of(0);

	make_final(BOOT, 5000, 86400);
	assert_int_equal(over_of(&c), 0);
	make_final(EARLIER, 400000, 0);
	assert_near(over_of(&c), NOW - UP, 1);
	make_final(EARLIER, 400000, 86400 * 30);
	assert_near(over_of(&c), NOW - UP, 1);
	/* an older release: what is not moved is believed */
	make_final("", 400000, 0);
	r.started_boottime_ns = 0;
	assert_int_equal(over_of(NULL), 0);
	ingest_place_move(&r, 86400 * 30 * 1000ll);
	assert_near(over_of(NULL), NOW, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_of_this_boot_is_where_its_age_says),
		cmocka_unit_test(a_right_clock_is_believed_whatever_the_push_took),
		cmocka_unit_test(
			a_sender_half_a_minute_off_moves_nothing_that_is_right),
		cmocka_unit_test(of_an_earlier_boot_is_what_was_before_this_one),
		cmocka_unit_test(without_clocks_what_is_ahead_by_hours_is_now),
		cmocka_unit_test(a_clock_that_was_never_set_loses_nothing),
		cmocka_unit_test(times_that_only_a_wall_clock_knows_are_flagged),
		cmocka_unit_test(what_seems_too_old_is_at_the_edge_of_what_is_kept),
		cmocka_unit_test(
			what_lies_after_its_boot_moves_its_instance_back_by_hours),
		cmocka_unit_test(whose_age_is_known_moves_to_where_it_belongs_by_hours),
		cmocka_unit_test(an_unsure_clock_moves_nothing_that_can_stay),
		cmocka_unit_test(clocks_that_lie_make_no_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
