/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of what is reported, by chance and when killed at every instruction. */
#include "test/unit/reporter_fixture.h"

/* xorshift64* */
static uint64_t seed = 20261122;
static uint64_t below(uint64_t n)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 2685821657736338717ull % n;
}

static void sums_hold_whatever_happens(void **state)
{
	uint64_t cpu_ns = 0;
	(void)state;
	for (int life = 0; life < 60; life++) {
		begin(16);
		energy_on();
		start_ok("7", RECORD_STEP_EXTERN);
		start_ok("7", 0);
		uint64_t instance = unit_report(u, 0)->instance;
		cpu_ns = 0;
		uint64_t seconds = 1 + below(2000);
		for (uint64_t s = 0; s < seconds; s++, now += SEC) {
			cpu_ns += below(4 * SEC);
			reading(steps_find(u, 0, 0), cpu_ns, 0);
			if (below(3))
				tick(below(100000));
			work_most(below(4) ? UINT32_MAX : 0);
			if (below(40) == 0) { /* killed, perhaps in the middle */
				if (below(2)) {
					reporter_round(reporter, now);
					reporter_gather(reporter, &batch, now);
					for (uint32_t i = 0; i < below(3); i++)
						if (i < batch.count)
							keep(&batch.items[i]);
				}
				now += below(30) * SEC;
				restart();
			}
		}
		stop_ok("7", 0, cpu_ns + 77, 0);
		stop_ok("7", RECORD_STEP_EXTERN, 0, 0);
		now += SEC;
		tick(4321);
		work();
		work_until(now + 60 * SEC);
		assert_int_equal(last(REPORT_FINAL)->cpu_ns, cpu_ns + 77);
		assert_int_equal(last(REPORT_FINAL)->uj,
				 unit_energy(u, 0)->account.settled_uj[ENERGY_PACKAGE]);
		assert_adds_up(instance);
	}
}

/* ---- killed at every instruction ------------------------------------------------- */

static void one_window_told(struct units *t)
{
	struct record a = rec(RECORD_STEP_START, "7", 0);

	now = T0;
	a.boottime_ns = a.realtime_ns = now;
	(void)units_apply(t, &a, 1, now, now, NULL);
	struct unit_totals some = {.cpu_user_ns = 10};
	units_step_reading(t, 0, &some);
	unit_report_close(t, 0, T0 + SEC, T0 + SEC);
	unit_report_move_on(t, 0);
	some.cpu_user_ns = 30;
	units_step_reading(t, 0, &some);
}

static void tell_some_more(struct units *t)
{
	struct unit_totals some = {.cpu_user_ns = 30};

	for (uint64_t k = 2; k < 10; k++) {
		unit_report_close(t, 0, T0 + k * SEC, T0 + k * SEC);
		unit_report_move_on(t, 0);
		some.cpu_user_ns += 20;
		units_step_reading(t, 0, &some);
	}
}

static void is_between_two_windows(unsigned steps)
{
	const struct unit_report *ur = unit_report(u, 0);
	bool pending = ur->marks & REPORT_PENDING;
	(void)steps;

	uint64_t k = (ur->t0_ns - T0) / SEC;
	assert_in_range(k, 1, 9);
	assert_int_equal(ur->told.cpu_user_ns, 20 * k - 10);
	if (!pending)
		return;
	assert_int_equal(ur->t1_ns, T0 + (k + 1) * SEC);
	assert_int_equal(ur->next.cpu_user_ns, 20 * k + 10);
}

static void killed_at_any_instruction_a_window_is_whole(void **state)
{
	(void)state;
	reporter_free(reporter);
	reporter = NULL;
	if (!die_everywhere(one_window_told, tell_some_more, is_between_two_windows))
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_hold_whatever_happens),
		cmocka_unit_test(killed_at_any_instruction_a_window_is_whole),
	};
	return cmocka_run_group_tests_name("reporter_sums", tests, setup, end_reporter);
}
