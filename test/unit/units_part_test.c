/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a step, as the containers of a pod: they are known, and change nothing. */
#include "daemon/units_energy.h"
#include "daemon/units_report.h"
#include "test/unit/units_fixture.h"

#define POD 77u /* the step that counts all */

static struct record make_part(uint32_t step, const char *name, uint64_t user)
{
	struct record r = stop("pod", step, user, 0, true);

	r.flags |= RECORD_PART;
	r.began_ns = now - 3 * SEC;
	record_set(&r, r.command, sizeof(r.command), name);
	return r;
}

static void part_ok(uint32_t step, const char *name, uint64_t user)
{
	struct record r = make_part(step, name, user);

	assert_int_equal(apply(&r), 0);
}

static uint32_t step_of(uint32_t step)
{
	return steps_find(u, units_find(u, MANAGER_SLURM, NODE, "pod", 0), step);
}

static void parts_do_not_add_up(void **state)
{
	(void)state;
	fresh(64);
	start_ok("pod", POD);
	now += 10 * SEC;
	part_ok(1, "init", 30);
	part_ok(2, "main", 60);
	assert_int_equal(total_of("pod").cpu_user_ns, 0);
	stop_ok("pod", POD, 100, 0);
	assert_int_equal(total_of("pod").cpu_user_ns, 100);
	assert_int_equal(node().units.cpu_user_ns, 100);
	assert_int_equal(unit_of("pod", 0)->steps_started, 1);
	assert_int_equal(node().steps_ended, 1);

	now += 3600 * SEC; /* all leaves the table */
	units_expire(u, now, &policy);
	assert_null(unit_of("pod", 0));
	assert_int_equal(node().units.cpu_user_ns, 100);
}

static void a_part_has_its_name_times_and_counters(void **state)
{
	(void)state;
	fresh(64);
	start_ok("pod", POD);
	now += 10 * SEC;
	struct record r = make_part(5, "main", 60);
	r.counters.has_memory = true;
	r.counters.memory_peak_bytes = 4096;
	r.exit_status = 3 << 8;
	assert_int_equal(apply(&r), 0);
	reopen(); /* as a daemon that was killed */
	const struct step *s = steps_get(u, step_of(5));
	assert_int_equal(s->state, UNIT_ENDED);
	assert_int_equal(s->started_boottime_ns, now - 3 * SEC);
	assert_int_equal(s->ended_boottime_ns, now);
	assert_int_equal(s->totals.cpu_user_ns, 60);
	assert_int_equal(s->totals.memory_peak_bytes, 4096);
	assert_int_equal(s->exit_status, 3 << 8);
	assert_string_equal(steps_name(u, step_of(5))->command, "main");
	assert_string_equal(steps_name(u, step_of(5))->label, "");
}

static void the_end_of_a_part_is_not_that_of_its_unit(void **state)
{
	(void)state;
	fresh(64);
	start_ok("pod", POD);
	now += 10 * SEC;
	struct record r = make_part(1, "main", 60);
	r.exit_status = 1 << 8; /* it is started again */
	assert_int_equal(apply(&r), 0);
	r = make_part(2, "side", 0);
	r.counters.source = COUNTERS_NONE;
	assert_int_equal(apply(&r), 0);
	assert_int_equal(unit_of("pod", 0)->state, UNIT_RUNNING);
	assert_int_equal(steps_get(u, step_of(2))->lost, STEP_LOST);
	stop_ok("pod", POD, 100, 0);
	assert_int_equal(unit_of("pod", 0)->end, UNIT_END_COMPLETED);
}

static void a_part_comes_once_and_only_to_a_unit_that_is_there(void **state)
{
	(void)state;
	fresh(64);
	part_ok(1, "main", 60);
	assert_null(unit_of("pod", 0));
	start_ok("pod", POD);
	part_ok(1, "main", 60);
	part_ok(1, "main", 90);
	assert_int_equal(steps_used(u), 2);
	assert_int_equal(steps_get(u, step_of(1))->totals.cpu_user_ns, 60);
	assert_int_equal(node().stops_late, 2);
}

static void a_part_that_comes_late_is_in_a_further_report(void **state)
{
	(void)state;
	fresh(64);
	start_ok("pod", POD);
	now += 10 * SEC;
	stop_ok("pod", POD, 100, 0);
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, "pod", 0);
	unit_report_mark(u, i, REPORT_FINISHED, 0);
	part_ok(1, "main", 60);
	assert_int_equal(unit_of("pod", 0)->state, UNIT_ENDED);
	assert_int_equal(unit_report(u, i)->marks & REPORT_FINISHED, 0);
}

static void no_room_for_a_part_loses_only_the_part(void **state)
{
	(void)state;
	fresh(1); /* four steps */
	for (uint32_t s = 1; s <= 4; s++)
		start_ok("pod", s);
	struct record r = make_part(5, "main", 60);
	assert_int_equal(apply(&r), -ENOSPC);
	assert_int_equal(total_of("pod").cpu_user_ns, 0);
	assert_int_equal(node().refused, 1);
}

static int begin_part(uint32_t step, const char *name)
{
	struct record r = rec(RECORD_PART_START, "pod", step);

	r.flags |= RECORD_PART;
	record_set(&r, r.command, sizeof(r.command), name);
	assert_true(record_add_cgroup(&r, CGROUP_UNIFIED, "/kubepods/podx/c"));
	return apply(&r);
}

static void a_part_that_runs_is_in_the_table_and_counts_nothing(void **state)
{
	(void)state;
	fresh(64);
	start_ok("pod", POD);
	assert_int_equal(begin_part(1, "main"), 0);
	assert_int_equal(begin_part(1, "main"), 0); /* the adapter was restarted */
	assert_int_equal(steps_used(u), 2);
	reopen();
	const struct step *s = steps_get(u, step_of(1));
	assert_int_equal(s->state, UNIT_PART);
	assert_int_equal(s->cgroup_count, 1);
	assert_string_equal(steps_name(u, step_of(1))->command, "main");
	assert_int_equal(units_mended(u), 0);
	/* its group is not the one of a step: the kernel's word on it is about no step
	 */
	assert_int_equal(steps_find_path(u, "/kubepods/podx/c"), UNITS_NONE);
	assert_int_equal(steps_find_job_path(u, "/kubepods/podx"), UNITS_NONE);
	assert_int_equal(unit_of("pod", 0)->steps_running, 1);
	assert_int_equal(node().steps_started, 1);
	stop_ok("pod", POD, 100, 0);
	assert_int_equal(unit_of("pod", 0)->state, UNIT_ENDED);
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, "pod", 0);
	assert_true(unit_report_settled(u, i, now + 20 * SEC));
	now += 3600 * SEC; /* it leaves with its unit */
	units_expire(u, now, &policy);
	assert_int_equal(steps_used(u), 0);
	assert_int_equal(node().units.cpu_user_ns, 100);
}

static void the_end_of_a_part_that_ran_has_its_counters(void **state)
{
	(void)state;
	fresh(64);
	start_ok("pod", POD);
	assert_int_equal(begin_part(1, "main"), 0);
	uint64_t began = now;
	now += 10 * SEC;
	struct record r = make_part(1, "main", 60);
	r.exit_status = 3 << 8;
	assert_int_equal(apply(&r), 0);
	const struct step *s = steps_get(u, step_of(1));
	assert_int_equal(s->state, UNIT_ENDED);
	assert_int_equal(s->lost, STEP_NOT_LOST);
	assert_int_equal(s->cgroup_count, 0);
	assert_int_equal(s->started_boottime_ns,
			 began); /* not what a later one found */
	assert_int_equal(s->ended_boottime_ns, now);
	assert_int_equal(s->totals.cpu_user_ns, 60);
	/* energy is not divided among parts: nothing of it waits to be charged */
	assert_int_equal(step_energy(u, step_of(1))->charged_cpu_ns, 60);
	assert_int_equal(begin_part(1, "main"), 0); /* too late */
	assert_int_equal(steps_get(u, step_of(1))->state, UNIT_ENDED);
	assert_int_equal(total_of("pod").cpu_user_ns, 0);
	assert_int_equal(unit_of("pod", 0)->steps_running, 1);
}

static void a_part_whose_end_nobody_told_is_lost_when_it_starts_again(void **state)
{
	(void)state;
	fresh(64);
	start_ok("pod", POD);
	assert_int_equal(begin_part(1, "main"), 0);
	assert_int_equal(begin_part(2, "side"), 0);
	now += 10 * SEC;
	for (uint32_t k = 3; k < 100; k++) { /* the adapter misses each end */
		assert_int_equal(begin_part(k, "main"), 0);
		now += SEC;
	}
	assert_int_equal(steps_get(u, step_of(98))->state, UNIT_ENDED);
	assert_int_equal(steps_get(u, step_of(98))->lost, STEP_LOST);
	assert_int_equal(steps_get(u, step_of(99))->state, UNIT_PART);
	assert_int_equal(steps_get(u, step_of(2))->state, UNIT_PART);
	now += 3600 * SEC;
	units_expire(u, now, &policy); /* lost ones leave */
	assert_int_equal(steps_used(u), 3);
	assert_int_equal(begin_part(1, "nobody"), 0);
	struct record r = rec(RECORD_PART_START, "other", 1);
	assert_int_equal(apply(&r), 0);
	assert_null(unit_of("other", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_do_not_add_up),
		cmocka_unit_test(a_part_has_its_name_times_and_counters),
		cmocka_unit_test(the_end_of_a_part_is_not_that_of_its_unit),
		cmocka_unit_test(a_part_comes_once_and_only_to_a_unit_that_is_there),
		cmocka_unit_test(a_part_that_comes_late_is_in_a_further_report),
		cmocka_unit_test(no_room_for_a_part_loses_only_the_part),
		cmocka_unit_test(a_part_that_runs_is_in_the_table_and_counts_nothing),
		cmocka_unit_test(the_end_of_a_part_that_ran_has_its_counters),
		cmocka_unit_test(
			a_part_whose_end_nobody_told_is_lost_when_it_starts_again),
	};
	return cmocka_run_group_tests_name("units_part", tests, setup, teardown);
}
