/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's side of the maps is played here, for what it does seldom and for damage;
 * the kernel itself is in test/e2e/slurm_ebpf.sh and vm_ebpf.sh. */
#include "daemon/groups/step_groups.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/groups/unit_counts.h"
#include "daemon/groups/unit_finals.h"
#include "daemon/options.h"
#include "daemon/units.h"
#include "daemon/units_report.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/records/perf_cells.h"
#include "test/unit/group_lab.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define PATH_V2 "/system.slice/n1_slurmstepd.scope/job_7/step_0"
#define PATH_OTHER "/system.slice/n1_slurmstepd.scope/job_7/step_1"
#define PATH_BARE "/system.slice/slurmstepd.scope/job_7/step_0"
#define PATH_V1 "/slurm_n1/uid_1000/job_7/step_0"

static uint64_t now = 1000 * NSEC_PER_SEC;

static uint64_t fake_ns(void)
{
	return now;
}

static struct options options;
static struct env env = {.hostname = "h",
			 .options = &options,
			 .realtime_ns = fake_ns,
			 .boottime_ns = fake_ns};
static char folder[SCRATCH_PATH];
static struct units *units;
static struct group_slots kernel; /* another mapping of the same maps */
static struct step_groups *groups;
static uint64_t ring_pos;

static int open_groups(void **state)
{
	struct group_slots ours;
	bool made_new;
	struct err err;

	(void)state;
	scratch_make(folder);
	int dirfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_int_equal(units_open(dirfd, 16, &units, &made_new, &err), 0);
	close(dirfd);
	env.units = units;
	group_lab_open(&ours, &kernel);
	assert_int_equal(step_groups_new(&env, &ours, &groups, &err), 0);
	return 0;
}

static int close_groups(void **state)
{
	(void)state;
	step_groups_free(groups);
	group_slots_close(&kernel);
	units_close(units);
	scratch_remove(folder);
	return 0;
}

/* As bpf/groups.bpf.c does it */
static uint32_t play_mkdir(const char *path, uint32_t hierarchy)
{
	struct group_control *c = kernel.control;

	assert_true(c->free_head != c->free_tail);
	uint32_t slot = (uint32_t)kernel.free[c->free_head++ & (GROUP_LAB_SLOTS - 1)];
	struct group_slot *s = &kernel.slots[slot];
	*s = (struct group_slot){.hierarchy = hierarchy,
				 .state = GROUP_SLOT_LIVES,
				 .has = hierarchy ? 0 : GROUP_SLOT_UNIFIED,
				 .made_ns = now};
	(void)snprintf(s->path, sizeof(s->path), "%s", path);
	kernel.events[c->event_head++ & (GROUP_LAB_SLOTS * GROUP_EVENTS_PER_SLOT - 1)] =
		GROUP_EVENT(slot, GROUP_EVENT_MADE);
	c->made++;
	return slot;
}

static void play_rmdir(uint32_t slot, uint64_t cpu_ns, uint64_t peak)
{
	struct group_control *c = kernel.control;
	struct group_slot *s = &kernel.slots[slot];

	s->cpu_ns = cpu_ns;
	s->user_ns = 3;
	s->system_ns = 1;
	s->memory_peak_bytes = peak;
	s->has |= (cpu_ns ? GROUP_SLOT_CPU : 0) | (peak ? GROUP_SLOT_MEMORY : 0);
	s->ended_ns = now;
	s->state = GROUP_SLOT_ENDED;
	kernel.events[c->event_head++ & (GROUP_LAB_SLOTS * GROUP_EVENTS_PER_SLOT - 1)] =
		GROUP_EVENT(slot, GROUP_EVENT_ENDED);
	c->ended++;
}

static bool pass_ms(uint64_t ms)
{
	now += ms * NSEC_PER_MSEC;
	return step_groups_tick(groups, now);
}

static uint32_t restarts; /* of the records */
static enum record_manager manager = MANAGER_SLURM;

static void send_record(enum record_type type, const char *path, uint32_t bits,
			uint64_t cpu_ns)
{
	struct record r;
	struct err err;

	record_init(&r, type, manager);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.boottime_ns = r.realtime_ns = now;
	r.restarts = restarts;
	record_add_cgroup(&r, bits, path);
	if (cpu_ns) {
		r.flags = RECORD_LAST;
		r.counters = (struct record_counters){.source = COUNTERS_CGROUP_V2,
						      .cpu_user_ns = cpu_ns,
						      .read_ns = now};
	}
	assert_int_equal(units_apply(units, &r, ring_pos++, now, now, &err), 0);
}

static struct step_groups_stats group_stats(void)
{
	struct step_groups_stats s;

	step_groups_stats(groups, &s);
	return s;
}

static void total_of_unit(struct unit_totals *ret)
{
	uint32_t i = units_next(units, 0);

	assert_int_not_equal(i, UNITS_NONE);
	assert_int_equal(units_next(units, i + 1), UNITS_NONE);
	unit_total(units, i, ret);
}

static void a_step_of_which_no_record_tells_is_counted(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	assert_false(pass_ms(1));
	play_rmdir(slot, 4000, 8192);
	pass_ms(GROUP_SETTLE_MS - 1);
	assert_int_equal(units_used(units), 0);
	pass_ms(1);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns, 3000);
	assert_int_equal(t.cpu_system_ns, 1000);
	assert_int_equal(t.memory_peak_bytes, 8192);
	const struct step *step = steps_get(units, steps_next(units, 0));
	assert_int_equal(step->state, UNIT_ENDED);
	assert_int_equal(step->ended_boottime_ns - step->started_boottime_ns,
			 NSEC_PER_MSEC);
	assert_int_equal(group_stats().unrecorded, 1);
	assert_int_equal(group_stats().used, 0);
}

static void both_hierarchies_of_v1_are_one_step(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t memory = play_mkdir(PATH_V1, 5), cpu = play_mkdir(PATH_V1, 4);
	play_rmdir(memory, 0, 4096);
	play_rmdir(cpu, 400, 0);
	pass_ms(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 400);
	assert_int_equal(t.memory_peak_bytes, 4096);
	assert_int_equal(group_stats().unrecorded, 1);
	assert_int_equal(group_stats().lost_stops, 1);
	assert_int_equal(units_get(units, units_next(units, 0))->uid, 1000);
}

static void a_stop_record_wins(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	pass_ms(10);
	play_rmdir(slot, 5000, 8192);
	pass_ms(500);
	/* later than the kernel's word, but the ring has not been empty since */
	send_record(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 4000);
	pass_ms(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns, 4000);
	assert_int_equal(group_stats().lost_stops, 0);
	assert_int_equal(group_stats().used, 0);
}

/* libvirt tells of it when the group has been removed. */
static void end_of_a_virtual_machine_gets_the_kernels_counters(void **state)
{
	static const char path[] = "/machine/qemu-1-a.libvirt-qemu";
	struct unit_totals t;

	(void)state;
	manager = MANAGER_LIBVIRT;
	uint32_t slot = play_mkdir(path, 0), memory = play_mkdir(path, 5);
	send_record(RECORD_STEP_START, path, CGROUP_UNIFIED | CGROUP_MEMORY, 0);
	pass_ms(10);
	play_rmdir(memory, 0, 8192);
	play_rmdir(slot, 5000, 0);
	pass_ms(5);
	send_record(RECORD_STEP_STOP, path, CGROUP_UNIFIED | CGROUP_MEMORY, 0);
	manager = MANAGER_SLURM;
	const struct step *step = steps_get(units, steps_next(units, 0));
	assert_int_equal(step->state, UNIT_ENDED);
	pass_ms(2 * GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 5000);
	assert_int_equal(t.memory_peak_bytes, 8192);
	assert_int_equal(step->lost, STEP_NOT_LOST);
	assert_int_equal(group_stats().lost_stops, 0);
	assert_int_equal(group_stats().used, 0);
}

static void a_running_step_ends_with_the_kernels_word(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	pass_ms(10);
	play_rmdir(slot, 5000, 8192);
	/* a ring that is not drained may still hold its stop */
	now += 10 * NSEC_PER_SEC;
	step_groups_tick(groups, now - 10 * NSEC_PER_SEC);
	const struct step *step = steps_get(units, steps_next(units, 0));
	assert_int_equal(step->state, UNIT_RUNNING);
	pass_ms(0);
	assert_int_equal(step->state, UNIT_ENDED);
	assert_int_equal(step->lost, STEP_LOST);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 5000);
	assert_int_equal(group_stats().lost_stops, 1);
	assert_int_equal(group_stats().unrecorded, 0);
}

/* slurmd in a container: its records have the path below the namespace's root */
static void a_step_of_a_cgroup_namespace_is_found(void **state)
{
	struct unit_totals t;

	(void)state;
	uint32_t slot = play_mkdir("/docker/0123" PATH_V2, 0);
	uint32_t other = play_mkdir("/docker/4567" PATH_OTHER, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_rmdir(slot, 4000, 8192);
	pass_ms(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
	assert_int_equal(group_stats().unrecorded, 0);
	assert_int_equal(group_stats().lost_stops, 1);
	/* another step's path is none of its */
	assert_int_equal(group_stats().used, 1);
	assert_int_equal(step_groups_step(groups, other), UNITS_NONE);
}

/* As send_record(), of a job of the same number on another node */
static void send_of_node(enum record_type type, const char *node_name)
{
	struct record r;
	struct err err;

	record_init(&r, type, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), node_name);
	r.boottime_ns = r.realtime_ns = now;
	record_add_cgroup(&r, CGROUP_UNIFIED, PATH_BARE);
	assert_int_equal(units_apply(units, &r, ring_pos++, now, now, &err), 0);
}

static uint64_t cpu_of_node(const char *node_name)
{
	struct unit_totals t;

	unit_total(units, units_find(units, MANAGER_SLURM, node_name, "7", 0), &t);
	return t.cpu_user_ns + t.cpu_system_ns;
}

/* Two Slurms in containers, whose records have the same path, and one on the host */
static void jobs_of_one_number_in_two_containers_are_told_apart(void **state)
{
	(void)state;
	uint32_t first = play_mkdir("/docker/0123" PATH_BARE, 0);
	send_of_node(RECORD_STEP_START, "n1");
	pass_ms(1);
	uint32_t second = play_mkdir("/docker/4567" PATH_BARE, 0);
	pass_ms(1);
	/* no other slot's step is its own, even for a moment */
	assert_int_equal(step_groups_step(groups, second), UNITS_NONE);
	send_of_node(RECORD_STEP_START, "n2");
	pass_ms(1);
	uint32_t third = play_mkdir(PATH_BARE, 0);
	pass_ms(1);
	assert_int_equal(step_groups_step(groups, third), UNITS_NONE);
	send_of_node(RECORD_STEP_START, "n3");
	pass_ms(1);
	assert_int_equal(group_stats().used, 3);
	play_rmdir(second, 200, 0);
	play_rmdir(third, 300, 0);
	pass_ms(GROUP_SETTLE_MS);
	play_rmdir(first, 100, 0);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(cpu_of_node("n1"), 100);
	assert_int_equal(cpu_of_node("n2"), 200);
	assert_int_equal(cpu_of_node("n3"), 300);
	assert_int_equal(group_stats().unrecorded, 0);
	assert_int_equal(group_stats().lost_stops, 3);
}

static void what_the_table_has_had_is_not_counted_again(void **state)
{
	const struct units_policy policy = {.max_exported = 16};

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	send_record(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 4000);
	pass_ms(1);
	now += 120 * NSEC_PER_SEC;
	units_expire(units, now, &policy);
	assert_int_equal(steps_used(units), 0);
	play_rmdir(slot, 5000, 8192);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(group_stats().lost_stops, 0);
	assert_int_equal(group_stats().used, 0);
}

static void a_step_without_a_record_asks_for_one_walk(void **state)
{
	(void)state;
	play_mkdir(PATH_V2, 0);
	assert_false(pass_ms(GROUP_SETTLE_MS - 1));
	assert_true(pass_ms(1));
	assert_false(pass_ms(1000));
}

static void groups_of_others_are_let_go(void **state)
{
	(void)state;
	static const char *const paths[] = {"/system.slice/other/step_0", "/step_1",
					    "step_2", "", PATH_V2 "/x"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		play_rmdir(play_mkdir(paths[i], 0), 5000, 0);
	pass_ms(2 * GROUP_SETTLE_MS);
	assert_int_equal(units_used(units), 0);
	assert_int_equal(group_stats().used, 0);
}

static void what_was_there_before_is_not_counted_unless_the_table_has_it(void **state)
{
	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	kernel.slots[slot].has |= GROUP_SLOT_ADOPTED;
	kernel.slots[slot].made_ns = 0;
	pass_ms(1);
	play_rmdir(slot, 5000, 0);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(units_used(units), 0);
}

static void slots_come_back_for_ever(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10 * GROUP_LAB_SLOTS; i++) {
		play_rmdir(play_mkdir("/other/step_0", 0), 5000, 0);
		pass_ms(GROUP_SETTLE_MS);
		assert_int_equal(group_stats().used, 0);
	}
	assert_int_equal(group_stats().made, 10 * GROUP_LAB_SLOTS);
}

static void damage_stays_within_bounds(void **state)
{
	(void)state;
	struct group_control *c = kernel.control;

	memset(kernel.slots, 0xff, GROUP_LAB_SLOTS * sizeof(*kernel.slots));
	for (unsigned i = 0; i < GROUP_LAB_SLOTS * GROUP_EVENTS_PER_SLOT; i++)
		kernel.events[i] = UINT64_MAX - i;
	c->event_head = UINT64_MAX;
	for (unsigned i = 0; i < 100; i++)
		pass_ms(GROUP_SETTLE_MS);
	c->free_head = 12345;
	pass_ms(GROUP_SETTLE_MS);
	(void)group_stats();
}

/* All runs of a job have the same paths. */
static void each_run_of_a_requeued_job_is_counted(void **state)
{
	unsigned runs = 0;

	(void)state;
	for (unsigned run = 0; run < 3; run++) {
		uint32_t slot = play_mkdir(PATH_V2, 0);
		pass_ms(10);
		play_rmdir(slot, 4000, 0);
		pass_ms(2 * GROUP_SETTLE_MS);
	}
	for (uint32_t i = units_next(units, 0); i != UNITS_NONE;
	     i = units_next(units, i + 1)) {
		struct unit_totals t;
		unit_total(units, i, &t);
		assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
		assert_int_equal(units_get(units, i)->restarts, runs++);
	}
	assert_int_equal(runs, 3);
	assert_int_equal(group_stats().unrecorded, 3);
}

static void expect_next(uint32_t *from, uint32_t slot, uint32_t unit)
{
	uint32_t of;

	assert_int_equal(step_groups_next(groups, *from, &of), slot);
	assert_int_equal(of, unit);
	*from = slot + 1;
}

static void what_two_runs_of_a_job_count_is_told_apart(void **state)
{
	uint32_t from = 0, of;

	(void)state;
	restarts = 0;
	uint32_t first = play_mkdir(PATH_V2, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	uint32_t run = units_find_newest(units, MANAGER_SLURM, "n1", "7");
	expect_next(&from, first, run);
	pass_ms(10);
	play_rmdir(first, 5000, 0);
	send_record(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 5000);
	/* the next run's group, of which nobody has told yet, then its record */
	pass_ms(10);
	uint32_t second = play_mkdir(PATH_V2, 0);
	from = 0;
	expect_next(&from, first, run);
	assert_int_equal(step_groups_next(groups, from, &of), UINT32_MAX);
	restarts = 1;
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	restarts = 0;
	uint32_t next = units_find_newest(units, MANAGER_SLURM, "n1", "7");
	assert_int_not_equal(next, run);
	from = 0;
	expect_next(&from, first, run);
	expect_next(&from, second, next);
}

/* ceemsd is started again; table: with the unit table that it had. */
static void start_again(bool table)
{
	struct group_slots ours;
	struct err err;
	int fds[GROUP_FDS];

	for (unsigned i = 0; i < GROUP_FDS; i++)
		fds[i] = kernel.fds[i] < 0 ? -1 : dup(kernel.fds[i]);
	step_groups_free(groups);
	assert_int_equal(group_slots_open(&ours, fds, GROUP_LAB_SLOTS, &err), 0);
	if (!table)
		group_slots_adopt(&ours);
	assert_int_equal(step_groups_new(&env, &ours, &groups, &err), 0);
}

static void a_slot_that_a_killed_ceemsd_was_giving_back_comes_back(void **state)
{
	struct group_control *c = kernel.control;

	(void)state;
	/* one that was marked free and not queued yet, and one that the kernel takes
	 * while ceemsd starts */
	uint32_t leaked = (uint32_t)kernel.free[c->free_head++ & (GROUP_LAB_SLOTS - 1)];
	uint32_t taken = (uint32_t)kernel.free[c->free_head++ & (GROUP_LAB_SLOTS - 1)];
	start_again(true);
	assert_int_equal(group_stats().used, 2);
	kernel.slots[taken].made_ns = now;
	(void)snprintf(kernel.slots[taken].path, GROUP_PATH_BYTES, "/other/step_0");
	kernel.slots[taken].state = GROUP_SLOT_LIVES;
	pass_ms(1);
	assert_int_equal(group_stats().used, 2);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(group_stats().used, 1);
	assert_int_equal(kernel.free[(c->free_tail - 1) & (GROUP_LAB_SLOTS - 1)],
			 leaked);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(group_stats().used, 1);
	play_rmdir(taken, 0, 4096);
	pass_ms(3 * GROUP_SETTLE_MS);
	assert_int_equal(group_stats().used, 0);
}

static void what_ends_during_a_restart_is_counted_once(void **state)
{
	struct unit_totals t;

	(void)state;
	/* seen to end, not settled */
	uint32_t slot = play_mkdir(PATH_V2, 0);
	play_rmdir(slot, 4000, 8192);
	pass_ms(1);
	start_again(true);
	pass_ms(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
	assert_int_equal(group_stats().used, 0);
	/* nothing of it is left */
	start_again(true);
	pass_ms(2 * GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
}

static void what_lives_and_ends_while_nobody_looks_is_counted(void **state)
{
	struct unit_totals t;

	(void)state;
	step_groups_free(groups);
	groups = NULL;
	play_rmdir(play_mkdir(PATH_V2, 0), 4000, 8192);
	now += 60 * NSEC_PER_SEC;
	start_again(true);
	pass_ms(GROUP_SETTLE_MS);
	total_of_unit(&t);
	assert_int_equal(t.cpu_user_ns + t.cpu_system_ns, 4000);
	assert_int_equal(group_stats().unrecorded, 1);
}

static void what_an_earlier_table_may_have_had_is_not_counted(void **state)
{
	(void)state;
	play_rmdir(play_mkdir(PATH_V2, 0), 4000, 8192);
	start_again(false);
	pass_ms(2 * GROUP_SETTLE_MS);
	assert_int_equal(units_used(units), 0);
	assert_int_equal(group_stats().used, 0);
}

static void a_step_of_records_is_known_after_a_restart(void **state)
{
	const struct units_policy policy = {.max_exported = 16};

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	send_record(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 4000);
	pass_ms(1);
	now += 120 * NSEC_PER_SEC;
	units_expire(units, now, &policy);
	assert_int_equal(steps_used(units), 0);
	start_again(true);
	play_rmdir(slot, 5000, 8192);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(group_stats().lost_stops, 0);
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
	r.boottime_ns = r.realtime_ns = now;
	r.flags = type == RECORD_STEP_STOP ? RECORD_LAST : 0;
	record_add_cgroup(&r, CGROUP_UNIFIED, path);
	assert_int_equal(units_apply(units, &r, ring_pos++, now, now, &err), 0);
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
	r.boottime_ns = r.realtime_ns = now;
	r.flags = RECORD_LAST;
	r.counters = (struct record_counters){
		.source = COUNTERS_CGROUP_V2, .cpu_user_ns = 4000, .read_ns = now};
	record_add_cgroup(&r, CGROUP_UNIFIED, PATH_V2);
	assert_int_equal(units_apply(units, &r, ring_pos++, now, now, &err), -ENOSPC);
	for (unsigned job = 100; job < 116; job++)
		send_other(RECORD_STEP_STOP, job);
	play_rmdir(slot, 4000, 0);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(group_stats().unrecorded, 0);
	assert_int_equal(group_stats().used, 0);
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

/* ---- final reports --------------------------------------------------------------- */

static struct slot_counts played; /* the events' map, as the kernel programs write it */
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

	open_groups(state);
	played = ours;
	played.fds[0] = dup(fd);
	assert_int_equal(slot_counts_open(&played, &err), 0);
	assert_int_equal(slot_counts_open(&ours, &err), 0);
	assert_int_equal(unit_counts_new(units, &ours, &env.unit_perf, &err), 0);
	env.step_groups = groups;
	assert_int_equal(unit_finals_new(&env, &env.unit_finals), 0);
	options.perf_software = true;
	return 0;
}

static int close_finals(void **state)
{
	unit_finals_free(env.unit_finals);
	unit_counts_free(env.unit_perf);
	slot_counts_close(&played);
	env.unit_finals = NULL;
	env.unit_perf = NULL;
	env.step_groups = NULL;
	return close_groups(state);
}

static void play_faults(uint32_t slot, unsigned long long faults)
{
	((struct perf_counts *)(void *)played.words)[slot].minor_faults = faults;
}

/* Faults of the unit in its final report, -1: not known */
static int64_t told_faults(void)
{
	report_init(&final, REPORT_FINAL, MANAGER_SLURM);
	unit_finals_look(env.unit_finals);
	unit_finals_fill(env.unit_finals, units_next(units, 0), &final);
	return report_count_known(&final.counts, COUNT_MINOR_FAULTS)
		       ? (int64_t) final.counts.values[COUNT_MINOR_FAULTS]
		       : -1;
}

static void counts_of_all_steps_are_told_once_their_groups_are_gone(void **state)
{
	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_faults(slot, 5);
	pass_ms(10);
	unit_finals_look(env.unit_finals);
	assert_false(unit_finals_settled(env.unit_finals, units_next(units, 0)));
	assert_int_equal(told_faults(), -1);
	play_faults(slot, 7);
	play_rmdir(slot, 400, 4096);
	unit_finals_look(env.unit_finals);
	assert_true(unit_finals_settled(env.unit_finals, units_next(units, 0)));
	assert_int_equal(told_faults(), 7);
	/* the slot is given back, and then another's */
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(group_stats().used, 0);
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

	unit_finals_free(env.unit_finals);
	unit_counts_free(env.unit_perf);
	start_again(true);
	assert_int_equal(slot_counts_open(&ours, &err), 0);
	assert_int_equal(unit_counts_new(units, &ours, &env.unit_perf, &err), 0);
	env.step_groups = groups;
	assert_int_equal(unit_finals_new(&env, &env.unit_finals), 0);
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
	r.boottime_ns = r.realtime_ns = now;
	record_add_cgroup(&r, CGROUP_UNIFIED, PATH_OTHER);
	assert_int_equal(units_apply(units, &r, ring_pos++, now, now, &err), 0);
}

static void counts_of_a_step_that_ended_before_a_restart_are_told(void **state)
{
	const struct units_policy policy = {.max_exported = 16};

	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0), other = play_mkdir(PATH_OTHER, 0);
	send_second(RECORD_STEP_START);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_faults(slot, 7);
	play_faults(other, 20);
	send_record(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 400);
	play_rmdir(slot, 400, 4096);
	pass_ms(2 * GROUP_SETTLE_MS);
	/* not even its step is in the table any more */
	now += 120 * NSEC_PER_SEC;
	units_expire(units, now, &policy);
	assert_int_equal(steps_used(units), 1);
	start_finals_again();
	pass_ms(2 * GROUP_SETTLE_MS);
	assert_int_equal(group_stats().used, 2);
	start_finals_again();
	send_second(RECORD_STEP_STOP);
	play_rmdir(other, 400, 4096);
	assert_int_equal(told_faults(), 27);
	pass_ms(2 * GROUP_SETTLE_MS);
	pass_ms(1);
	assert_int_equal(group_stats().used, 0);
	assert_int_equal(told_faults(), 27);
}

static void counts_are_kept_until_the_final_report_is_in_the_spool(void **state)
{
	(void)state;
	units_reporting(units, true);
	uint32_t slot = play_mkdir(PATH_V2, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_faults(slot, 7);
	send_record(RECORD_STEP_STOP, PATH_V2, CGROUP_UNIFIED, 400);
	play_rmdir(slot, 400, 4096);
	uint32_t unit = units_next(units, 0);
	assert_int_equal(units_get(units, unit)->state, UNIT_ENDED);
	pass_ms(2 * GROUP_SETTLE_MS);
	assert_int_equal(group_stats().used, 1);
	assert_int_equal(told_faults(), 7);
	start_finals_again();
	assert_int_equal(told_faults(), 7);
	pass_ms(2 * GROUP_SETTLE_MS);
	assert_int_equal(group_stats().used, 1);
	assert_int_equal(told_faults(), 7);
	/* it has been written */
	unit_report_close(units, unit, now + NSEC_PER_SEC, now);
	unit_report_move_on(units, unit);
	unit_report_mark(units, unit, REPORT_FINISHED, 0);
	pass_ms(1);
	assert_int_equal(group_stats().used, 0);
	units_reporting(units, false);
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
		pass_ms(GROUP_SETTLE_MS);
		assert_true(group_stats().used <= GROUP_LAB_SLOTS / 16 + 1);
	}
	assert_int_equal(group_stats().used, GROUP_LAB_SLOTS / 16 + 1);
	send_second(RECORD_STEP_STOP);
	play_rmdir(other, 400, 4096);
	assert_int_equal(told_faults(), steps);
}

static void nothing_is_told_of_a_unit_with_a_step_that_was_not_followed(void **state)
{
	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	struct record r;
	struct err err;
	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.step = 1;
	r.boottime_ns = r.realtime_ns = now;
	assert_int_equal(units_apply(units, &r, ring_pos++, now, now, &err), 0);
	play_faults(slot, 7);
	play_rmdir(slot, 400, 4096);
	assert_int_equal(told_faults(), -1);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(told_faults(), -1);
}

static void nothing_is_told_of_a_unit_that_was_there_before_the_programs(void **state)
{
	(void)state;
	uint32_t slot = play_mkdir(PATH_V2, 0);
	kernel.slots[slot].has |= GROUP_SLOT_ADOPTED;
	send_record(RECORD_STEP_START, PATH_V2, CGROUP_UNIFIED, 0);
	play_faults(slot, 7);
	play_rmdir(slot, 400, 4096);
	assert_int_equal(told_faults(), -1);
	pass_ms(GROUP_SETTLE_MS);
	assert_int_equal(told_faults(), -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_groups, close_groups)
		TEST(a_step_of_which_no_record_tells_is_counted),
		TEST(both_hierarchies_of_v1_are_one_step),
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
		TEST(what_two_runs_of_a_job_count_is_told_apart),
		TEST(a_slot_that_a_killed_ceemsd_was_giving_back_comes_back),
		TEST(what_ends_during_a_restart_is_counted_once),
		TEST(what_lives_and_ends_while_nobody_looks_is_counted),
		TEST(what_an_earlier_table_may_have_had_is_not_counted),
		TEST(a_step_of_records_is_known_after_a_restart),
		TEST(a_stop_that_found_the_table_full_is_not_counted_again),
		TEST(damage_stays_within_bounds),
		cmocka_unit_test(sizes_that_make_no_sense_are_refused),
#define FINALS(name) cmocka_unit_test_setup_teardown(name, open_finals, close_finals)
		FINALS(counts_of_all_steps_are_told_once_their_groups_are_gone),
		FINALS(counts_of_a_step_that_ended_before_a_restart_are_told),
		FINALS(counts_are_kept_until_the_final_report_is_in_the_spool),
		FINALS(slots_of_ended_steps_are_not_kept_from_others),
		FINALS(nothing_is_told_of_a_unit_with_a_step_that_was_not_followed),
		FINALS(nothing_is_told_of_a_unit_that_was_there_before_the_programs),
	};
	log_init("test", LOG_LOGFMT, LOG_EMERG);
	return cmocka_run_group_tests_name("step_groups", tests, NULL, NULL);
}
