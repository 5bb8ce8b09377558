/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units that lived before the table knew them, on a recorded tree: the job's own group
 * has counted 99 s, its steps 0 and batch 3.001557889 s of them. */
#include "daemon/found.h"

#include "daemon/units_found.h"
#include "daemon/units_report.h"
#include "test/unit/sample_fixture.h"
#include "test/unit/scratch.h"

#define JOB_NS (99 * SEC)
#define STEP_NS 3000000001u
#define BATCH_NS 1557888u

/* by its directory, or by its start record */
static uint32_t meet_step(uint32_t step, const char *name, bool record)
{
	struct record r = rec(RECORD_STEP_START, "41", step);
	char path[128];
	struct err err;

	snprintf(path, sizeof(path), JOB "/%s", name);
	assert_true(record_add_cgroup(&r, ALL, path));
	assert_int_equal(
		record ? apply(&r) : units_apply(u, &r, UINT64_MAX, now, now, &err), 0);
	return units_find(u, MANAGER_SLURM, NODE, "41", 0);
}

static uint64_t total_ns(void)
{
	struct unit_totals t = total_of("41");
	return t.cpu_user_ns + t.cpu_system_ns;
}

static uint64_t before_ns(uint32_t i)
{
	const struct report_before *b = &unit_before(u, i)->all;
	return b->cpu_user_ns + b->cpu_system_ns;
}

/* What the next window tells */
static uint64_t window_ns(uint32_t i)
{
	const struct report_sums *told = &unit_report(u, i)->told;
	struct report_sums sums;

	unit_report_now(u, i, now, &sums);
	return sums.cpu_user_ns + sums.cpu_system_ns - told->cpu_user_ns -
	       told->cpu_system_ns;
}

static bool is_marked(uint32_t i, uint32_t mark)
{
	return units_get(u, i)->marks & mark;
}

static void a_unit_found_has_what_its_group_has_counted(void **state)
{
	(void)state;
	uint32_t i = meet_step(0, "step_0", false);
	assert_true(is_marked(i, UNIT_UNREAD));
	assert_int_equal(units_unread(u), 1);
	found_read_units(&env, s, NULL, true);
	assert_int_equal(units_unread(u), 0);
	assert_true(is_marked(i, UNIT_FOUND));
	assert_int_equal(before_ns(i), JOB_NS);
	assert_int_equal(total_ns(), JOB_NS);
	assert_int_equal(window_ns(i), 0);
	/* its last counters bring what it used since, also to another daemon */
	reopen();
	env.units = u;
	stop_ok("41", 0, 4 * SEC, 1);
	assert_int_equal(total_ns(), JOB_NS + 4 * SEC + 1 - STEP_NS);
	assert_int_equal(window_ns(i), 4 * SEC + 1 - STEP_NS);
}

static void a_start_record_gets_a_second_to_come_first(void **state)
{
	(void)state;
	uint32_t i = meet_step(0, "step_0", false);
	found_read_units(&env, s, NULL, false);
	assert_true(is_marked(i, UNIT_UNREAD));
	now += SEC;
	found_read_units(&env, s, NULL, false);
	assert_true(is_marked(i, UNIT_FOUND));
}

static void a_unit_of_a_record_is_as_it_was(void **state)
{
	(void)state;
	uint32_t i = meet_step(0, "step_0", true);
	assert_false(is_marked(i, UNIT_UNREAD));
	found_read_units(&env, s, NULL, true);
	assert_false(is_marked(i, UNIT_FOUND));
	assert_int_equal(total_ns(), 0);
}

static void of_a_step_with_a_start_record_all_is_told(void **state)
{
	(void)state;
	units_set_anew(u, now);
	uint32_t i = meet_step(0, "step_0", true);
	(void)meet_step(RECORD_STEP_BATCH, "step_batch", false);
	found_read_units(&env, s, NULL, true);
	assert_true(is_marked(i, UNIT_FOUND));
	assert_int_equal(total_ns(), JOB_NS);
	assert_int_equal(window_ns(i), STEP_NS);
	assert_int_equal(before_ns(i), JOB_NS - STEP_NS);
}

static void what_a_step_brings_late_was_in_the_rest(void **state)
{
	(void)state;
	uint32_t i = meet_step(0, "step_0", false);
	found_read_units(&env, s, NULL, true);
	stop_ok("41", 7, 5 * SEC, SEC);
	assert_int_equal(total_ns(), JOB_NS);
	assert_int_equal(window_ns(i), 0);
	/* nor does one count twice that is found later */
	(void)meet_step(RECORD_STEP_BATCH, "step_batch", false);
	assert_true(is_marked(i, UNIT_UNREAD));
	found_read_units(&env, s, NULL, true);
	assert_int_equal(total_ns(), JOB_NS);
	assert_int_equal(before_ns(i), JOB_NS);
	assert_int_equal(unit_before(u, i)->rest.cpu_user_ns +
				 unit_before(u, i)->rest.cpu_system_ns,
			 JOB_NS - 6 * SEC - STEP_NS - BATCH_NS);
}

static void a_stop_without_a_start_tells_of_before(void **state)
{
	(void)state;
	for (int anew = 0; anew < 2; anew++) {
		fresh(16);
		env.units = u;
		sample_free(s);
		s = sample_new(&env);
		units_set_anew(u, anew ? now : 0);
		stop_ok("41", 3, 2 * SEC, 5);
		found_read_units(&env, s, NULL, false);
		assert_int_equal(units_unread(u), 0);
		assert_int_equal(total_ns(), 2 * SEC + 5);
		assert_int_equal(before_ns(0), anew ? 2 * SEC + 5 : 0);
		assert_int_equal(window_ns(0), anew ? 0 : 2 * SEC + 5);
	}
}

static void put_usage(int dirfd, const char *group, unsigned usage_us, unsigned user_us)
{
	char path[256], text[128];
	int n = snprintf(text, sizeof(text),
			 "usage_usec %u\nuser_usec %u\nsystem_usec %u\n", usage_us,
			 user_us, usage_us - user_us);

	(void)snprintf(path, sizeof(path), "job_41%s", group);
	assert_int_equal(mkdirat(dirfd, path, 0700), 0);
	(void)snprintf(path, sizeof(path), "job_41%s/cpu.stat", group);
	assert_int_equal(fs_write_atomic_at(dirfd, path, text, (size_t)n, 0600, NULL),
			 0);
}

/* A job's 223519.6 us, slurmstepd's 148515.8 and the tasks' 75003.8, as v2 cuts them;
 * each group is split into user and system time by itself. */
static void rounding_of_v2_is_not_taken_for_use(void **state)
{
	struct record r = rec(RECORD_STEP_START, "41", 0);
	char tree[SCRATCH_PATH];

	(void)state;
	scratch_make(tree);
	close(env.cgroupfd);
	env.cgroupfd = fs_opendir_at(AT_FDCWD, tree, NULL);
	env.cgroups = (struct cgroup_layout){.unified_only = true, .unified = "."};
	put_usage(env.cgroupfd, "", 223519, 90000);
	put_usage(env.cgroupfd, "/step_0", 223519, 90000);
	put_usage(env.cgroupfd, "/step_0/slurm", 148515, 99000);
	put_usage(env.cgroupfd, "/step_0/user", 75003, 20000);
	assert_true(record_add_cgroup(&r, CGROUP_UNIFIED, "/job_41/step_0"));
	assert_int_equal(units_apply(u, &r, UINT64_MAX, now, now, NULL), 0);
	found_read_units(&env, s, NULL, true);
	assert_int_equal(units_unread(u), 0);
	assert_int_equal(total_ns(), 75003000);
	scratch_remove(tree);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, sample_up, sample_down)
	const struct CMUnitTest tests[] = {
		T(a_unit_found_has_what_its_group_has_counted),
		T(a_start_record_gets_a_second_to_come_first),
		T(a_unit_of_a_record_is_as_it_was),
		T(of_a_step_with_a_start_record_all_is_told),
		T(what_a_step_brings_late_was_in_the_rest),
		T(a_stop_without_a_start_tells_of_before),
		T(rounding_of_v2_is_not_taken_for_use),
	};
	return cmocka_run_group_tests_name("found", tests, setup, teardown);
}
