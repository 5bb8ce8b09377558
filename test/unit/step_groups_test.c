/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's side of the maps is played here, for what it does seldom and for damage;
 * the kernel itself is in test/e2e/slurm_ebpf.sh and vm_ebpf.sh. */
#include "daemon/groups/step_groups.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/log.h"
#include "test/unit/step_groups_lab.h"
#include "test/unit/unit.h"

static void total_of_unit(struct unit_totals *ret)
{
	uint32_t i = units_next(lab.units, 0);

	assert_int_not_equal(i, UNITS_NONE);
	assert_int_equal(units_next(lab.units, i + 1), UNITS_NONE);
	unit_total(lab.units, i, ret);
}

static void a_step_of_which_no_record_tells_is_counted(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	assert_false(step_lab_pass(1));
	play_rmdir(slot, 4000, 8192);
	step_lab_pass(GROUP_SETTLE_MS - 1);
	assert_int_equal(units_used(lab.units), 0);
	step_lab_pass(1);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns, 3000);
	assert_int_equal(t.cpu_system_ns, 1000);
	assert_int_equal(t.memory_peak_bytes, 8192);
	const struct step *step = steps_get(lab.units, steps_next(lab.units, 0));
	assert_int_equal(step->state, UNIT_ENDED);
	assert_int_equal(step->ended_boottime_ns - step->started_boottime_ns,
			 NSEC_PER_MSEC);
	assert_int_equal(step_lab_stats().unrecorded, 1);
	assert_int_equal(step_lab_stats().used, 0);
}

static void both_hierarchies_of_v1_are_one_step(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t memory = play_mkdir(PATH_V1, 5), cpu = play_mkdir(PATH_V1, 4);
	play_rmdir(memory, 0, 4096);
	play_rmdir(cpu, 400, 0);
	step_lab_pass(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 400);
	assert_int_equal(t.memory_peak_bytes, 4096);
	assert_int_equal(step_lab_stats().unrecorded, 1);
	assert_int_equal(step_lab_stats().lost_stops, 1);
	assert_int_equal(units_get(lab.units, units_next(lab.units, 0))->uid, 1000);
}

/* A hybrid host: a task was in one of the two a moment before it was in the other. */
static void the_hierarchy_with_more_cpu_time_is_believed(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t v1 = play_mkdir(PATH_V1, 4), unified = play_mkdir(PATH_V1, 0);
	play_rmdir(v1, 4000, 0);
	play_rmdir(unified, 3600, 0);
	step_lab_pass(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns, 3000);
	assert_int_equal(t.cpu_system_ns, 1000);
}

static void a_stop_record_wins(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	step_lab_pass(10);
	play_rmdir(slot, 5000, 8192);
	step_lab_pass(500);
	/* later than the kernel's word, but the ring has not been empty since */
	step_lab_send(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 4000);
	step_lab_pass(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns, 4000);
	assert_int_equal(step_lab_stats().lost_stops, 0);
	assert_int_equal(step_lab_stats().used, 0);
}

/* libvirt tells of it when the group has been removed. */
static void end_of_a_virtual_machine_gets_the_kernels_counters(void **state)
{
	static const char path[] = "/machine/qemu-1-a.libvirt-qemu";
	struct unit_totals t;

	(void)state;
	lab.manager = MANAGER_LIBVIRT;
	uint32_t slot = play_mkdir(path, 0), memory = play_mkdir(path, 5);
	step_lab_send(RECORD_STEP_START, path, CGROUP_UNIFIED | CGROUP_MEMORY, 0);
	step_lab_pass(10);
	play_rmdir(memory, 0, 8192);
	play_rmdir(slot, 5000, 0);
	step_lab_pass(5);
	step_lab_send(RECORD_STEP_STOP, path, CGROUP_UNIFIED | CGROUP_MEMORY, 0);
	lab.manager = MANAGER_SLURM;
	const struct step *step = steps_get(lab.units, steps_next(lab.units, 0));
	assert_int_equal(step->state, UNIT_ENDED);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 5000);
	assert_int_equal(t.memory_peak_bytes, 8192);
	assert_int_equal(step->lost, STEP_NOT_LOST);
	assert_int_equal(step_lab_stats().lost_stops, 0);
	assert_int_equal(step_lab_stats().used, 0);
}

static void a_running_step_ends_with_the_kernels_word(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	step_lab_pass(10);
	play_rmdir(slot, 5000, 8192);
	/* a ring that is not drained may still hold its stop */
	lab.now += 10 * NSEC_PER_SEC;
	step_groups_tick(lab.groups, lab.now - 10 * NSEC_PER_SEC);
	const struct step *step = steps_get(lab.units, steps_next(lab.units, 0));
	assert_int_equal(step->state, UNIT_RUNNING);
	step_lab_pass(0);
	assert_int_equal(step->state, UNIT_ENDED);
	assert_int_equal(step->lost, STEP_LOST);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 5000);
	assert_int_equal(step_lab_stats().lost_stops, 1);
	assert_int_equal(step_lab_stats().unrecorded, 0);
}

/* slurmd in a container: its records have the path below the namespace's root */
static void a_step_of_a_cgroup_namespace_is_found(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t slot = play_mkdir("/docker/0123" PATH_V2, 0);
	uint32_t other = play_mkdir("/docker/4567" PATH_OTHER, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_rmdir(slot, 4000, 8192);
	step_lab_pass(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
	assert_int_equal(step_lab_stats().unrecorded, 0);
	assert_int_equal(step_lab_stats().lost_stops, 1);
	/* another step's path is none of its */
	assert_int_equal(step_lab_stats().used, 1);
	assert_int_equal(step_groups_step(lab.groups, other), UNITS_NONE);
}

/* As step_lab_send(), of a job of the same number on another node */
static void send_of_node(enum record_type type, const char *node_name)
{
	struct record r;
	struct err err;

	record_init(&r, type, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), node_name);
	r.boottime_ns = r.realtime_ns = lab.now;
	record_add_cgroup(&r, CGROUP_UNIFIED, PATH_BARE);
	assert_int_equal(
		units_apply(lab.units, &r, lab.ring_pos++, lab.now, lab.now, &err), 0);
}

static uint64_t cpu_of_node(const char *node_name)
{
	struct unit_totals t;

	unit_total(lab.units, units_find(lab.units, MANAGER_SLURM, node_name, "7", 0),
		   &t);
	return t.cpu_user_ns + t.cpu_system_ns;
}

/* Two Slurms in containers, whose records have the same path, and one on the host */
static void jobs_of_one_number_in_two_containers_are_told_apart(void **state)
{
	(void)state;
	uint32_t first = play_mkdir("/docker/0123" PATH_BARE, 0);
	send_of_node(RECORD_STEP_START, "n1");
	step_lab_pass(1);
	uint32_t second = play_mkdir("/docker/4567" PATH_BARE, 0);
	step_lab_pass(1);
	/* no other slot's step is its own, even for a moment */
	assert_int_equal(step_groups_step(lab.groups, second), UNITS_NONE);
	send_of_node(RECORD_STEP_START, "n2");
	step_lab_pass(1);
	uint32_t third = play_mkdir(PATH_BARE, 0);
	step_lab_pass(1);
	assert_int_equal(step_groups_step(lab.groups, third), UNITS_NONE);
	send_of_node(RECORD_STEP_START, "n3");
	step_lab_pass(1);
	assert_int_equal(step_lab_stats().used, 3);
	play_rmdir(second, 200, 0);
	play_rmdir(third, 300, 0);
	step_lab_pass(GROUP_SETTLE_MS);
	play_rmdir(first, 100, 0);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(cpu_of_node("n1"), 100);
	assert_int_equal(cpu_of_node("n2"), 200);
	assert_int_equal(cpu_of_node("n3"), 300);
	assert_int_equal(step_lab_stats().unrecorded, 0);
	assert_int_equal(step_lab_stats().lost_stops, 3);
}

static void what_the_table_has_had_is_not_counted_again(void **state)
{
	const struct units_policy policy = {.max_exported = 16};

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	step_lab_send(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 4000);
	step_lab_pass(1);
	lab.now += 120 * NSEC_PER_SEC;
	units_expire(lab.units, lab.now, &policy);
	assert_int_equal(steps_used(lab.units), 0);
	play_rmdir(slot, 5000, 8192);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().lost_stops, 0);
	assert_int_equal(step_lab_stats().used, 0);
}

static void a_step_without_a_record_asks_for_one_walk(void **state)
{
	(void)state;
	play_mkdir(PATH_V2, 0);
	assert_false(step_lab_pass(GROUP_SETTLE_MS - 1));
	assert_true(step_lab_pass(1));
	assert_false(step_lab_pass(1000));
}

static void groups_of_others_are_let_go(void **state)
{
	(void)state;
	static const char *const paths[] = {"/system.slice/other/step_0", "/step_1",
					    "step_2", "", PATH_V2 "/x"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		play_rmdir(play_mkdir(paths[i], 0), 5000, 0);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	assert_int_equal(units_used(lab.units), 0);
	assert_int_equal(step_lab_stats().used, 0);
}

static void what_was_there_before_is_not_counted_unless_the_table_has_it(void **state)
{
	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	lab.kernel.slots[slot].has |= GROUP_SLOT_ADOPTED;
	lab.kernel.slots[slot].made_ns = 0;
	step_lab_pass(1);
	play_rmdir(slot, 5000, 0);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(units_used(lab.units), 0);
}

static void slots_come_back_for_ever(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10 * GROUP_LAB_SLOTS; i++) {
		play_rmdir(play_mkdir("/other/step_0", 0), 5000, 0);
		step_lab_pass(GROUP_SETTLE_MS);
		assert_int_equal(step_lab_stats().used, 0);
	}
	assert_int_equal(step_lab_stats().made, 10 * GROUP_LAB_SLOTS);
}

static void damage_stays_within_bounds(void **state)
{
	(void)state;
	struct group_control *c = lab.kernel.control;

	memset(lab.kernel.slots, 0xff, GROUP_LAB_SLOTS * sizeof(*lab.kernel.slots));
	for (unsigned i = 0; i < GROUP_LAB_SLOTS * GROUP_EVENTS_PER_SLOT; i++)
		lab.kernel.events[i] = UINT64_MAX - i;
	c->event_head = UINT64_MAX;
	for (unsigned i = 0; i < 100; i++)
		step_lab_pass(GROUP_SETTLE_MS);
	c->free_head = 12345;
	step_lab_pass(GROUP_SETTLE_MS);
	(void)step_lab_stats();
}

/* All runs of a job have the same paths. */
static void each_run_of_a_requeued_job_is_counted(void **state)
{
	unsigned runs = 0;

	(void)state;
	for (unsigned run = 0; run < 3; run++) {
		uint32_t slot = play_mkdir(PATH_V2, 0);
		step_lab_pass(10);
		play_rmdir(slot, 4000, 0);
		step_lab_pass(2 * GROUP_SETTLE_MS);
	}
	for (uint32_t i = units_next(lab.units, 0); i != UNITS_NONE;
	     i = units_next(lab.units, i + 1)) {
		struct unit_totals t;
		unit_total(lab.units, i, &t);
		assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
		assert_int_equal(units_get(lab.units, i)->restarts, runs++);
	}
	assert_int_equal(runs, 3);
	assert_int_equal(step_lab_stats().unrecorded, 3);
}

/* As a static pod's, or a machine's after a restart of libvirtd */
static void next_run_of_a_path_has_its_own_counters(void **state)
{
	static const char path[] = "/machine/qemu-1-a.libvirt-qemu";
	struct unit_totals t;
	unsigned runs = 0;

	(void)state;
	lab.manager = MANAGER_LIBVIRT;
	for (lab.restarts = 0; lab.restarts < 3; lab.restarts++) {
		uint32_t slot = play_mkdir(path, 0);
		step_lab_send(RECORD_STEP_START, path, CGROUP_UNIFIED, 0);
		lab.now += NSEC_PER_MSEC;
		play_rmdir(slot, 4000 + lab.restarts, 0);
		lab.now += NSEC_PER_MSEC;
		step_lab_send(RECORD_STEP_STOP, path, CGROUP_UNIFIED, 0);
		step_lab_pass(2 * GROUP_SETTLE_MS);
	}
	lab.manager = MANAGER_SLURM;
	lab.restarts = 0;
	for (uint32_t i = units_next(lab.units, 0); i != UNITS_NONE;
	     i = units_next(lab.units, i + 1)) {
		unit_total(lab.units, i, &t);
		assert_int_equal(t.cpu_user_ns + t.cpu_system_ns,
				 4000 + units_get(lab.units, i)->restarts);
		runs++;
	}
	assert_int_equal(runs, 3);
}

static void expect_next(uint32_t *from, uint32_t slot, uint32_t unit)
{
	uint32_t of;

	assert_int_equal(step_groups_next(lab.groups, *from, &of), slot);
	assert_int_equal(of, unit);
	*from = slot + 1;
}

static void what_two_runs_of_a_job_count_is_told_apart(void **state)
{
	uint32_t from = 0, of;

	(void)state;
	lab.restarts = 0;
	uint32_t first = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	uint32_t run = units_find_newest(lab.units, MANAGER_SLURM, "n1", "7");
	expect_next(&from, first, run);
	step_lab_pass(10);
	play_rmdir(first, 5000, 0);
	step_lab_send(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 5000);
	/* the next run's group, of which nobody has told yet, then its record */
	step_lab_pass(10);
	uint32_t second = play_mkdir(PATH_V2, 0);
	from = 0;
	expect_next(&from, first, run);
	assert_int_equal(step_groups_next(lab.groups, from, &of), UINT32_MAX);
	lab.restarts = 1;
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	lab.restarts = 0;
	uint32_t next = units_find_newest(lab.units, MANAGER_SLURM, "n1", "7");
	assert_int_not_equal(next, run);
	from = 0;
	expect_next(&from, first, run);
	expect_next(&from, second, next);
}

static void a_slot_that_a_killed_ceemsd_was_giving_back_comes_back(void **state)
{
	struct group_control *c = lab.kernel.control;

	(void)state;
	/* one that was marked free and not queued yet, and one that the kernel takes
	 * while ceemsd starts */
	uint32_t leaked =
		(uint32_t)lab.kernel.free[c->free_head++ & (GROUP_LAB_SLOTS - 1)];
	uint32_t taken =
		(uint32_t)lab.kernel.free[c->free_head++ & (GROUP_LAB_SLOTS - 1)];
	step_lab_restart(true);
	assert_int_equal(step_lab_stats().used, 2);
	lab.kernel.slots[taken].made_ns = lab.now;
	(void)snprintf(lab.kernel.slots[taken].path, GROUP_PATH_BYTES, "/other/step_0");
	lab.kernel.slots[taken].state = GROUP_SLOT_LIVES;
	step_lab_pass(1);
	assert_int_equal(step_lab_stats().used, 2);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().used, 1);
	assert_int_equal(lab.kernel.free[(c->free_tail - 1) & (GROUP_LAB_SLOTS - 1)],
			 leaked);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().used, 1);
	play_rmdir(taken, 0, 4096);
	step_lab_pass(3 * GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().used, 0);
}

static void what_ends_during_a_restart_is_counted_once(void **state)
{
	struct unit_totals t;

	(void)state;
	/* seen to end, not settled */
	uint32_t slot = play_mkdir(PATH_V2, 0);
	play_rmdir(slot, 4000, 8192);
	step_lab_pass(1);
	step_lab_restart(true);
	step_lab_pass(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
	assert_int_equal(step_lab_stats().used, 0);
	/* nothing of it is left */
	step_lab_restart(true);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
}

static void what_lives_and_ends_while_nobody_looks_is_counted(void **state)
{
	struct unit_totals t;

	(void)state;
	step_groups_free(lab.groups);
	lab.groups = NULL;
	play_rmdir(play_mkdir(PATH_V2, 0), 4000, 8192);
	lab.now += 60 * NSEC_PER_SEC;
	step_lab_restart(true);
	step_lab_pass(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
	assert_int_equal(step_lab_stats().unrecorded, 1);
}

static void what_an_earlier_table_may_have_had_is_not_counted(void **state)
{
	(void)state;
	play_rmdir(play_mkdir(PATH_V2, 0), 4000, 8192);
	step_lab_restart(false);
	step_lab_pass(2 * GROUP_SETTLE_MS);
	assert_int_equal(units_used(lab.units), 0);
	assert_int_equal(step_lab_stats().used, 0);
}

static void a_step_of_records_is_known_after_a_restart(void **state)
{
	const struct units_policy policy = {.max_exported = 16};

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	step_lab_send(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	step_lab_send(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 4000);
	step_lab_pass(1);
	lab.now += 120 * NSEC_PER_SEC;
	units_expire(lab.units, lab.now, &policy);
	assert_int_equal(steps_used(lab.units), 0);
	step_lab_restart(true);
	play_rmdir(slot, 5000, 8192);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().lost_stops, 0);
}

static void send_other(enum record_type type, unsigned job)
{
	struct record r;
	struct err err;
	char id[16], path[64];

	(void)snprintf(id, sizeof(id), "%u", job);
	(void)snprintf(path, sizeof(path),
		       "/system.slice/n1_slurmstepd.scope/job_%u/step_0", job);
	record_init(&r, type, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), id);
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.boottime_ns = r.realtime_ns = lab.now;
	r.flags = type == RECORD_STEP_STOP ? RECORD_LAST : 0;
	record_add_cgroup(&r, CGROUP_UNIFIED, path);
	assert_int_equal(
		units_apply(lab.units, &r, lab.ring_pos++, lab.now, lab.now, &err), 0);
}

/* Its counters went to the node's sum, for want of room. */
static void a_stop_that_found_the_table_full_is_not_counted_again(void **state)
{
	struct err err;
	struct record r;

	(void)state;
	for (unsigned job = 100; job < 116; job++)
		send_other(RECORD_STEP_START, job);
	uint32_t slot = play_mkdir(PATH_V2, 0);
	record_init(&r, RECORD_STEP_STOP, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.boottime_ns = r.realtime_ns = lab.now;
	r.flags = RECORD_LAST;
	r.counters = (struct record_counters){
		.source = COUNTERS_CGROUP_V2, .cpu_user_ns = 4000, .read_ns = lab.now};
	record_add_cgroup(&r, CGROUP_UNIFIED, PATH_V2);
	assert_int_equal(
		units_apply(lab.units, &r, lab.ring_pos++, lab.now, lab.now, &err),
		-ENOSPC);
	for (unsigned job = 100; job < 116; job++)
		send_other(RECORD_STEP_STOP, job);
	play_rmdir(slot, 4000, 0);
	step_lab_pass(GROUP_SETTLE_MS);
	assert_int_equal(step_lab_stats().unrecorded, 0);
	assert_int_equal(step_lab_stats().used, 0);
}

static void sizes_that_make_no_sense_are_refused(void **state)
{
	const int none[GROUP_FDS] = {-1, -1, -1, -1, -1, -1};
	static const uint32_t sizes[] = {0, 3, 96, 2 * GROUP_SLOTS_MAX};
	struct group_slots s;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(group_slots_open(&s, none, sizes[i], &err), -EPROTO);
	assert_true(group_slots_open(&s, none, 64, &err) < 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, step_lab_open, step_lab_close)
		TEST(a_step_of_which_no_record_tells_is_counted),
		TEST(both_hierarchies_of_v1_are_one_step),
		TEST(the_hierarchy_with_more_cpu_time_is_believed),
		TEST(a_stop_record_wins),
		TEST(end_of_a_virtual_machine_gets_the_kernels_counters),
		TEST(a_running_step_ends_with_the_kernels_word),
		TEST(a_step_of_a_cgroup_namespace_is_found),
		TEST(jobs_of_one_number_in_two_containers_are_told_apart),
		TEST(what_the_table_has_had_is_not_counted_again),
		TEST(a_step_without_a_record_asks_for_one_walk),
		TEST(groups_of_others_are_let_go),
		TEST(what_was_there_before_is_not_counted_unless_the_table_has_it),
		TEST(slots_come_back_for_ever),
		TEST(each_run_of_a_requeued_job_is_counted),
		TEST(next_run_of_a_path_has_its_own_counters),
		TEST(what_two_runs_of_a_job_count_is_told_apart),
		TEST(a_slot_that_a_killed_ceemsd_was_giving_back_comes_back),
		TEST(what_ends_during_a_restart_is_counted_once),
		TEST(what_lives_and_ends_while_nobody_looks_is_counted),
		TEST(what_an_earlier_table_may_have_had_is_not_counted),
		TEST(a_step_of_records_is_known_after_a_restart),
		TEST(a_stop_that_found_the_table_full_is_not_counted_again),
		TEST(damage_stays_within_bounds),
		cmocka_unit_test(sizes_that_make_no_sense_are_refused),
	};
	log_init("test", LOG_LOGFMT, LOG_EMERG);
	return cmocka_run_group_tests_name("step_groups", tests, NULL, NULL);
}
