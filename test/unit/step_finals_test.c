/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel programs counted for a unit's steps, until its final report has it;
 * the kernel's side of the maps is played here. */
#include "daemon/groups/unit_finals.h"

#include <stdio.h>
#include <unistd.h>

#include "daemon/groups/unit_counts.h"
#include "daemon/units_report.h"
#include "lib/log.h"
#include "lib/records/perf_cells.h"
#include "test/unit/step_groups_lab.h"
#include "test/unit/unit.h"

static struct slot_counts
	played; /* the events' map, as the lab.kernel programs write it */
static struct report final;

static int open_finals(void **state)
{
	int fd = group_lab_map(GROUP_LAB_SLOTS * sizeof(struct perf_counts));
	struct slot_counts ours = {.slots = GROUP_LAB_SLOTS,
				   .stripes = 1,
				   .kinds = 1,
				   .fd_count = 1,
				   .fds = {fd}};
	struct err err;

	step_lab_open(state);
	played = ours;
	played.fds[0] = dup(fd);
	assert_int_equal(slot_counts_open(&played, &err), 0);
	assert_int_equal(slot_counts_open(&ours, &err), 0);
	assert_int_equal(unit_counts_new(lab.units, &ours, &lab.env.unit_perf, &err),
			 0);
	lab.env.step_groups = lab.groups;
	assert_int_equal(unit_finals_new(&lab.env, &lab.env.unit_finals), 0);
	lab.options.perf_software = true;
	return 0;
}

static int close_finals(void **state)
{
	unit_finals_free(lab.env.unit_finals);
	unit_counts_free(lab.env.unit_perf);
	slot_counts_close(&played);
	lab.env.unit_finals = NULL;
	lab.env.unit_perf = NULL;
	lab.env.step_groups = NULL;
	return step_lab_close(state);
}

static void play_faults(uint32_t slot, unsigned long long faults)
{
	((struct perf_counts *)(void *)played.words)[slot].minor_faults = faults;
}

/* Faults of the unit in its final report, -1: not known */
static int64_t told_faults(void)
{
	report_init(&final, REPORT_FINAL, MANAGER_SLURM);
	unit_finals_look(lab.env.unit_finals);
	unit_finals_fill(lab.env.unit_finals, units_next(lab.units, 0), &final);
	return report_count_known(&final.counts, COUNT_MINOR_FAULTS)
		       ? (int64_t) final.counts.values[COUNT_MINOR_FAULTS]
		       : -1;
}

static void counts_of_all_steps_are_told_once_their_groups_are_gone(void **state)
{
	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_faults(slot, 5);
	step_lab_pass(10);
	unit_finals_look(lab.env.unit_finals);
	assert_false(
		unit_finals_settled(lab.env.unit_finals, units_next(lab.units, 0)));
	assert_int_equal(told_faults(), -1);
	play_faults(slot, 7);
	play_rmdir(slot, 400, 4096);
	unit_finals_look(lab.env.unit_finals);
	assert_true(unit_finals_settled(lab.env.unit_finals, units_next(lab.units, 0)));
	assert_int_equal(told_faults(), 7);
	/* the slot is given back, and then another's */
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().used, 0);
	assert_int_equal(told_faults(), 7);
	assert_int_equal(final.counts.known[0], UINT64_C(15) << COUNT_MINOR_FAULTS);
}

/* As after kill -9 of ceemsd under systemd: of ours, only the unit table is left. */
static void start_finals_again(void)
{
	struct slot_counts ours = {.slots = GROUP_LAB_SLOTS,
				   .stripes = 1,
				   .kinds = 1,
				   .fd_count = 1,
				   .fds = {dup(played.fds[0])}};
	struct err err;

	unit_finals_free(lab.env.unit_finals);
	unit_counts_free(lab.env.unit_perf);
	step_lab_restart(true);
	assert_int_equal(slot_counts_open(&ours, &err), 0);
	assert_int_equal(unit_counts_new(lab.units, &ours, &lab.env.unit_perf, &err),
			 0);
	lab.env.step_groups = lab.groups;
	assert_int_equal(unit_finals_new(&lab.env, &lab.env.unit_finals), 0);
}

/* The other step, which keeps its unit running */
static void send_second(enum record_type type)
{
	struct record r;
	struct err err;

	record_init(&r, type, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.step = 1;
	r.flags = type == RECORD_STEP_STOP ? RECORD_LAST : 0;
	r.boottime_ns = r.realtime_ns = lab.now;
	record_add_cgroup(&r, CGROUP_UNIFIED, PATH_OTHER);
	assert_int_equal(
		units_apply(lab.units, &r, lab.ring_pos++, lab.now, lab.now, &err), 0);
}

static void counts_of_a_step_that_ended_before_a_restart_are_told(void **state)
{
	const struct units_policy policy = {.max_exported = 16};

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0), other = play_mkdir(PATH_OTHER, 0);
	send_second(RECORD_STEP_START);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_faults(slot, 7);
	play_faults(other, 20);
	step_lab_send(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 400);
	play_rmdir(slot, 400, 4096);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	/* not even its step is in the table any more */
	lab.now += 120 * NSEC_PER_SEC;
	units_expire(lab.units, lab.now, &policy);
	assert_int_equal(steps_used(lab.units), 1);
	start_finals_again();
	step_lab_pass(2 * GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().used, 2);
	start_finals_again();
	send_second(RECORD_STEP_STOP);
	play_rmdir(other, 400, 4096);
	assert_int_equal(told_faults(), 27);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	step_lab_pass(1);
	assert_int_equal(step_lab_stats().used, 0);
	assert_int_equal(told_faults(), 27);
}

static void counts_are_kept_until_the_final_report_is_in_the_spool(void **state)
{
	(void)state;
	units_reporting(lab.units, true);
	uint32_t slot = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_faults(slot, 7);
	step_lab_send(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 400);
	play_rmdir(slot, 400, 4096);
	uint32_t unit = units_next(lab.units, 0);
	assert_int_equal(units_get(lab.units, unit)->state, UNIT_ENDED);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().used, 1);
	assert_int_equal(told_faults(), 7);
	start_finals_again();
	assert_int_equal(told_faults(), 7);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().used, 1);
	assert_int_equal(told_faults(), 7);
	/* it has been written */
	unit_report_close(lab.units, unit, lab.now + NSEC_PER_SEC, lab.now);
	unit_report_move_on(lab.units, unit);
	unit_report_mark(lab.units, unit, REPORT_FINISHED, 0);
	step_lab_pass(1);
	assert_int_equal(step_lab_stats().used, 0);
	units_reporting(lab.units, false);
}

static void slots_of_ended_steps_are_not_kept_from_others(void **state)
{
	char path[GROUP_PATH_BYTES];
	unsigned steps = GROUP_LAB_SLOTS / 2;

	(void)state;
	uint32_t other = play_mkdir(PATH_OTHER, 0);
	send_second(RECORD_STEP_START);
	for (unsigned i = 0; i < steps; i++) {
		(void)snprintf(path, sizeof(path),
			       "/system.slice/n1_slurmstepd.scope/job_7/step_%u",
			       i + 2);
		uint32_t slot = play_mkdir(path, 0);
		play_faults(slot, 1);
		play_rmdir(slot, 400, 4096);
		step_lab_pass(GROUP_SETTLE_MS);
		assert_true(step_lab_stats().used <= GROUP_LAB_SLOTS / 16 + 1);
	}
	assert_int_equal(step_lab_stats().used, GROUP_LAB_SLOTS / 16 + 1);
	send_second(RECORD_STEP_STOP);
	play_rmdir(other, 400, 4096);
	assert_int_equal(told_faults(), steps);
}

/* A step of job 7 whose control groups nobody saw */
static void send_unseen(void)
{
	struct record r;
	struct err err;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.step = 1;
	r.boottime_ns = r.realtime_ns = lab.now;
	assert_int_equal(
		units_apply(lab.units, &r, lab.ring_pos++, lab.now, lab.now, &err), 0);
}

static void nothing_is_told_of_a_unit_with_a_step_that_was_not_followed(void **state)
{
	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	send_unseen();
	play_faults(slot, 7);
	play_rmdir(slot, 400, 4096);
	assert_int_equal(told_faults(), -1);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(told_faults(), -1);
}

/* As a pod's on a hybrid host */
static void two_hierarchies_of_a_step_do_not_stand_for_two_steps(void **state)
{
	(void)state;
	uint32_t v1 = play_mkdir(PATH_V2, 4), unified = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED | CGROUP_CPUACCT, 0);
	play_faults(v1, 7);
	play_rmdir(v1, 400, 0);
	play_rmdir(unified, 400, 4096);
	assert_int_equal(told_faults(), 7);
	send_unseen();
	assert_int_equal(told_faults(), -1);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	assert_int_equal(told_faults(), -1);
}

static void nothing_is_told_of_a_unit_that_was_there_before_the_programs(void **state)
{
	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	lab.kernel.slots[slot].has |= GROUP_SLOT_ADOPTED;
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_faults(slot, 7);
	play_rmdir(slot, 400, 4096);
	assert_int_equal(told_faults(), -1);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(told_faults(), -1);
}

/* On v1 as Slurm 25.05 makes them: the extern step has a memory group only, and one for
 * CPU time when a process is adopted into it. */
static void end_unit_with_extern(bool adopts)
{
	static const char extern_path[] = "/slurm_n1/uid_1000/job_7/step_extern";
	struct record r;
	struct err err;
	uint32_t memory = play_mkdir(extern_path, 3);

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.step = RECORD_STEP_EXTERN;
	r.boottime_ns = r.realtime_ns = lab.now;
	record_add_cgroup(&r, CGROUP_MEMORY, extern_path);
	assert_int_equal(
		units_apply(lab.units, &r, lab.ring_pos++, lab.now, lab.now, &err), 0);
	uint32_t step = play_mkdir(PATH_V1, 2);
	step_lab_send(RECORD_STEP_START, PATH_V1, CGROUP_CPUACCT, 0);
	uint32_t cpu = adopts ? play_mkdir(extern_path, 2) : UINT32_MAX;
	play_faults(step, 7);
	play_rmdir(step, 400, 0);
	if (adopts) {
		play_faults(cpu, 20);
		play_rmdir(cpu, 100, 0);
	}
	play_rmdir(memory, 0, 4096);
}

static void an_extern_step_without_tasks_hides_no_counts(void **state)
{
	(void)state;
	end_unit_with_extern(false);
	assert_int_equal(told_faults(), 7);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	assert_int_equal(told_faults(), 7);
}

static void an_extern_step_with_tasks_is_counted(void **state)
{
	(void)state;
	end_unit_with_extern(true);
	assert_int_equal(told_faults(), 27);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	assert_int_equal(told_faults(), 27);
}

static void
nothing_is_told_where_an_extern_steps_group_may_have_had_no_slot(void **state)
{
	(void)state;
	end_unit_with_extern(false);
	lab.kernel.control->no_slot = 1;
	assert_int_equal(told_faults(), -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_finals, close_finals)
		TEST(counts_of_all_steps_are_told_once_their_groups_are_gone),
		TEST(counts_of_a_step_that_ended_before_a_restart_are_told),
		TEST(counts_are_kept_until_the_final_report_is_in_the_spool),
		TEST(slots_of_ended_steps_are_not_kept_from_others),
		TEST(nothing_is_told_of_a_unit_with_a_step_that_was_not_followed),
		TEST(two_hierarchies_of_a_step_do_not_stand_for_two_steps),
		TEST(nothing_is_told_of_a_unit_that_was_there_before_the_programs),
		TEST(an_extern_step_without_tasks_hides_no_counts),
		TEST(an_extern_step_with_tasks_is_counted),
		TEST(nothing_is_told_where_an_extern_steps_group_may_have_had_no_slot),
	};
	log_init("test", LOG_LOGFMT, LOG_EMERG);
	return cmocka_run_group_tests_name("step_finals", tests, NULL, NULL);
}
