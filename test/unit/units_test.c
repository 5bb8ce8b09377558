/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/units.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/units_store.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "test/unit/unit.h"

#define SEC NSEC_PER_SEC
#define T0 (1000 * SEC)
#define NODE ""

static char folder[] = "/tmp/ceems-units-test.XXXXXX";
static int dirfd_ = -1;
static struct units *u;
static uint64_t now, pos;
static const struct units_policy policy = {60000, 0, 2000};

static struct record rec(enum record_type type, const char *id, uint32_t step)
{
	struct record r;
	record_init(&r, type, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "%s", id);
	r.step = step;
	r.uid = 1000;
	r.gid = 100;
	r.boottime_ns = now;
	r.realtime_ns = now;
	return r;
}

static struct record stop(const char *id, uint32_t step, uint64_t user, uint64_t system,
			  bool last)
{
	struct record r = rec(RECORD_STEP_STOP, id, step);
	r.counters.source = COUNTERS_CGROUP_V1;
	r.counters.cpu_user_ns = user;
	r.counters.cpu_system_ns = system;
	if (last)
		r.flags |= RECORD_LAST;
	return r;
}

static int apply(const struct record *r)
{
	struct err err;
	return units_apply(u, r, ++pos, now, now, &err);
}

static void start_ok(const char *id, uint32_t step)
{
	struct record r = rec(RECORD_STEP_START, id, step);
	assert_int_equal(apply(&r), 0);
}

static void stop_ok(const char *id, uint32_t step, uint64_t user, uint64_t system)
{
	struct record r = stop(id, step, user, system, true);
	assert_int_equal(apply(&r), 0);
}

static void reading(uint32_t s, uint64_t user, uint64_t system)
{
	struct unit_totals t = {.cpu_user_ns = user, .cpu_system_ns = system};
	units_step_reading(u, s, &t);
}

static const struct unit *unit_of(const char *id, uint32_t restarts)
{
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, id, restarts);
	return i == UNITS_NONE ? NULL : units_get(u, i);
}

static struct unit_totals total_of(const char *id)
{
	struct unit_totals t = {0};
	uint32_t i = units_find(u, MANAGER_SLURM, NODE, id, 0);
	assert_true(i != UNITS_NONE);
	unit_total(u, i, &t);
	return t;
}

static struct node_totals node(void)
{
	struct node_totals n;
	units_node_totals(u, MANAGER_SLURM, &n);
	return n;
}

static uint64_t ended(const struct node_totals *n)
{
	uint64_t sum = 0;
	for (int i = 0; i < UNIT_END_STATES; i++)
		sum += n->ended[i];
	return sum;
}

static void fresh(uint32_t capacity)
{
	bool made_new;
	struct err err;
	units_close(u);
	u = NULL;
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	assert_int_equal(units_open(dirfd_, capacity, &u, &made_new, &err), 0);
	assert_true(made_new);
	assert_string_equal(err.text, "");
	now = T0;
	pos = 0;
}

static void reopen(void)
{
	bool made_new = true;
	struct err err;
	units_close(u);
	u = NULL;
	assert_int_equal(units_open(dirfd_, 1, &u, &made_new, &err), 0);
	assert_false(made_new);
}

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

/* ---- leaving the table ----------------------------------------------------------- */

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
	for (uint32_t restarts = 0; restarts < 3; restarts++) {
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

/* ---- the file -------------------------------------------------------------------- */

static void everything_is_there_after_reopening(void **state)
{
	(void)state;
	fresh(64);
	start_ok("7", RECORD_STEP_EXTERN);
	start_ok("7", 0);
	stop_ok("7", 0, 100, 10);
	stop_ok("8", 0, 5, 5);
	struct node_totals before = node();
	uint64_t serial = unit_serial(u, units_find(u, MANAGER_SLURM, NODE, "7", 0));
	assert_true(serial != 0);
	reopen();
	struct node_totals after = node();
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(units_capacity(u), 64);
	assert_int_equal(unit_of("7", 0)->steps_running, 1);
	assert_int_equal(total_of("7").cpu_user_ns, 100);
	stop_ok("7", RECORD_STEP_EXTERN, 1, 1);
	now += 61 * SEC;
	units_expire(u, now, &policy);
	assert_int_equal(units_used(u), 0);
	assert_int_equal(node().units.cpu_user_ns, 106);
}

static void a_second_daemon_is_kept_out(void **state)
{
	(void)state;
	bool made_new;
	struct err err;
	struct units *other = NULL;
	fresh(64);
	assert_int_equal(units_open(dirfd_, 64, &other, &made_new, &err), -EBUSY);
	assert_null(other);
	assert_non_null(strstr(err.text, "another ceemsd"));
}

static void write_at(off_t off, const void *data, size_t len)
{
	auto_close int fd = openat(dirfd_, UNITS_PATH_NAME, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, len, off), (ssize_t)len);
}

static void a_damaged_or_foreign_file_is_replaced(void **state)
{
	(void)state;
	struct err err;
	for (int kind = 0; kind < 6; kind++) {
		fresh(16);
		start_ok("7", 0);
		off_t at = (unsigned char *)units_get(u, units_next(u, 0)) - u->map;
		units_close(u);
		u = NULL;
		uint32_t wild = 0x7fffffff;
		switch (kind) {
		case 0:
			write_at(0, "garbage!", 8);
			break;
		case 1:
			write_at(at + (off_t)offsetof(struct unit, first_step), &wild,
				 4);
			break;
		case 2:
			write_at(at + (off_t)offsetof(struct unit, state), &wild, 4);
			break;
		case 3: {
			/* a log that leads out of the file */
			uint32_t head[2] = {1, 24};
			uint64_t entry[3] = {1ull << 60, 8, 0};
			write_at(4096, head, sizeof(head));
			write_at(4096 + 8, entry, sizeof(entry));
			break;
		}
		case 4: {
			auto_close int fd = openat(dirfd_, UNITS_PATH_NAME,
						   O_WRONLY | O_TRUNC | O_CLOEXEC);
			assert_true(fd >= 0);
			break;
		}
		default:
			unlinkat(dirfd_, UNITS_PATH_NAME, 0);
			assert_int_equal(
				symlinkat("/etc/passwd", dirfd_, UNITS_PATH_NAME), 0);
		}
		bool made_new = false;
		err.text[0] = '\0';
		assert_int_equal(units_open(dirfd_, 16, &u, &made_new, &err), 0);
		assert_true(made_new);
		assert_true(strlen(err.text) > 10); /* why */
		assert_int_equal(units_used(u), 0);
		struct stat st;
		assert_int_equal(
			fstatat(dirfd_, UNITS_PATH_NAME, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_true(S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0600);
	}
}

static void disk_space_is_taken_as_used(void **state)
{
	(void)state;
	struct stat st;
	fresh(4096);
	start_ok("7", 0);
	assert_int_equal(fstatat(dirfd_, UNITS_PATH_NAME, &st, 0), 0);
	assert_true(st.st_size > 10 << 20);
	assert_true(st.st_blocks * 512 < 1 << 20);
}

/* ---- death ----------------------------------------------------------------------- */

#define CRASH_UNITS 40u
#define CRASH_STEPS 6u

struct truth {
	uint64_t cpu_ns, io_bytes;
};

static uint64_t rng(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* The n-th record of the seed's stream. Counters of a step grow from stop to stop; the
 * last ones are its truth. */
static struct record crash_record(uint64_t seed, uint64_t n)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15ull + n * 0xd1342543de82ef95ull + 1;
	for (int i = 0; i < 4; i++)
		rng(&s);
	/* a window of jobs that moves on, so that old ones are over */
	uint64_t job = n / 20 + rng(&s) % CRASH_UNITS;
	uint32_t step = (uint32_t)(rng(&s) % CRASH_STEPS);
	char id[24];
	snprintf(id, sizeof(id), "%llu", (unsigned long long)job);
	struct record r;
	record_init(&r, rng(&s) % 3 ? RECORD_STEP_STOP : RECORD_STEP_START,
		    MANAGER_SLURM);
	memcpy(r.unit, id, sizeof(id));
	r.step = step == 5 ? RECORD_STEP_EXTERN : step;
	r.boottime_ns = r.realtime_ns = T0 + n * 1000000;
	r.counters.source = COUNTERS_CGROUP_V2;
	r.counters.cpu_user_ns = 3 * (n + 1);
	r.counters.cpu_system_ns = n + 1;
	r.counters.has_io = true;
	r.counters.io_read_bytes = 7 * (n + 1);
	return r;
}

static struct truth crash_truth(uint64_t seed, uint64_t count)
{
	uint64_t jobs = count / 20 + CRASH_UNITS + 1;
	uint64_t *last = calloc(jobs * CRASH_STEPS, sizeof(*last));
	assert_non_null(last);
	struct truth t = {0};
	for (uint64_t n = 0; n < count; n++) {
		struct record r = crash_record(seed, n);
		if (r.type != RECORD_STEP_STOP)
			continue;
		uint32_t step = r.step == RECORD_STEP_EXTERN ? 5 : r.step;
		last[strtoull(r.unit, NULL, 10) * CRASH_STEPS + step] = n + 1;
	}
	for (uint64_t i = 0; i < jobs * CRASH_STEPS; i++) {
		t.cpu_ns += 4 * last[i];
		t.io_bytes += 7 * last[i];
	}
	free(last);
	return t;
}

/* What a daemon does, until it is killed or has applied all. */
static void crash_child(uint64_t seed, uint64_t count, uint32_t capacity)
{
	struct units *t = NULL;
	bool made_new;
	struct err err;
	struct units_policy p = {20, 5, capacity / 2};
	if (units_open(dirfd_, capacity, &t, &made_new, &err) < 0)
		_exit(2);
	for (uint64_t n = units_ring_pos(t) + 1; n < count; n++) {
		struct record r = crash_record(seed, n);
		int rc = units_apply(t, &r, n, r.boottime_ns, r.realtime_ns, &err);
		if (rc != 0 && rc != -ENOSPC)
			_exit(3);
		if (n % 16 == 0)
			units_expire(t, r.boottime_ns, &p);
	}
	_exit(0);
}

static unsigned crash_stream(uint64_t seed, uint64_t count, uint32_t capacity,
			     uint64_t *dice)
{
	unsigned kills = 0;
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	for (;;) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			crash_child(seed, count, capacity);
		struct timespec nap = {0, (long)(100000 + rng(dice) % 900000)};
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return kills;
		}
		kills++;
		assert_true(kills < 100000);
	}
}

static void killed_at_random_times_each_record_counts_once(void **state)
{
	(void)state;
	units_close(u);
	u = NULL;
	uint64_t seed = clock_realtime_ns(), dice = seed | 1;
	const char *given = getenv("SEED");
	if (given)
		seed = strtoull(given, NULL, 10);
	unsigned kills = 0, want = getenv("CHECK_LONG") ? 20000 : 2000;
	for (unsigned round = 0; kills < want && round < 10 * want; round++, seed++) {
		uint64_t count = 2000;
		uint32_t capacity = round % 2 ? 24 : 256;
		kills += crash_stream(seed, count, capacity, &dice);
		bool made_new;
		struct err err;
		struct units_policy p = {20, 5, capacity / 2};
		assert_int_equal(units_open(dirfd_, capacity, &u, &made_new, &err), 0);
		assert_false(made_new);
		for (int at_end = 0; at_end < 2; at_end++) {
			struct node_totals n = node();
			struct truth t = crash_truth(seed, count);
			if (n.records != count ||
			    n.units.cpu_user_ns + n.units.cpu_system_ns != t.cpu_ns ||
			    n.units.io_read_bytes != t.io_bytes)
				fail_msg("SEED=%llu capacity %u: records %llu of %llu, "
					 "cpu %llu not %llu",
					 (unsigned long long)seed, capacity,
					 (unsigned long long)n.records,
					 (unsigned long long)count,
					 (unsigned long long)(n.units.cpu_user_ns +
							      n.units.cpu_system_ns),
					 (unsigned long long)t.cpu_ns);
			units_expire(u, T0 + 3600 * SEC, &p);
		}
		units_close(u);
		u = NULL;
	}
	print_message("# %u kills, last seed %llu\n", kills,
		      (unsigned long long)seed - 1);
	assert_true(kills >= want);
}

/* Steps a process through one record, one instruction at a time, and after each that
 * changed the file opens a copy of it, as the next daemon would. */
static void every_instruction_is_a_safe_place_to_die(void **state)
{
	(void)state;
	fresh(16);
	units_close(u);
	u = NULL;
	struct record all[8];
	now = T0;
	all[0] = rec(RECORD_STEP_START, "7", RECORD_STEP_EXTERN);
	all[1] = rec(RECORD_STEP_START, "7", 0);
	all[2] = stop("7", 0, 100, 10, false);
	all[3] = stop("7", 0, 110, 10, false);
	all[4] = stop("8", 0, 1000, 0, true);
	all[5] = stop("7", RECORD_STEP_EXTERN, 1, 1, true);
	all[6] = stop("7", 0, 120, 10, true);
	static const uint64_t cpu[] = {0, 0, 0, 110, 120, 1120, 1122, 1132};
	struct units_policy soon = {0, 0, 1};
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct units *t;
		bool made_new;
		if (units_open(dirfd_, 16, &t, &made_new, NULL) < 0)
			_exit(2);
		for (uint64_t n = 0; n < 3; n++) /* these just make a state */
			units_apply(t, &all[n], n, now, now, NULL);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		for (uint64_t n = 3; n < 7; n++) {
			units_apply(t, &all[n], n, now, now, NULL);
			units_expire(t, now, &soon);
		}
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		skip();
		return;
	}
	assert_true(WIFSTOPPED(status));

	auto_close int fd = openat(dirfd_, UNITS_PATH_NAME, O_RDONLY | O_CLOEXEC);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	size_t size = (size_t)st.st_size;
	char *live = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	char *seen = malloc(size);
	assert_true(live != MAP_FAILED && seen);
	assert_int_equal(mkdirat(dirfd_, "copy", 0700), 0);
	auto_close int copydir =
		openat(dirfd_, "copy", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memcpy(seen, live, size);
	unsigned changes = 0, steps = 0, positions = 0;
	uint64_t last = 2;
	for (;; steps++) {
		assert_true(steps < 5000000);
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			break;
		if (memcmp(seen, live, size) == 0)
			continue;
		memcpy(seen, live, size);
		changes++;
		auto_close int out =
			openat(copydir, UNITS_PATH_NAME,
			       O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_int_equal(write(out, seen, size), (ssize_t)size);
		struct err err;
		bool made_new;
		assert_int_equal(units_open(copydir, 16, &u, &made_new, &err), 0);
		assert_false(made_new);
		uint64_t at = units_ring_pos(u);
		struct node_totals n = node();
		uint64_t used = n.units.cpu_user_ns + n.units.cpu_system_ns;
		if (at < last || at > 6 || used != cpu[at + 1] || n.records != at + 1)
			fail_msg("after %u instructions: position %llu, cpu %llu",
				 steps, (unsigned long long)at,
				 (unsigned long long)used);
		positions += at != last;
		last = at;
		units_close(u);
		u = NULL;
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	print_message("# %u instructions, %u states of the file\n", steps, changes);
	assert_int_equal(positions, 4);
	assert_true(changes > 100);
	munmap(live, size);
	free(seen);
	unlinkat(copydir, UNITS_PATH_NAME, 0);
	unlinkat(dirfd_, "copy", AT_REMOVEDIR);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	dirfd_ = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0;
}

static int teardown(void **state)
{
	(void)state;
	units_close(u);
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	unlinkat(dirfd_, UNITS_PATH_NAME ".new", 0);
	close(dirfd_);
	return rmdir(folder);
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
		cmocka_unit_test(an_ended_unit_lingers_then_counts_in_the_node),
		cmocka_unit_test(linger_counts_from_when_the_daemon_learnt_of_the_end),
		cmocka_unit_test(units_below_min_export_are_only_summed),
		cmocka_unit_test(more_units_than_max_exported_fold_the_oldest_ended),
		cmocka_unit_test(ended_steps_fold_into_their_running_unit),
		cmocka_unit_test(a_full_table_folds_ended_units_first),
		cmocka_unit_test(a_table_full_of_running_units_loses_no_counter),
		cmocka_unit_test(a_second_stop_after_folding_counts_only_its_growth),
		cmocka_unit_test(a_lost_step_keeps_what_was_read_last),
		cmocka_unit_test(a_discovered_unit_becomes_the_one_a_record_names),
		cmocka_unit_test(a_discovered_step_joins_the_newest_run_of_its_job),
		cmocka_unit_test(a_path_finds_the_running_step_of_a_requeued_job),
		cmocka_unit_test(only_gpus_that_slurm_itself_named_are_kept),
		cmocka_unit_test(everything_is_there_after_reopening),
		cmocka_unit_test(a_second_daemon_is_kept_out),
		cmocka_unit_test(a_damaged_or_foreign_file_is_replaced),
		cmocka_unit_test(disk_space_is_taken_as_used),
		cmocka_unit_test(killed_at_random_times_each_record_counts_once),
		cmocka_unit_test(every_instruction_is_a_safe_place_to_die),
	};
	return cmocka_run_group_tests_name("units", tests, setup, teardown);
}
