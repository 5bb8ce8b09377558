/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's side of the maps is played here; the kernel itself is in
 * test/e2e/ebpf_hardware.sh and vm_hardware.sh. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "daemon/energy.h"
#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_activity.h"
#include "daemon/groups/unit_counts.h"
#include "daemon/groups/unit_finals.h"
#include "daemon/groups/unit_hardware.h"
#include "lib/records/perf_cells.h"
#include "lib/records/ring.h"
#include "test/unit/group_lab.h"
#include "test/unit/node.h"
#include "test/unit/scratch.h"

extern const struct collector collector_perf;
static const struct collector *const c = &collector_perf;

#define STRIPES 2u
enum { GROUP_CYCLES, GROUP_BRANCHES, GROUP_L1D, GROUPS };

static char folder[SCRATCH_PATH];
static struct node n;
static struct group_slots kernel_slots;
static struct step_groups *groups;
static struct unit_counts *software;
static struct unit_hardware *hardware;
static struct hardware_counts *kernel; /* another mapping of the same maps */
static struct hardware_control *control;
static const size_t kernel_bytes =
	(size_t)GROUP_LAB_SLOTS * GROUPS * STRIPES * sizeof(struct hardware_counts);
static uint64_t pos; /* in the ring */

static void open_software(void)
{
	struct slot_counts slots = {
		.slots = GROUP_LAB_SLOTS,
		.stripes = 1,
		.kinds = 1,
		.fd_count = 1,
		.fds = {group_lab_map(GROUP_LAB_SLOTS * sizeof(struct perf_counts))}};
	struct err err;

	assert_int_equal(slot_counts_open(&slots, &err), 0);
	assert_int_equal(unit_counts_new(n.env.units, &slots, &software, &err), 0);
}

static void open_hardware(void)
{
	struct opened_part part = {.fd_count = HARDWARE_FDS, .count = GROUP_LAB_SLOTS};
	struct hardware_slots slots;
	struct err err;
	int pair[2];

	part.detail[HARDWARE_DETAIL_STRIPES] = STRIPES;
	part.detail[HARDWARE_DETAIL_GROUPS] = GROUPS;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
			 0);
	close(pair[1]);
	part.fds[HARDWARE_FD_COUNTS] = group_lab_map(kernel_bytes);
	part.fds[HARDWARE_FD_CONTROL] = group_lab_map(sizeof(*control));
	part.fds[HARDWARE_FD_EVENTS] = -1;
	part.fds[HARDWARE_FD_LEADERS] = pair[0];
	part.fds[HARDWARE_FD_SWITCHED] = -1;
	kernel = mmap(NULL, kernel_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      part.fds[HARDWARE_FD_COUNTS], 0);
	control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED,
		       part.fds[HARDWARE_FD_CONTROL], 0);
	assert_true(kernel != MAP_FAILED && control != MAP_FAILED);
	control->groups = GROUPS;
	control->events = 5;
	control->group_events[GROUP_CYCLES] =
		1u << HARDWARE_CYCLES | 1u << HARDWARE_INSTRUCTIONS;
	control->group_events[GROUP_BRANCHES] =
		1u << HARDWARE_BRANCHES | 1u << HARDWARE_BRANCH_MISSES;
	control->group_events[GROUP_L1D] = 1u << HARDWARE_L1D_READS;
	control->refused[HARDWARE_REF_CYCLES] = -ENOENT;
	assert_int_equal(hardware_slots_open(&slots, &part, &err), 0);
	assert_int_equal(unit_hardware_new(&n.env, &slots, &hardware, &err), 0);
}

static int open_lab(void **state)
{
	struct group_slots ours;
	bool made_new;
	struct err err;

	(void)state;
	scratch_make(folder);
	node_init(&n, "test/fixture/node_x86");
	int dirfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_int_equal(units_open(dirfd, 16, &n.env.units, &made_new, &err), 0);
	close(dirfd);
	group_lab_open(&ours, &kernel_slots);
	assert_int_equal(step_groups_new(&n.env, &ours, &groups, &err), 0);
	n.options.unit_max_exported = 100;
	n.options.collector_perf = true;
	open_software();
	open_hardware();
	n.env.step_groups = groups;
	n.env.unit_perf = software;
	n.env.unit_hardware = hardware;
	return 0;
}

static int close_lab(void **state)
{
	(void)state;
	node_done(&n, c);
	n.state = NULL;
	unit_hardware_free(hardware);
	unit_counts_free(software);
	munmap(kernel, kernel_bytes);
	munmap(control, sizeof(*control));
	step_groups_free(groups);
	group_slots_close(&kernel_slots);
	units_close(n.env.units);
	scratch_remove(folder);
	return 0;
}

/* Step 0 of a job, in a slot */
static uint32_t start_unit(const char *id, uint32_t slot, uint32_t flags)
{
	struct group_slot *s = &kernel_slots.slots[slot];
	struct record r;
	struct err err;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), id);
	record_set(&r, r.node, sizeof(r.node), "n1");
	(void)snprintf(s->path, sizeof(s->path), "/slurm_n1/uid_7/job_%s/step_0", id);
	record_add_cgroup(&r, CGROUP_CPUACCT, s->path);
	r.flags = flags;
	r.boottime_ns = r.realtime_ns = NSEC_PER_SEC;
	assert_int_equal(
		units_apply(n.env.units, &r, pos++, NSEC_PER_SEC, NSEC_PER_SEC, &err),
		0);
	s->state = GROUP_SLOT_LIVES;
	return units_find_newest(n.env.units, MANAGER_SLURM, "n1", id);
}

static void end_unit(const char *id)
{
	struct record r;
	struct err err;

	record_init(&r, RECORD_STEP_STOP, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), id);
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.flags = RECORD_LAST;
	r.boottime_ns = r.realtime_ns = 2 * NSEC_PER_SEC;
	assert_int_equal(units_apply(n.env.units, &r, pos++, 2 * NSEC_PER_SEC,
				     2 * NSEC_PER_SEC, &err),
			 0);
}

static void play_counts(uint32_t slot, uint32_t group, uint32_t stripe,
			struct hardware_counts counts)
{
	kernel[(slot * GROUPS + group) * STRIPES + stripe] = counts;
}

static struct hardware_total total_of(uint32_t unit)
{
	struct hardware_total t;

	unit_hardware_update(hardware);
	unit_hardware_total(hardware, unit, &t);
	return t;
}

static bool sample_is_shown(const char *sample)
{
	assert_int_equal(node_collect(&n, c), 0);
	return strstr(n.text.data, sample);
}

static void events_of_a_unit_are_exported(void **state)
{
	(void)state;
	n.options.perf_hardware = n.options.perf_cache = true;
	(void)start_unit("7", 3, 0);
	play_counts(3, GROUP_CYCLES, 0,
		    (struct hardware_counts){{1000, 1500}, 2000000000, 2000000000});
	play_counts(3, GROUP_CYCLES, 1, (struct hardware_counts){{10, 15}, 20, 20});
	play_counts(3, GROUP_BRANCHES, 0,
		    (struct hardware_counts){{100, 1}, 2000000000, 500000000});
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_perf_hardware.prom");
}

static void a_count_is_scaled_by_the_share_of_its_time(void **state)
{
	uint32_t unit = start_unit("7", 3, RECORD_PERF_HW);

	(void)state;
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{100, 300}, 40, 10});
	struct hardware_total t = total_of(unit);
	assert_int_equal(t.values[HARDWARE_CYCLES], 400);
	assert_int_equal(t.values[HARDWARE_INSTRUCTIONS], 1200);
	assert_int_equal(t.enabled_ns[HARDWARE_INSTRUCTIONS], 40);
	assert_int_equal(t.running_ns[HARDWARE_INSTRUCTIONS], 10);
}

static void a_scaled_count_never_falls(void **state)
{
	uint32_t unit = start_unit("7", 3, RECORD_PERF_HW);

	(void)state;
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{100}, 100, 10});
	assert_int_equal(total_of(unit).values[HARDWARE_CYCLES], 1000);
	/* as a whole it would be 100 * 200 / 110 now */
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{100}, 200, 110});
	assert_int_equal(total_of(unit).values[HARDWARE_CYCLES], 1000);
	/* a time without a counter waits for the next with one */
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{100}, 300, 110});
	assert_int_equal(total_of(unit).values[HARDWARE_CYCLES], 1000);
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{150}, 400, 210});
	assert_int_equal(total_of(unit).values[HARDWARE_CYCLES], 1100);
}

static void counts_stay_when_a_step_has_ended(void **state)
{
	uint32_t unit = start_unit("7", 3, RECORD_PERF_HW);

	(void)state;
	play_counts(3, GROUP_CYCLES, 1, (struct hardware_counts){{5, 6}, 7, 7});
	unit_hardware_end_slot(hardware, 3, unit);
	kernel_slots.slots[3].state = GROUP_SLOT_FREE;
	assert_int_equal(kernel[3 * GROUPS * STRIPES + 1].values[0], 0);
	assert_int_equal(total_of(unit).values[HARDWARE_INSTRUCTIONS], 6);
}

static void an_event_that_never_had_a_counter_is_absent(void **state)
{
	uint32_t unit = start_unit("7", 3, RECORD_PERF_HW);

	(void)state;
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{1, 1}, 9, 9});
	play_counts(3, GROUP_BRANCHES, 0, (struct hardware_counts){{0, 0}, 9, 0});
	assert_int_equal(total_of(unit).events,
			 1u << HARDWARE_CYCLES | 1u << HARDWARE_INSTRUCTIONS);
	assert_int_equal(unit_hardware_state(hardware, HARDWARE_BRANCHES),
			 HARDWARE_COUNTS);
}

static void an_event_that_never_counts_is_absent_until_it_does(void **state)
{
	uint32_t unit = start_unit("7", 3, RECORD_PERF_HW);
	uint32_t other = start_unit("8", 4, RECORD_PERF_HW);

	(void)state;
	play_counts(3, GROUP_BRANCHES, 0, (struct hardware_counts){{9, 0}, 9, 9});
	assert_int_equal(total_of(unit).events, 1u << HARDWARE_BRANCHES);
	assert_int_equal(unit_hardware_state(hardware, HARDWARE_BRANCH_MISSES),
			 HARDWARE_SILENT);
	play_counts(4, GROUP_BRANCHES, 0, (struct hardware_counts){{9, 1}, 9, 9});
	assert_int_equal(total_of(other).values[HARDWARE_BRANCH_MISSES], 1);
	/* then it is a 0 that was measured */
	assert_int_equal(total_of(unit).events,
			 1u << HARDWARE_BRANCHES | 1u << HARDWARE_BRANCH_MISSES);
	assert_int_equal(unit_hardware_state(hardware, HARDWARE_REF_CYCLES),
			 HARDWARE_REFUSED);
	assert_int_equal(unit_hardware_state(hardware, HARDWARE_LL_READS),
			 HARDWARE_NOT_ASKED);
}

static struct report final;

static bool has_final_count(unsigned count, uint64_t value)
{
	return report_count_known(&final.counts, count) &&
	       final.counts.values[count] == value;
}

static void tell_final(uint32_t unit)
{
	report_init(&final, REPORT_FINAL, MANAGER_SLURM);
	assert_int_equal(unit_finals_new(&n.env, &n.env.unit_finals), 0);
	unit_finals_fill(n.env.unit_finals, unit, &final);
	unit_finals_free(n.env.unit_finals);
	n.env.unit_finals = NULL;
}

static void what_ran_in_a_unit_is_in_its_final_report(void **state)
{
	uint32_t unit = start_unit("7", 3, RECORD_PERF_HW);
	uint64_t known =
		UINT64_C(3) << COUNT_HARDWARE | UINT64_C(3) << COUNT_EVENTS_ENABLED_NS;

	(void)state;
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{100, 300}, 40, 10});
	play_counts(3, GROUP_BRANCHES, 0, (struct hardware_counts){{0, 0}, 40, 0});
	/* not asked for */
	play_counts(3, GROUP_L1D, 0, (struct hardware_counts){{5}, 40, 40});
	kernel_slots.slots[3].has = GROUP_SLOT_CPU;
	tell_final(unit);
	assert_int_equal(final.counts.known[0], 0); /* it still runs */
	kernel_slots.slots[3].ended_ns = 2 * NSEC_PER_SEC;
	kernel_slots.slots[3].state = GROUP_SLOT_ENDED;
	tell_final(unit);
	assert_int_equal(final.counts.known[0], known);
	assert_true(has_final_count(COUNT_HARDWARE + HARDWARE_CYCLES, 400));
	assert_true(has_final_count(COUNT_HARDWARE + HARDWARE_INSTRUCTIONS, 1200));
	assert_true(has_final_count(COUNT_EVENTS_ENABLED_NS, 40));
	assert_true(has_final_count(COUNT_EVENTS_RUNNING_NS, 10));
}

static void a_slot_has_its_own_counts(void **state)
{
	struct hardware_total t;

	(void)state;
	(void)total_of(start_unit("7", 3, RECORD_PERF_HW));
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{100, 300}, 40, 20});
	play_counts(3, GROUP_CYCLES, 1, (struct hardware_counts){{100, 300}, 40, 20});
	play_counts(4, GROUP_CYCLES, 0, (struct hardware_counts){{7, 7}, 7, 7});
	(void)total_of(0);
	unit_hardware_slot(hardware, 3, &t);
	assert_int_equal(t.values[HARDWARE_CYCLES], 400);
	assert_int_equal(t.values[HARDWARE_INSTRUCTIONS], 1200);
	assert_int_equal(t.enabled_ns[HARDWARE_CYCLES], 80);
	assert_int_equal(t.events, 3);
	unit_hardware_slot(hardware, 5, &t);
	assert_int_equal(t.events, 0);
}

static void names_of_counts_are_those_of_the_events(void **state)
{
	(void)state;
	assert_string_equal(report_count_name(COUNT_HARDWARE + HARDWARE_CYCLES),
			    "cpu_cycles");
	assert_string_equal(report_count_name(COUNT_HARDWARE + HARDWARE_BRANCH_MISSES),
			    "branch_misses");
	assert_string_equal(report_count_name(COUNT_HARDWARE + HARDWARE_LL_READ_MISSES),
			    "llc_read_misses");
	assert_string_equal(
		report_count_name(COUNT_HARDWARE + HARDWARE_BPU_READ_MISSES),
		"bpu_read_misses");
	assert_string_equal(report_count_name(COUNT_EVENTS_ENABLED_NS),
			    "events_enabled_ns");
	assert_null(report_count_name(REPORT_COUNTS));
}

static void units_are_shown_the_kinds_that_they_ask_for(void **state)
{
	const struct hardware_counts some = {{9, 9}, 9, 9};
	const char *const ids[] = {"7", "8", "9"};
	const uint32_t flags[] = {0, RECORD_PERF_HW, RECORD_PERF_CACHE};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		(void)start_unit(ids[i], i, flags[i]);
		for (uint32_t g = 0; g < GROUPS; g++)
			play_counts(i, g, 0, some);
	}
	node_open(&n, c);
	assert_false(sample_is_shown("uuid=\"7\""));
	assert_true(sample_is_shown("ceems_perf_cpucycles_total{manager=\"slurm\","
				    "hostname=\"host\",uuid=\"8\"} 9\n"));
	assert_false(sample_is_shown("ceems_perf_cpucycles_total{manager=\"slurm\","
				     "hostname=\"host\",uuid=\"9\"}"));
	assert_true(sample_is_shown("ceems_perf_cache_l1d_read_hits_total{manager="
				    "\"slurm\",hostname=\"host\",uuid=\"9\"} 9\n"));
}

static void events_are_armed_while_a_unit_asks(void **state)
{
	uint64_t now = NSEC_PER_SEC;

	(void)state;
	(void)start_unit("6", 2, 0);
	unit_hardware_tick(hardware, now);
	assert_false(unit_hardware_armed(hardware));
	(void)start_unit("7", 3, RECORD_PERF_HW);
	unit_hardware_tick(hardware, now);
	assert_true(unit_hardware_armed(hardware));
	assert_int_equal(control->armed_groups,
			 1u << GROUP_CYCLES | 1u << GROUP_BRANCHES);
	unsigned before = control->armed;
	(void)start_unit("8", 4, RECORD_PERF_CACHE);
	unit_hardware_tick(hardware, now);
	assert_int_equal(control->armed_groups, (1u << GROUPS) - 1);
	/* the others go on counting */
	assert_int_equal(control->armed, before);
	end_unit("8");
	unit_hardware_tick(hardware, now);
	assert_int_equal(control->armed_groups, (1u << GROUPS) - 1);
	now += HARDWARE_IDLE_MS * NSEC_PER_MSEC;
	unit_hardware_tick(hardware, now);
	assert_int_equal(control->armed_groups,
			 1u << GROUP_CYCLES | 1u << GROUP_BRANCHES);
	end_unit("7");
	unit_hardware_tick(hardware, now + HARDWARE_IDLE_MS * NSEC_PER_MSEC);
	assert_false(unit_hardware_armed(hardware));
}

static void who_asks_waits_until_its_events_are_armed(void **state)
{
	uint64_t now = NSEC_PER_SEC;

	(void)state;
	unit_hardware_tick(hardware, now);
	assert_int_equal(unit_hardware_ready(hardware), 0);
	(void)start_unit("7", 3, RECORD_PERF_HW);
	unit_hardware_tick(hardware, now);
	assert_int_equal(unit_hardware_ready(hardware), RING_ARMED_HARDWARE);
	(void)start_unit("8", 4, RECORD_PERF_CACHE);
	unit_hardware_tick(hardware, now);
	assert_int_equal(unit_hardware_ready(hardware),
			 RING_ARMED_HARDWARE | RING_ARMED_CACHE);
	end_unit("8");
	unit_hardware_tick(hardware, now);
	assert_int_equal(unit_hardware_ready(hardware),
			 RING_ARMED_HARDWARE | RING_ARMED_CACHE);
	/* still armed, but not for long */
	now += (HARDWARE_IDLE_MS - HARDWARE_LEAVE_MS) * NSEC_PER_MSEC;
	unit_hardware_tick(hardware, now);
	assert_int_equal(unit_hardware_ready(hardware), RING_ARMED_HARDWARE);
	assert_int_equal(control->armed_groups, (1u << GROUPS) - 1);
}

static void nobody_waits_for_events_that_there_are_not(void **state)
{
	(void)state;
	control->group_events[GROUP_L1D] = 0;
	unit_hardware_tick(hardware, NSEC_PER_SEC);
	assert_int_equal(unit_hardware_ready(hardware), RING_ARMED_CACHE);
}

static uint32_t activity_of(const struct unit_activity *a, uint32_t unit)
{
	return unit_activity_ppm(a)[unit];
}

static void cpu_time_weighs_by_its_cycles_and_instructions(void **state)
{
	const uint64_t ns = NSEC_PER_SEC;
	uint32_t waits = start_unit("7", 3, RECORD_PERF_HW);
	uint32_t computes = start_unit("8", 4, RECORD_PERF_HW);
	uint32_t other = start_unit("9", 5, 0);
	struct unit_activity *a;
	struct err err;

	(void)state;
	assert_int_equal(unit_activity_new(&n.env, &a, &err), 0);
	unit_activity_look(a);
	assert_int_equal(activity_of(a, waits), ENERGY_ONE_PPM);
	/* 2 x cycles + instructions: 2 and 6, as long as each other */
	play_counts(3, GROUP_CYCLES, 0, (struct hardware_counts){{ns, 0}, ns, ns});
	play_counts(4, GROUP_CYCLES, 0, (struct hardware_counts){{ns, 4 * ns}, ns, ns});
	unit_activity_look(a);
	assert_in_range(activity_of(a, waits), 499999, 500000);
	assert_in_range(activity_of(a, computes), 1499999, 1500000);
	assert_int_equal(activity_of(a, other), ENERGY_ONE_PPM);
	/* nothing since then */
	unit_activity_look(a);
	assert_int_equal(activity_of(a, computes), ENERGY_ONE_PPM);
	/* alone it is its own mean */
	play_counts(4, GROUP_CYCLES, 0,
		    (struct hardware_counts){{9 * ns, 9 * ns}, 2 * ns, 2 * ns});
	unit_activity_look(a);
	assert_in_range(activity_of(a, computes), 999999, 1000000);
	/* what makes no sense has bounds */
	play_counts(3, GROUP_CYCLES, 0,
		    (struct hardware_counts){{ns, 1}, 1000 * ns, 1000 * ns});
	play_counts(4, GROUP_CYCLES, 0,
		    (struct hardware_counts){{99 * ns, 99 * ns}, 3 * ns, 3 * ns});
	unit_activity_look(a);
	assert_int_equal(activity_of(a, waits), ACTIVITY_LEAST_PPM);
	assert_int_equal(activity_of(a, computes), ACTIVITY_MOST_PPM);
	unit_activity_free(a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_lab, close_lab)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_of_a_unit_are_exported),
		TEST(a_count_is_scaled_by_the_share_of_its_time),
		TEST(a_scaled_count_never_falls),
		TEST(counts_stay_when_a_step_has_ended),
		TEST(an_event_that_never_had_a_counter_is_absent),
		TEST(an_event_that_never_counts_is_absent_until_it_does),
		TEST(what_ran_in_a_unit_is_in_its_final_report),
		TEST(a_slot_has_its_own_counts),
		cmocka_unit_test(names_of_counts_are_those_of_the_events),
		TEST(units_are_shown_the_kinds_that_they_ask_for),
		TEST(events_are_armed_while_a_unit_asks),
		TEST(cpu_time_weighs_by_its_cycles_and_instructions),
		TEST(who_asks_waits_until_its_events_are_armed),
		TEST(nobody_waits_for_events_that_there_are_not),
	};
	return cmocka_run_group_tests_name("unit_hardware", tests, NULL, NULL);
}
