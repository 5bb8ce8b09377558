/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a step, as the containers of a pod: they are known, and change nothing. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_do_not_add_up),
		cmocka_unit_test(a_part_has_its_name_times_and_counters),
		cmocka_unit_test(the_end_of_a_part_is_not_that_of_its_unit),
		cmocka_unit_test(a_part_comes_once_and_only_to_a_unit_that_is_there),
		cmocka_unit_test(a_part_that_comes_late_is_in_a_further_report),
		cmocka_unit_test(no_room_for_a_part_loses_only_the_part),
	};
	return cmocka_run_group_tests_name("units_part", tests, setup, teardown);
}
