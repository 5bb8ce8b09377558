/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/keep.h"

#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "test/unit/cgroup_fixture.h"

#define STEP "cg/cpuacct/slurm_n1/uid_5/job_7/step_extern"

struct world {
	char cgroup[96];
	struct keep k;
	struct err err;
};

/* A tree as Slurm leaves it when its node has started: no user, no job */
static int make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	scratch_make(scratch);
	scratch_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(w->cgroup, sizeof(w->cgroup), "%s/cg", scratch);
	make_dirs("cg/cpuacct/slurm_n1/");
	make_dirs("cg/memory/slurm_n1/");
	*state = w;
	return 0;
}

static int remove_world(void **state)
{
	struct world *w = *state;

	close(scratch_fd);
	scratch_remove(scratch);
	free(w);
	return 0;
}

static bool is_there(const char *path)
{
	return faccessat(scratch_fd, path, F_OK, 0) == 0;
}

static int make_group(struct world *w, const char *slurm)
{
	return keep_make(&w->k, w->cgroup, slurm, 5, 7, &w->err);
}

static void the_group_is_made_and_removed_with_what_is_above_it(void **state)
{
	struct world *w = *state;
	mode_t was = umask(077);
	struct stat st;

	assert_int_equal(make_group(w, "/slurm_n1"), 0);
	umask(was);
	assert_string_equal(w->k.step, "/slurm_n1/uid_5/job_7/step_extern");
	assert_int_equal(fstatat(scratch_fd, STEP, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(fstatat(scratch_fd, "cg/cpuacct/slurm_n1/uid_5", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_false(is_there("cg/memory/slurm_n1/uid_5"));
	keep_remove(&w->k);
	assert_false(is_there("cg/cpuacct/slurm_n1/uid_5"));
	assert_true(is_there("cg/cpuacct/slurm_n1"));
	keep_remove(&w->k); /* fini() and the exit */
}

static void a_group_that_a_killed_slurmstepd_left_is_taken_over(void **state)
{
	struct world *w = *state;

	make_dirs(STEP "/");
	assert_int_equal(make_group(w, "/slurm_n1"), 0);
	keep_remove(&w->k);
	assert_false(is_there("cg/cpuacct/slurm_n1/uid_5"));
}

static void what_is_in_use_stays(void **state)
{
	struct world *w = *state;

	assert_int_equal(make_group(w, "/slurm_n1"), 0);
	make_dirs("cg/cpuacct/slurm_n1/uid_5/job_8/");
	keep_remove(&w->k);
	assert_false(is_there("cg/cpuacct/slurm_n1/uid_5/job_7"));
	assert_true(is_there("cg/cpuacct/slurm_n1/uid_5/job_8"));

	assert_int_equal(make_group(w, "/slurm_n1"), 0);
	make_dirs(STEP "/task_0/"); /* pam_slurm_adopt: Slurm removes it */
	keep_remove(&w->k);
	assert_true(is_there(STEP "/task_0"));
}

static void without_v1_or_a_group_of_slurms_nothing_is_made(void **state)
{
	struct world *w = *state;
	char deep[RECORD_CGROUP_MAX] = "/";

	assert_int_equal(make_group(w, "/slurm_n2"), -ENOENT);
	assert_false(is_there("cg/cpuacct/slurm_n2"));
	assert_int_equal(make_group(w, "/slurm_n1/../.."), -EINVAL);
	assert_int_equal(make_group(w, "slurm_n1"), -EINVAL);
	assert_int_equal(make_group(w, "/"), -EINVAL);
	assert_int_equal(make_group(w, ""), -EINVAL);
	memset(deep + 1, 'n', sizeof(deep) - 2);
	assert_int_equal(make_group(w, deep), -EINVAL);
	put("cg/cgroup.controllers", "cpu memory\n");
	assert_int_equal(make_group(w, "/slurm_n1"), -ENODEV);
	assert_false(is_there("cg/cpuacct/slurm_n1/uid_5"));
	keep_remove(&w->k); /* nothing to do */
}

static void a_group_that_cannot_be_made_leaves_none_behind(void **state)
{
	struct world *w = *state;

	put("cg/cpuacct/slurm_n1/uid_5/job_7", "a file in its place");
	assert_int_equal(make_group(w, "/slurm_n1"), -ENOTDIR);
	assert_int_equal(unlinkat(scratch_fd, "cg/cpuacct/slurm_n1/uid_5/job_7", 0), 0);
	make_dirs("cg/cpuacct/slurm_n1/uid_5/job_7/");
	assert_int_equal(make_group(w, "/slurm_n1"), 0);
	keep_remove(&w->k);
	assert_false(is_there("cg/cpuacct/slurm_n1/uid_5"));
}

/* Slurm's lock held by somebody else is not waited for without end. Without it the
 * user's group is not touched: another job of hers may be about to fill it. */
static void a_lock_that_is_held_is_not_waited_for_without_end(void **state)
{
	struct world *w = *state;

	auto_close int held = openat(scratch_fd, "cg/cpuacct", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(held, LOCK_EX), 0);
	assert_int_equal(make_group(w, "/slurm_n1"), -EBUSY);
	assert_false(is_there("cg/cpuacct/slurm_n1/uid_5"));
	assert_int_equal(flock(held, LOCK_UN), 0);
	assert_int_equal(make_group(w, "/slurm_n1"), 0);
	assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0); /* given back */
	keep_remove(&w->k);
	assert_false(is_there("cg/cpuacct/slurm_n1/uid_5/job_7"));
	assert_true(is_there("cg/cpuacct/slurm_n1/uid_5"));
}

static void a_forked_child_that_exits_removes_nothing(void **state)
{
	struct world *w = *state;
	int status;

	assert_int_equal(make_group(w, "/slurm_n1"), 0);
	pid_t child = fork();
	if (child == 0) {
		keep_remove(&w->k);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(is_there(STEP));
	keep_remove(&w->k);
	assert_false(is_there(STEP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, make_world, remove_world)
		T(the_group_is_made_and_removed_with_what_is_above_it),
		T(a_group_that_a_killed_slurmstepd_left_is_taken_over),
		T(what_is_in_use_stays),
		T(without_v1_or_a_group_of_slurms_nothing_is_made),
		T(a_group_that_cannot_be_made_leaves_none_behind),
		T(a_lock_that_is_held_is_not_waited_for_without_end),
		T(a_forked_child_that_exits_removes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
