/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/units.h"

#include <errno.h>

#include "test/unit/units_fixture.h"

/* ---- records --------------------------------------------------------------------- */

static void a_unit_is_the_sum_of_its_steps_and_the_node_of_its_units(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	start_ok("8", RECORD_STEP_BATCH);
	stop_ok("7", 0, 100, 10);
	start_ok("7", 1);
	stop_ok("7", 1, 20, 2);
	stop_ok("8", RECORD_STEP_BATCH, 1000, 0);
	struct unit_totals t = total_of("7");
	assert_int_equal(t.cpu_user_ns, 120);
	assert_int_equal(t.cpu_system_ns, 12);
	assert_int_equal(unit_of("7", 0)->state, UNIT_RUNNING);
	stop_ok("7", RECORD_STEP_EXTERN, 1, 0);
	assert_int_equal(unit_of("7", 0)->state, UNIT_ENDED);
	assert_int_equal(unit_of("7", 0)->end, UNIT_END_COMPLETED);
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns, 1121);
	assert_int_equal(n.started, 2);
	assert_int_equal(n.steps_started, 4);
	assert_int_equal(n.steps_ended, 4);
	assert_int_equal(n.records, 8);
}

static void a_second_stop_counts_only_its_growth(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", 0);
	struct record r = stop("7", 0, 100, 10, false);
	assert_int_equal(apply(&r), 0);
	r = stop("7", 0, 130, 12, true);
	assert_int_equal(apply(&r), 0);
	r = stop("7", 0, 90, 9, true); /* smaller: an rusage fallback */
	assert_int_equal(apply(&r), 0);
	assert_int_equal(total_of("7").cpu_user_ns, 130);
	assert_int_equal(total_of("7").cpu_system_ns, 12);
	assert_int_equal(node().steps_ended, 1);
}

static void user_and_system_never_add_up_to_more_than_was_used(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", 0);
	uint32_t s = steps_find(u, units_find(u, MANAGER_SLURM, NODE, "7", 0), 0);
	/* v1 splits 100, then 105, by a ratio that moved towards system */
	reading(s, 60, 40);
	reading(s, 55, 50);
	struct unit_totals t = total_of("7");
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 105);
	assert_true(t.cpu_user_ns >= 60 && t.cpu_system_ns >= 40);
	stop_ok("7", 0, 100, 10);
	t = total_of("7");
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 110);
}

static void a_stop_without_a_start_makes_both(void **state)
{
	(void)state;
	fresh(64);
	stop_ok("9", 3, 5, 5);
	assert_int_equal(total_of("9").cpu_user_ns, 5);
	assert_int_equal(unit_of("9", 0)->state, UNIT_ENDED);
	struct node_totals n = node();
	assert_int_equal(n.started, 1);
	assert_int_equal(n.steps_started, 1);
	assert_int_equal(n.steps_ended, 1);
	assert_int_equal(n.stops_late, 1);
}

static void counters_go_on_over_three_sruns_of_one_salloc(void **state)
{
	(void)state;
	fresh(64);
	uint64_t before = 0;
	for (uint32_t step = 0; step < 3; step++) {
		start_ok("7", step);
		assert_int_equal(unit_of("7", 0)->state, UNIT_RUNNING);
		assert_true(total_of("7").cpu_user_ns >= before);
		stop_ok("7", step, 100, 0);
		assert_int_equal(unit_of("7", 0)->state, UNIT_ENDED);
		before = total_of("7").cpu_user_ns;
		now += 5 * SEC;
		units_expire(u, now, &policy);
	}
	assert_int_equal(before, 300);
	struct node_totals n = node();
	assert_int_equal(n.started, 1);
	assert_int_equal(ended(&n), 0);
	now += 10 * SEC;
	units_expire(u, now, &policy);
	n = node();
	assert_int_equal(n.ended[UNIT_END_COMPLETED], 1);
}

static void a_unit_with_extern_step_ends_with_it(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	stop_ok("7", 0, 1, 1);
	now += 1000 * SEC;
	units_expire(u, now, &policy);
	assert_int_equal(unit_of("7", 0)->state, UNIT_RUNNING);
	stop_ok("7", RECORD_STEP_EXTERN, 1, 1);
	struct node_totals n = node();
	assert_int_equal(n.ended[UNIT_END_COMPLETED], 1);
	assert_int_equal(unit_of("7", 0)->ended_boottime_ns, now);
}

static void unit_start_holds_a_unit_until_unit_stop(void **state)
{
	(void)state;
	fresh(64);
	struct record r = rec(RECORD_UNIT_START, "7", 0);
	assert_int_equal(apply(&r), 0);
	start_ok("7", 0);
	stop_ok("7", 0, 1, 1);
	assert_int_equal(unit_of("7", 0)->state, UNIT_RUNNING);
	r = rec(RECORD_UNIT_STOP, "7", 0);
	assert_int_equal(apply(&r), 0);
	assert_int_equal(unit_of("7", 0)->state, UNIT_ENDED);
	r = rec(RECORD_UNIT_STOP, "nobody", 0);
	assert_int_equal(apply(&r), 0);
	assert_null(unit_of("nobody", 0));
}

static void a_dropped_unit_stop_does_not_hold_a_unit_for_ever(void **state)
{
	(void)state;
	fresh(64);
	struct record r = rec(RECORD_UNIT_START, "7", 0);
	assert_int_equal(apply(&r), 0);
	start_ok("7", 0);
	units_drop_anchors(u, now, now);
	assert_int_equal(unit_of("7", 0)->state, UNIT_RUNNING);
	stop_ok("7", 0, 1, 1);
	units_drop_anchors(u, now, now);
	assert_int_equal(unit_of("7", 0)->state, UNIT_ENDED);
}

static void exit_statuses_become_the_units_end(void **state)
{
	(void)state;
	fresh(64);
	static const struct {
		const char *id;
		uint32_t status, step;
		uint64_t oom;
		enum unit_end end;
	} cases[] = {{"1", 0, 0, 0, UNIT_END_COMPLETED},
		     {"2", 0x100, 0, 0, UNIT_END_FAILED},
		     {"3", 15, 0, 0, UNIT_END_FAILED},
		     {"4", 9, 0, 1, UNIT_END_OOM},
		     {"5", 9, RECORD_STEP_EXTERN, 0, UNIT_END_COMPLETED}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start_ok(cases[i].id, cases[i].step);
		struct record r = stop(cases[i].id, cases[i].step, 1, 1, true);
		r.exit_status = cases[i].status;
		r.counters.oom_kills = cases[i].oom;
		assert_int_equal(apply(&r), 0);
		assert_int_equal(unit_of(cases[i].id, 0)->end, cases[i].end);
	}
	now += 100 * SEC;
	units_expire(u, now, &policy);
	struct node_totals n = node();
	assert_int_equal(n.ended[UNIT_END_COMPLETED], 2);
	assert_int_equal(n.ended[UNIT_END_FAILED], 2);
	assert_int_equal(n.ended[UNIT_END_OOM], 1);
	assert_int_equal(units_used(u), 0);
	assert_int_equal(steps_used(u), 0);
}

static void a_requeued_run_is_another_unit_and_ends_the_old_one(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", RECORD_STEP_BATCH);
	struct record r = rec(RECORD_STEP_START, "7", RECORD_STEP_BATCH);
	r.restarts = 1;
	assert_int_equal(apply(&r), 0);
	assert_int_equal(unit_of("7", 0)->state, UNIT_ENDED);
	assert_int_equal(unit_of("7", 0)->end, UNIT_END_LOST);
	assert_int_equal(unit_of("7", 1)->state, UNIT_RUNNING);
	/* a late stop of the first run still finds its own step */
	stop_ok("7", RECORD_STEP_BATCH, 50, 0);
	assert_int_equal(total_of("7").cpu_user_ns, 50);
	assert_int_equal(node().started, 2);
}

static struct record of_stepd(struct record r, uint32_t pid)
{
	r.stepd_pid = pid;
	return r;
}

static void a_step_id_that_begins_again_is_the_next_run_of_a_requeued_job(void **state)
{
	/* what Slurm 22.05 and 24.11 give: restart count 0 in every run */
	(void)state;
	fresh(64);
	struct record r = of_stepd(rec(RECORD_STEP_START, "7", RECORD_STEP_BATCH), 100);
	assert_int_equal(apply(&r), 0);
	r = of_stepd(rec(RECORD_STEP_START, "7", 0), 101);
	assert_int_equal(apply(&r), 0);
	r = of_stepd(stop("7", 0, 40, 0, true), 101);
	assert_int_equal(apply(&r), 0);
	r = of_stepd(stop("7", RECORD_STEP_BATCH, 300, 0, false), 100);
	assert_int_equal(apply(&r), 0);

	r = of_stepd(rec(RECORD_STEP_START, "7", RECORD_STEP_BATCH), 200);
	assert_int_equal(apply(&r), 0);
	assert_int_equal(unit_of("7", 0)->state, UNIT_ENDED);
	assert_int_equal(unit_of("7", 1)->state, UNIT_RUNNING);
	/* the first run's second stop comes late, the second run's start was dropped */
	r = of_stepd(stop("7", RECORD_STEP_BATCH, 310, 0, true), 100);
	assert_int_equal(apply(&r), 0);
	r = of_stepd(stop("7", 0, 50, 0, true), 201);
	assert_int_equal(apply(&r), 0);
	r = of_stepd(stop("7", RECORD_STEP_BATCH, 60, 0, true), 200);
	assert_int_equal(apply(&r), 0);
	struct unit_totals t;
	unit_total(u, units_find(u, MANAGER_SLURM, NODE, "7", 0), &t);
	assert_int_equal(t.cpu_user_ns, 350);
	unit_total(u, units_find(u, MANAGER_SLURM, NODE, "7", 1), &t);
	assert_int_equal(t.cpu_user_ns, 110);
	assert_int_equal(units_used(u), 2);

	/* a third one; all of the first and second have only late news then */
	r = of_stepd(rec(RECORD_STEP_START, "7", RECORD_STEP_BATCH), 300);
	assert_int_equal(apply(&r), 0);
	r = of_stepd(stop("7", RECORD_STEP_BATCH, 60, 0, true), 200);
	assert_int_equal(apply(&r), 0);
	assert_int_equal(unit_of("7", 2)->state, UNIT_RUNNING);
	assert_int_equal(units_used(u), 3);
	assert_int_equal(node().units.cpu_user_ns, 460);
	assert_int_equal(node().started, 3);
}

static void runs_of_a_requeued_job_stay_apart_after_folding(void **state)
{
	(void)state;
	const struct units_policy at_once = {0, 60000, 1};
	fresh(64);
	struct record r = of_stepd(stop("7", RECORD_STEP_BATCH, 300, 0, false), 100);
	assert_int_equal(apply(&r), 0);
	start_ok("8", 0);
	now += SEC;
	units_expire(u, now, &at_once);
	assert_null(unit_of("7", 0));
	r = of_stepd(stop("7", RECORD_STEP_BATCH, 50, 0, false), 200);
	assert_int_equal(apply(&r), 0);
	units_expire(u, now, &at_once);
	assert_null(unit_of("7", 0));
	/* the second stop of each grows its own */
	r = of_stepd(stop("7", RECORD_STEP_BATCH, 51, 0, true), 200);
	assert_int_equal(apply(&r), 0);
	r = of_stepd(stop("7", RECORD_STEP_BATCH, 302, 0, true), 100);
	assert_int_equal(apply(&r), 0);
	assert_int_equal(node().units.cpu_user_ns, 353);
}

/* What Slurm 22.05.8 really sends for a job that was requeued: restart count 0 in all
 * records, and the same steps from other slurmstepds. */
static void from_stepd(enum record_type type, uint32_t step, uint32_t pid,
		       uint64_t user)
{
	struct record r = type == RECORD_STEP_STOP ? stop("7", step, user, 0, true)
						   : rec(type, "7", step);
	r.stepd_pid = pid;
	assert_int_equal(apply(&r), 0);
}

static void a_requeued_run_is_told_by_its_slurmstepd(void **state)
{
	(void)state;
	fresh(64);
	for (uint32_t run = 0; run < 3; run++) {
		uint32_t pid = 1000 + run * 10;
		from_stepd(RECORD_UNIT_START, RECORD_STEP_EXTERN, pid, 0);
		from_stepd(RECORD_STEP_START, RECORD_STEP_EXTERN, pid, 0);
		from_stepd(RECORD_STEP_START, RECORD_STEP_BATCH, pid + 1, 0);
		assert_int_equal(unit_of("7", run)->state, UNIT_RUNNING);
		from_stepd(RECORD_STEP_STOP, RECORD_STEP_BATCH, pid + 1, 100);
		from_stepd(RECORD_STEP_STOP, RECORD_STEP_EXTERN, pid, 0);
		from_stepd(RECORD_UNIT_STOP, RECORD_STEP_EXTERN, pid, 0);
		assert_int_equal(unit_of("7", run)->state, UNIT_ENDED);
	}
	/* a late stop finds the run that it is of */
	from_stepd(RECORD_STEP_STOP, RECORD_STEP_BATCH, 1011, 150);
	assert_int_equal(node().units.cpu_user_ns, 350);
	assert_int_equal(node().started, 3);
	assert_int_equal(node().steps_started, 6);
	uint32_t second = units_find(u, MANAGER_SLURM, NODE, "7", 1);
	struct unit_totals t;
	unit_total(u, second, &t);
	assert_int_equal(t.cpu_user_ns, 150);
	reopen();
	assert_int_equal(node().units.cpu_user_ns, 350);
}

static void prolog_and_epilog_bracket_each_run(void **state)
{
	(void)state;
	fresh(64);
	for (uint32_t run = 0; run < 2; run++) {
		from_stepd(RECORD_UNIT_START, 0, 0, 0);
		from_stepd(RECORD_STEP_START, RECORD_STEP_BATCH, 1000 + run, 0);
		from_stepd(RECORD_STEP_STOP, RECORD_STEP_BATCH, 1000 + run, 10);
		assert_int_equal(unit_of("7", run)->state, UNIT_RUNNING);
		from_stepd(RECORD_UNIT_STOP, 0, 0, 0);
		assert_int_equal(unit_of("7", run)->state, UNIT_ENDED);
	}
	assert_int_equal(node().started, 2);
	assert_int_equal(node().units.cpu_user_ns, 20);
}

static void two_slurmd_with_one_job_id_stay_apart(void **state)
{
	(void)state;
	fresh(64);
	struct record r = stop("7", 0, 10, 0, true);
	record_set(&r, r.node, sizeof(r.node), "n1");
	assert_int_equal(apply(&r), 0);
	r.counters.cpu_user_ns = 20;
	record_set(&r, r.node, sizeof(r.node), "n2");
	assert_int_equal(apply(&r), 0);
	uint32_t a = units_find(u, MANAGER_SLURM, "n1", "7", 0);
	uint32_t b = units_find(u, MANAGER_SLURM, "n2", "7", 0);
	assert_true(a != b && a != UNITS_NONE && b != UNITS_NONE);
	assert_int_equal(node().units.cpu_user_ns, 30);
}

static void a_record_is_applied_once(void **state)
{
	(void)state;
	struct err err;
	fresh(64);
	start_ok("7", 0);
	stop_ok("7", 0, 10, 0);
	struct record r = stop("7", 1, 99, 0, true);
	assert_int_equal(units_apply(u, &r, pos, now, now, &err), -EEXIST);
	assert_int_equal(units_apply(u, &r, 0, now, now, &err), -EEXIST);
	reopen();
	assert_int_equal(units_ring_pos(u), pos);
	assert_int_equal(units_apply(u, &r, pos, now, now, &err), -EEXIST);
	assert_int_equal(node().units.cpu_user_ns, 10);
	units_set_ring(u, 4711);
	assert_true(units_ring_pos(u) == UINT64_MAX);
	assert_int_equal(units_apply(u, &r, 0, now, now, &err), 0);
	units_set_ring(u, 4711);
	assert_int_equal(units_ring_pos(u), 0);
}

static void a_record_that_makes_no_sense_is_counted(void **state)
{
	(void)state;
	struct err err;
	fresh(64);
	struct record r = rec(RECORD_STEP_START, "", 0);
	assert_int_equal(apply(&r), -EPROTO);
	r = rec(77, "7", 0);
	assert_int_equal(apply(&r), -EPROTO);
	r = rec(RECORD_STEP_START, "7", 0);
	r.manager = 99;
	assert_int_equal(units_apply(u, &r, ++pos, now, now, &err), -EPROTO);
	assert_string_equal(err.text, "record of an unknown manager");
	assert_int_equal(node().records_bad, 2);
	assert_int_equal(units_ring_pos(u), pos);
	assert_int_equal(units_used(u), 0);
}

static void durations_survive_a_clock_that_steps_back(void **state)
{
	(void)state;
	fresh(64);
	struct record r = rec(RECORD_STEP_START, "7", 0);
	r.realtime_ns = 5000 * SEC;
	assert_int_equal(apply(&r), 0);
	now += 40 * SEC;
	r = stop("7", 0, 1, 0, true);
	r.realtime_ns = 100 * SEC; /* long before the start */
	assert_int_equal(apply(&r), 0);
	const struct unit *unit = unit_of("7", 0);
	assert_int_equal(unit->ended_boottime_ns - unit->started_boottime_ns, 40 * SEC);
	struct units_policy min = {60000, 30000, 2000};
	assert_true(units_exported(u, units_find(u, MANAGER_SLURM, NODE, "7", 0), now,
				   &min));
}
/* ---- steps nobody told about ----------------------------------------------------- */

static struct record found(const char *id, uint32_t step, const char *path)
{
	struct record r = rec(RECORD_STEP_START, id, step);
	r.cgroup_count = 1;
	r.cgroups[0].controllers = CGROUP_CPUACCT;
	snprintf(r.cgroups[0].path, sizeof(r.cgroups[0].path), "%s", path);
	return r;
}

static void a_lost_step_keeps_what_was_read_last(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", 0);
	uint32_t s = steps_find(u, units_find(u, MANAGER_SLURM, NODE, "7", 0), 0);
	reading(s, 60, 40);
	units_step_lost(u, s, now, now);
	assert_int_equal(unit_of("7", 0)->end, UNIT_END_LOST);
	assert_int_equal(total_of("7").cpu_user_ns, 60);
	stop_ok("7", 0, 65, 40); /* not lost after all */
	assert_int_equal(total_of("7").cpu_user_ns, 65);
	assert_int_equal(unit_of("7", 0)->end, UNIT_END_COMPLETED);
	assert_int_equal(node().steps_ended, 1);
}

static void a_discovered_unit_becomes_the_one_a_record_names(void **state)
{
	(void)state;
	struct err err;
	fresh(64);
	struct record r = found("s7XYZ", 0, "/slurm/job_s7XYZ/step_0");
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, &err), 0);
	r = found("s7XYZ", RECORD_STEP_BATCH, "/slurm/job_s7XYZ/step_batch");
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, &err), 0);
	uint32_t s = steps_find_path(u, "/slurm/job_s7XYZ/step_0");
	reading(s, 60, 40);
	/* a step that was not there when the walk was made, under the real id */
	r = found("41", 1, "/slurm/job_s7XYZ/step_1");
	r.restarts = 2;
	assert_int_equal(apply(&r), 0);
	assert_null(unit_of("s7XYZ", 0));
	assert_non_null(unit_of("41", 2));
	assert_int_equal(unit_of("41", 2)->steps_running, 3);
	r = stop("41", 0, 61, 40, true);
	r.restarts = 2;
	assert_int_equal(apply(&r), 0);
	struct node_totals n = node();
	assert_int_equal(n.units.cpu_user_ns, 61);
	assert_int_equal(n.started, 1);
	reopen();
	assert_non_null(unit_of("41", 2));
	assert_true(steps_find_path(u, "/slurm/job_s7XYZ/step_batch") != UNITS_NONE);
}

static void a_discovered_step_joins_the_newest_run_of_its_job(void **state)
{
	(void)state;
	struct err err;
	fresh(64);
	struct record r = rec(RECORD_STEP_START, "7", RECORD_STEP_EXTERN);
	r.restarts = 3;
	assert_int_equal(apply(&r), 0);
	r = found("7", 0, "/slurm/job_7/step_0");
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, &err), 0);
	assert_int_equal(unit_of("7", 3)->steps_running, 2);
	assert_int_equal(units_used(u), 1);
}

static void a_path_finds_the_running_step_of_a_requeued_job(void **state)
{
	(void)state;
	fresh(64);
	for (uint32_t restarts = 0; restarts < 3; restarts++, now += 1000) {
		struct record r =
			found("7", RECORD_STEP_BATCH, "/slurm/job_7/step_batch");
		r.restarts = restarts;
		assert_int_equal(apply(&r), 0);
		uint32_t s = steps_find_path(u, "/slurm/job_7/step_batch");
		assert_true(s != UNITS_NONE);
		assert_int_equal(steps_get(u, s)->state, UNIT_RUNNING);
		assert_int_equal(units_get(u, steps_get(u, s)->unit)->restarts,
				 restarts);
	}
	/* what is told late of a run that has ended, too, is the newest one's */
	struct record last = stop("7", RECORD_STEP_BATCH, 61, 40, true);
	last.restarts = 2;
	assert_int_equal(apply(&last), 0);
	uint32_t newest = steps_find_path(u, "/slurm/job_7/step_batch");
	assert_true(newest != UNITS_NONE);
	assert_int_equal(units_get(u, steps_unit(u, newest))->restarts, 2);
	assert_true(steps_find_path(u, "/slurm/job_7/step_0") == UNITS_NONE);
	assert_true(steps_find_job_path(u, "/slurm/job_7") != UNITS_NONE);
	assert_true(steps_find_job_path(u, "/slurm") == UNITS_NONE);
}

static void only_gpus_that_slurm_itself_named_are_kept(void **state)
{
	(void)state;
	fresh(64);
	struct record r = rec(RECORD_STEP_START, "7", 0);
	record_set(&r, r.gpus, sizeof(r.gpus), "5");
	assert_int_equal(apply(&r), 0);
	assert_string_equal(unit_of("7", 0)->gpus, "");
	r = rec(RECORD_STEP_START, "7", RECORD_STEP_BATCH);
	record_set(&r, r.gpus, sizeof(r.gpus), "0,2");
	r.flags |= RECORD_GPUS_TRUSTED;
	assert_int_equal(apply(&r), 0);
	r = rec(RECORD_STEP_START, "7", 1);
	record_set(&r, r.gpus, sizeof(r.gpus), "2");
	r.flags |= RECORD_GPUS_TRUSTED;
	assert_int_equal(apply(&r), 0);
	assert_string_equal(unit_of("7", 0)->gpus, "0,2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_unit_is_the_sum_of_its_steps_and_the_node_of_its_units),
		cmocka_unit_test(a_second_stop_counts_only_its_growth),
		cmocka_unit_test(user_and_system_never_add_up_to_more_than_was_used),
		cmocka_unit_test(a_stop_without_a_start_makes_both),
		cmocka_unit_test(counters_go_on_over_three_sruns_of_one_salloc),
		cmocka_unit_test(a_unit_with_extern_step_ends_with_it),
		cmocka_unit_test(unit_start_holds_a_unit_until_unit_stop),
		cmocka_unit_test(a_dropped_unit_stop_does_not_hold_a_unit_for_ever),
		cmocka_unit_test(exit_statuses_become_the_units_end),
		cmocka_unit_test(a_requeued_run_is_another_unit_and_ends_the_old_one),
		cmocka_unit_test(
			a_step_id_that_begins_again_is_the_next_run_of_a_requeued_job),
		cmocka_unit_test(runs_of_a_requeued_job_stay_apart_after_folding),
		cmocka_unit_test(a_requeued_run_is_told_by_its_slurmstepd),
		cmocka_unit_test(prolog_and_epilog_bracket_each_run),
		cmocka_unit_test(two_slurmd_with_one_job_id_stay_apart),
		cmocka_unit_test(a_record_is_applied_once),
		cmocka_unit_test(a_record_that_makes_no_sense_is_counted),
		cmocka_unit_test(durations_survive_a_clock_that_steps_back),
		cmocka_unit_test(a_lost_step_keeps_what_was_read_last),
		cmocka_unit_test(a_discovered_unit_becomes_the_one_a_record_names),
		cmocka_unit_test(a_discovered_step_joins_the_newest_run_of_its_job),
		cmocka_unit_test(a_path_finds_the_running_step_of_a_requeued_job),
		cmocka_unit_test(only_gpus_that_slurm_itself_named_are_kept),
	};
	return cmocka_run_group_tests_name("units", tests, setup, teardown);
}
