/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/running_steps.h"

#include <string.h>
#include <unistd.h>

#include "lib/fs.h"
#include "test/unit/scratch.h"

static char folder[SCRATCH_PATH];
static struct units *units;
static uint64_t pos; /* in the ring */

static int open_table(void **state)
{
	bool made_new;
	(void)state;

	scratch_make(folder);
	int dirfd = fs_opendir_at(AT_FDCWD, folder, NULL);
	assert_int_equal(units_open(dirfd, 64, &units, &made_new, NULL), 0);
	close(dirfd);
	return 0;
}

static int close_table(void **state)
{
	(void)state;
	units_close(units);
	scratch_remove(folder);
	return 0;
}

static void tell_step(uint8_t type, enum record_manager manager, const char *id,
		      uint32_t step)
{
	struct record r;
	char path[64];

	record_init(&r, type, manager);
	record_set(&r, r.unit, sizeof(r.unit), id);
	(void)snprintf(path, sizeof(path), "/job_%s/step_%u", id, step);
	record_add_cgroup(&r, CGROUP_UNIFIED, path);
	r.step = step;
	r.boottime_ns = r.realtime_ns = ++pos;
	assert_int_equal(units_apply(units, &r, pos, pos, pos, NULL), 0);
}

static bool is_of_manager(const struct unit *unit, const struct step *step,
			  const void *arg)
{
	const enum record_manager *manager = arg;

	assert_int_equal(step->state, UNIT_RUNNING);
	return unit->manager == *manager;
}

static void steps_that_run_are_copied_unit_by_unit(void **state)
{
	struct running_steps r = {.count = 0};
	(void)state;

	for (uint32_t step = 0; step < 20; step++) {
		tell_step(RECORD_STEP_START, MANAGER_SLURM, "7", step);
		tell_step(RECORD_STEP_START, MANAGER_SLURM, "8", step);
	}
	tell_step(RECORD_STEP_STOP, MANAGER_SLURM, "8", 3);
	assert_int_equal(running_steps_take(&r, units, NULL, NULL), 0);
	assert_int_equal(r.count, 39);
	for (size_t i = 0; i < r.count; i++) {
		const struct running_step *s = &r.step[i];
		assert_string_equal(s->id, i < 20 ? "7" : "8");
		assert_int_equal(s->serial, unit_serial(units, s->unit));
		assert_int_equal(s->cgroup_count, 1);
		assert_string_not_equal(s->cgroups[0].path, "/job_8/step_3");
	}
	running_steps_done(&r);
	assert_int_equal(r.count, 0);
}

static void those_that_are_not_wanted_are_left_out(void **state)
{
	const enum record_manager wanted = MANAGER_K8S;
	struct running_steps r = {.count = 0};
	(void)state;

	tell_step(RECORD_STEP_START, MANAGER_SLURM, "7", 0);
	tell_step(RECORD_STEP_START, MANAGER_K8S, "pod", 0);
	assert_int_equal(running_steps_take(&r, units, is_of_manager, &wanted), 0);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.step[0].id, "pod");
	assert_int_equal(r.step[0].manager, MANAGER_K8S);
	running_steps_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(steps_that_run_are_copied_unit_by_unit,
						open_table, close_table),
		cmocka_unit_test_setup_teardown(those_that_are_not_wanted_are_left_out,
						open_table, close_table),
	};
	return cmocka_run_group_tests_name("running_steps_test", tests, NULL, NULL);
}
