/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's side of the map is played here; the kernel itself is in
 * test/e2e/ebpf_perf.sh. */
#include <errno.h>
#include <stdio.h>

#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_counts.h"
#include "lib/records/perf_cells.h"
#include "test/unit/group_lab.h"
#include "test/unit/node.h"
#include "test/unit/scratch.h"

extern const struct collector collector_perf;
static const struct collector *const c = &collector_perf;

#define STRIPES 2u

static char folder[SCRATCH_PATH];
static struct node n;
static struct group_slots kernel_slots;
static struct step_groups *groups;
static struct perf_counts *kernel; /* another mapping of the same map */
static size_t kernel_bytes;
static struct unit_counts *perf;
static uint64_t pos; /* in the ring */

static void open_perf_slots(struct slot_counts *ours)
{
	struct err err;

	kernel_bytes = GROUP_LAB_SLOTS * STRIPES * sizeof(*kernel);
	int fd = group_lab_map(kernel_bytes);
	kernel = mmap(NULL, kernel_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(kernel != MAP_FAILED);
	*ours = (struct slot_counts){.slots = GROUP_LAB_SLOTS,
				     .stripes = STRIPES,
				     .kinds = 1,
				     .fd_count = 1,
				     .fds = {fd}};
	assert_int_equal(slot_counts_open(ours, &err), 0);
}

static int open_perf(void **state)
{
	struct group_slots ours;
	struct slot_counts slots;
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
	open_perf_slots(&slots);
	assert_int_equal(unit_counts_new(n.env.units, &slots, &perf, &err), 0);
	n.env.step_groups = groups;
	n.env.unit_perf = perf;
	n.options.unit_max_exported = 100;
	n.options.perf_software = true;
	return 0;
}

static int close_perf(void **state)
{
	(void)state;
	node_done(&n, c);
	n.state = NULL;
	unit_counts_free(perf);
	munmap(kernel, kernel_bytes);
	step_groups_free(groups);
	group_slots_close(&kernel_slots);
	units_close(n.env.units);
	scratch_remove(folder);
	return 0;
}

static uint32_t start_step(const char *id, uint32_t step, uint32_t flags)
{
	struct record r;
	char path[128];
	struct err err;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), id);
	record_set(&r, r.node, sizeof(r.node), "n1");
	(void)snprintf(path, sizeof(path), "/slurm_n1/uid_7/job_%s/step_%u", id, step);
	record_add_cgroup(&r, CGROUP_CPUACCT, path);
	r.step = step;
	r.flags = flags;
	r.boottime_ns = r.realtime_ns = NSEC_PER_SEC;
	assert_int_equal(
		units_apply(n.env.units, &r, pos++, NSEC_PER_SEC, NSEC_PER_SEC, &err),
		0);
	return units_find_newest(n.env.units, MANAGER_SLURM, "n1", id);
}

static void play_slot(uint32_t slot, const char *path)
{
	struct group_slot *s = &kernel_slots.slots[slot];

	(void)snprintf(s->path, sizeof(s->path), "%s", path);
	s->state = GROUP_SLOT_LIVES;
}

static void play_counts(uint32_t slot, uint32_t stripe, struct perf_counts counts)
{
	kernel[slot * STRIPES + stripe] = counts;
}

static bool sample_is_shown(const char *sample)
{
	assert_int_equal(node_collect(&n, c), 0);
	return strstr(n.text.data, sample);
}

static void running_and_ended_steps_of_a_unit_are_added_up(void **state)
{
	const struct perf_counts many = {.minor_faults = 1000,
					 .major_faults = 10,
					 .switches = 200,
					 .migrations = 30};
	const struct perf_counts few = {.minor_faults = 5, .switches = 1};
	uint32_t unit = start_step("7", 0, 0);

	(void)state;
	(void)start_step("7", 1, 0);
	(void)start_step("8", 0, 0);
	play_slot(3, "/slurm_n1/uid_7/job_7/step_0");
	play_counts(3, 0, many);
	play_counts(3, 1, few);
	unit_counts_end_slot(perf, 3, unit);
	assert_int_equal(kernel[3 * STRIPES].minor_faults, 0);
	kernel_slots.slots[3].state = GROUP_SLOT_FREE;
	play_slot(4, "/slurm_n1/uid_7/job_7/step_1");
	play_counts(4, 1, few);
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_perf.prom");
}

static void with_a_variable_only_units_that_ask_are_shown(void **state)
{
	char *variable = (char *)"ENABLE_PERF";

	(void)state;
	n.options.perf_env_vars = (struct conf_list){.items = &variable, .count = 1};
	(void)start_step("7", 0, 0);
	(void)start_step("8", 0, RECORD_PERF_SW);
	(void)start_step("9", 0, RECORD_PERF_HW);
	node_open(&n, c);
	assert_true(sample_is_shown("uuid=\"8\""));
	assert_false(sample_is_shown("uuid=\"7\""));
	assert_false(sample_is_shown("uuid=\"9\""));
}

static void without_software_events_only_units_that_ask_are_shown(void **state)
{
	(void)state;
	n.options.perf_software = false;
	(void)start_step("7", 0, 0);
	(void)start_step("8", 0, RECORD_PERF_SW);
	node_open(&n, c);
	assert_true(sample_is_shown("uuid=\"8\""));
	assert_false(sample_is_shown("uuid=\"7\""));
}

static void only_the_events_that_are_asked_for_are_shown(void **state)
{
	char *events[] = {(char *)"MajorFault", (char *)"CpuMigration"};

	(void)state;
	n.options.perf_software_profilers =
		(struct conf_list){.items = events, .count = 2};
	(void)start_step("7", 0, 0);
	node_open(&n, c);
	assert_true(sample_is_shown("ceems_perf_major_faults_total{"));
	assert_true(sample_is_shown("ceems_perf_cpu_migrations_total{"));
	assert_false(sample_is_shown("ceems_perf_minor_faults_total"));
	assert_false(sample_is_shown("ceems_perf_context_switches_total"));
}

static void counts_of_an_unknown_step_are_nobodys(void **state)
{
	(void)state;
	(void)start_step("7", 0, 0);
	play_counts(5, 0, (struct perf_counts){.minor_faults = 99});
	unit_counts_end_slot(perf, 5, UNITS_NONE);
	assert_int_equal(kernel[5 * STRIPES].minor_faults, 0);
	node_open(&n, c);
	assert_true(sample_is_shown("ceems_perf_page_faults_total{manager=\"slurm\","
				    "hostname=\"host\",uuid=\"7\"} 0\n"));
}

static void without_kernel_programs_there_are_no_events(void **state)
{
	struct err err;

	(void)state;
	n.env.unit_perf = NULL;
	assert_int_equal(c->open(&n.env, &n.state, &err), -ENODEV);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_perf, close_perf)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(running_and_ended_steps_of_a_unit_are_added_up),
		TEST(with_a_variable_only_units_that_ask_are_shown),
		TEST(without_software_events_only_units_that_ask_are_shown),
		TEST(only_the_events_that_are_asked_for_are_shown),
		TEST(counts_of_an_unknown_step_are_nobodys),
		TEST(without_kernel_programs_there_are_no_events),
	};
	return cmocka_run_group_tests_name("collector_perf", tests, NULL, NULL);
}
