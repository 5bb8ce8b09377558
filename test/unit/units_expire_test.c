/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/units_expire.h"

#include <errno.h>

#include "test/unit/units_fixture.h"

int __real_posix_fallocate(int fd, off_t off, off_t len);
int __wrap_posix_fallocate(int fd, off_t off, off_t len);
static int fallocate_errno;

int __wrap_posix_fallocate(int fd, off_t off, off_t len)
{
	return fallocate_errno ? fallocate_errno : __real_posix_fallocate(fd, off, len);
}

static void an_ended_unit_lingers_then_counts_in_the_node(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", RECORD_STEP_EXTERN);
	stop_ok("7", RECORD_STEP_EXTERN, 10, 1);
	now += 59 * SEC;
	units_expire(u, now, &policy);
	assert_non_null(unit_of("7", 0));
	now += 2 * SEC;
	units_expire(u, now, &policy);
	assert_null(unit_of("7", 0));
	assert_int_equal(unit_serial(u, 0), 0); /* what is kept of it is nobody's */
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns, 10);
	assert_int_equal(n.short_units, 0);
}

static void linger_counts_from_when_the_daemon_learnt_of_the_end(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", RECORD_STEP_EXTERN);
	struct record r = stop("7", RECORD_STEP_EXTERN, 10, 1, true);
	now += 600 * SEC; /* it was down for ten minutes */
	assert_int_equal(apply(&r), 0);
	now += 30 * SEC;
	units_expire(u, now, &policy);
	assert_non_null(unit_of("7", 0));
	assert_int_equal(unit_of("7", 0)->ended_boottime_ns, T0);
}

static void units_below_min_export_are_only_summed(void **state)
{
	(void)state;
	fresh(64);
	struct units_policy min = {60000, 30000, 2000};
	start_ok("7", RECORD_STEP_EXTERN);
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, "7", 0);
	assert_false(units_exported(u, i, now + 29 * SEC, &min));
	assert_true(units_exported(u, i, now + 30 * SEC, &min));
	now += 20 * SEC;
	stop_ok("7", RECORD_STEP_EXTERN, 10, 1);
	units_expire(u, now, &min);
	assert_null(unit_of("7", 0));
	struct node_totals n = node();
	assert_int_equal(n.short_units, 1);
	assert_int_equal(n.short_totals.cpu_user_ns, 10);
	assert_int_equal(n.units.cpu_user_ns, 10);
	/* without the last stop it waits, unseen, for the rest */
	start_ok("8", 0);
	struct record r = stop("8", 0, 5, 0, false);
	assert_int_equal(apply(&r), 0);
	now += 15 * SEC;
	units_expire(u, now, &min);
	assert_non_null(unit_of("8", 0));
	assert_false(units_exported(u, units_find(u, MANAGER_SLURM, NODE, "8", 0), now,
				    &min));
	stop_ok("8", 0, 6, 0);
	units_expire(u, now, &min);
	assert_null(unit_of("8", 0));
	assert_int_equal(node().short_totals.cpu_user_ns, 16);
}

static void more_units_than_max_exported_fold_the_oldest_ended(void **state)
{
	(void)state;
	fresh(64);
	struct units_policy few = {60000, 0, 5};
	char id[16];
	start_ok("run", RECORD_STEP_EXTERN);
	for (int i = 0; i < 10; i++) {
		snprintf(id, sizeof(id), "%d", i);
		stop_ok(id, 0, 1, 0);
	}
	units_expire(u, now, &few);
	assert_int_equal(units_used(u), 5);
	assert_non_null(unit_of("run", 0));
	assert_null(unit_of("5", 0));
	assert_non_null(unit_of("6", 0));
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns, 10);
	assert_int_equal(n.short_units, 6);
}

static void ended_steps_fold_into_their_running_unit(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", RECORD_STEP_EXTERN);
	for (uint32_t s = 0; s < 20; s++) {
		start_ok("7", s);
		stop_ok("7", s, 10, 1);
	}
	assert_int_equal(steps_used(u), 21);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	assert_int_equal(steps_used(u), 1);
	assert_int_equal(total_of("7").cpu_user_ns, 200);
	assert_int_equal(node().units.cpu_system_ns, 20);
}

static void a_full_table_folds_ended_units_first(void **state)
{
	(void)state;
	fresh(16);
	char id[16];
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "%d", i);
		start_ok(id, 0);
		stop_ok(id, 0, 1, 0);
	}
	assert_int_equal(units_used(u), 16);
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns, 100);
	assert_int_equal(n.started, 100);
	assert_int_equal(n.refused, 0);
}

static void a_table_full_of_running_units_loses_no_counter(void **state)
{
	(void)state;
	fresh(16);
	char id[16];
	for (int i = 0; i < 16; i++) {
		snprintf(id, sizeof(id), "%d", i);
		start_ok(id, 0);
	}
	struct record r = rec(RECORD_STEP_START, "late", 0);
	assert_int_equal(apply(&r), -ENOSPC);
	r = stop("late", 0, 70, 7, false);
	assert_int_equal(apply(&r), -ENOSPC);
	r = stop("late", 0, 75, 7, true); /* and only the growth of the second */
	assert_int_equal(apply(&r), 0);
	assert_int_equal(node().units.cpu_user_ns, 75);
	assert_int_equal(node().units.cpu_system_ns, 7);
	assert_int_equal(node().refused, 2);
}

/* Fewer of them than a unit may have steps: four to a unit */
static void fill_with_running_steps(void)
{
	fresh(1);
	start_ok("7", RECORD_STEP_EXTERN);
	for (uint32_t step = 0; step < 3; step++)
		start_ok("7", step);
}

static void a_step_without_room_counts_with_its_unit(void **state)
{
	struct err err;

	(void)state;
	fill_with_running_steps();
	struct record r = rec(RECORD_STEP_START, "7", 3);
	assert_int_equal(units_apply(u, &r, ++pos, now, now, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "--unit.capacity"));
	r = stop("7", 3, 70, 7, false);
	assert_int_equal(apply(&r), -ENOSPC);
	r = stop("7", 3, 75, 7, true); /* and only the growth of the second */
	assert_int_equal(apply(&r), 0);
	assert_int_equal(total_of("7").cpu_user_ns, 75);
	assert_int_equal(unit_of("7", 0)->state, UNIT_RUNNING);
	assert_int_equal(unit_of("7", 0)->steps_started, 5);
	reopen();
	assert_int_equal(total_of("7").cpu_user_ns, 75);
	for (uint32_t step = 0; step < 3; step++)
		stop_ok("7", step, 1, 0);
	stop_ok("7", RECORD_STEP_EXTERN, 1, 0);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns, 79);
	assert_int_equal(n.steps_started, n.steps_ended);
	assert_int_equal(n.ended[UNIT_END_COMPLETED], 1);
}

static void a_step_refused_at_its_first_stop_is_not_found_before_its_last(void **state)
{
	struct err err;

	(void)state;
	fill_with_running_steps();
	struct record r = stop("7", 3, 70, 7, false);
	assert_int_equal(apply(&r), -ENOSPC);
	/* there is room again, and a walk sees the step's control group */
	stop_ok("7", 0, 1, 0);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	r = rec(RECORD_STEP_START, "7", 3);
	r.stepd_pid = 0;
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, &err), -EEXIST);
	assert_int_equal(total_of("7").cpu_user_ns, 71);
	reopen();
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, &err), -EEXIST);
	stop_ok("7", 3, 75, 7);
	assert_int_equal(total_of("7").cpu_user_ns, 76);
	/* its group is there for a moment more */
	now += SEC;
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, &err), -EEXIST);
	/* the same step of the requeued job, whose start was lost, is found */
	stop_ok("7", 1, 1, 0);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	reopen();
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, &err), 0);
	/* other steps are found */
	r.step = 4;
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, &err), 0);
}

static void a_full_file_system_is_not_called_a_full_table(void **state)
{
	struct err err;

	(void)state;
	fresh(64);
	fallocate_errno = ENOSPC;
	struct record r = rec(RECORD_STEP_START, "7", 0);
	int rc = units_apply(u, &r, ++pos, now, now, &err);
	fallocate_errno = 0;
	assert_int_equal(rc, -ENOSPC);
	assert_non_null(strstr(err.text, "--path.rundir"));
	assert_null(strstr(err.text, "--unit.capacity"));
	assert_null(unit_of("7", 0));
	/* there is room again: its stop makes it */
	stop_ok("7", 0, 5, 1);
	assert_int_equal(total_of("7").cpu_user_ns, 5);
	assert_int_equal(node().refused, 1);
}

static void a_second_stop_after_folding_counts_only_its_growth(void **state)
{
	(void)state;
	fresh(16);
	struct record r = stop("7", 0, 100, 10, false);
	assert_int_equal(apply(&r), 0);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	assert_null(unit_of("7", 0));
	reopen();
	r = stop("7", 0, 101, 12, true);
	assert_int_equal(apply(&r), 0);
	assert_null(unit_of("7", 0));
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns, 101);
	assert_int_equal(n.units.cpu_system_ns, 12);
	assert_int_equal(n.started, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ended_unit_lingers_then_counts_in_the_node),
		cmocka_unit_test(linger_counts_from_when_the_daemon_learnt_of_the_end),
		cmocka_unit_test(units_below_min_export_are_only_summed),
		cmocka_unit_test(more_units_than_max_exported_fold_the_oldest_ended),
		cmocka_unit_test(ended_steps_fold_into_their_running_unit),
		cmocka_unit_test(a_full_table_folds_ended_units_first),
		cmocka_unit_test(a_table_full_of_running_units_loses_no_counter),
		cmocka_unit_test(a_step_without_room_counts_with_its_unit),
		cmocka_unit_test(
			a_step_refused_at_its_first_stop_is_not_found_before_its_last),
		cmocka_unit_test(a_full_file_system_is_not_called_a_full_table),
		cmocka_unit_test(a_second_stop_after_folding_counts_only_its_growth),
	};
	return cmocka_run_group_tests_name("units_expire", tests, setup, teardown);
}
