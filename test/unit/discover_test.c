/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixture trees are made here: what matters is which directories there are. */
#include "daemon/discover.h"
#include "daemon/inhabited.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/units.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static char folder[SCRATCH_PATH];
static int top = -1;
static struct units *units;
static struct options options;
static uint64_t now = 1000000000000ull;

static uint64_t fake_ns(void)
{
	return now;
}

static struct env env = {.sysfd = -1,
			 .hostname = "h",
			 .options = &options,
			 .realtime_ns = fake_ns,
			 .boottime_ns = fake_ns};

/* A directory with all above it, below cgroup/ */
static void make_dir(const char *path)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "cgroup/%s", path);
	assert_true(n > 0 && (size_t)n < sizeof(text));
	for (char *p = text; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdirat(top, text, 0700);
	}
	assert_true(mkdirat(top, text, 0700) == 0 || errno == EEXIST);
}

static void put(const char *path, const char *text)
{
	auto_close int fd =
		openat(top, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

/* A step's directory with a process in it (or some directory below it) */
static void step_in(const char *path, const char *below, const char *procs)
{
	char text[512];
	snprintf(text, sizeof(text), "%s%s", path, below);
	make_dir(text);
	snprintf(text, sizeof(text), "cgroup/%s%s/cgroup.procs", path, below);
	put(text, procs);
}

static void step(const char *path)
{
	step_in(path, "", "4242\n");
}

static void clear(void)
{
	char path[SCRATCH_PATH + 8];
	snprintf(path, sizeof(path), "%s/cgroup", folder);
	scratch_remove(path);
}

static void remove_dir(const char *path)
{
	char text[512];
	snprintf(text, sizeof(text), "%s/cgroup/%s", folder, path);
	scratch_remove(text);
}

static void probe(void)
{
	struct err err;
	if (env.cgroupfd >= 0)
		close(env.cgroupfd);
	env.cgroupfd = openat(top, "cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(env.cgroupfd >= 0);
	assert_int_equal(cgroup_probe(env.cgroupfd, &env.cgroups, &err), 0);
}

static void v1_tree(void)
{
	make_dir("cpu,cpuacct");
	make_dir("memory");
	make_dir("cpuset");
	make_dir("freezer");
	probe();
}

static void v2_tree(void)
{
	make_dir("system.slice");
	put("cgroup/cgroup.controllers", "cpu memory pids\n");
	probe();
}

static int begin(void **state)
{
	(void)state;
	struct err err;
	bool made_new;
	clear();
	mkdirat(top, "cgroup", 0700);
	unlinkat(top, UNITS_PATH_NAME, 0);
	if (units_open(top, 64, &units, &made_new, &err) < 0)
		return -1;
	env.units = units;
	return 0;
}

static int end(void **state)
{
	(void)state;
	units_close(units);
	units = NULL;
	return 0;
}

static int walk(void)
{
	struct err err;
	return discover_walk(&env, &err);
}

static const struct unit *unit_of(const char *node, const char *id)
{
	uint32_t i = units_find(units, MANAGER_SLURM, node, id, 0);
	return i == UNITS_NONE ? NULL : units_get(units, i);
}

static bool has_step(const char *node, const char *id, uint32_t nr)
{
	uint32_t i = units_find(units, MANAGER_SLURM, node, id, 0);
	return i != UNITS_NONE && steps_find(units, i, nr) != UNITS_NONE;
}

static void steps_of_v1_are_found_in_all_hierarchies(void **state)
{
	(void)state;
	v1_tree();
	step("cpu,cpuacct/slurm/uid_1000/job_7/step_0");
	step("memory/slurm/uid_1000/job_7/step_0");
	step("memory/slurm/uid_1000/job_7/step_extern");
	step("freezer/slurm/uid_1000/job_7/step_batch");
	step("cpuset/slurm/uid_1000/job_7/step_interactive");
	assert_int_equal(walk(), 4);
	const struct unit *unit = unit_of("", "7");
	assert_non_null(unit);
	assert_int_equal(unit->uid, 1000);
	assert_true(has_step("", "7", 0) && has_step("", "7", RECORD_STEP_EXTERN) &&
		    has_step("", "7", RECORD_STEP_BATCH) &&
		    has_step("", "7", RECORD_STEP_INTERACTIVE));
	uint32_t i = steps_find_path(units, "/slurm/uid_1000/job_7/step_0");
	assert_true(i != UNITS_NONE);
	const struct step *s = steps_get(units, i);
	assert_int_equal(s->discovered, 1);
	assert_int_equal(s->cgroup_count, 1);
	assert_int_equal(s->cgroups[0].controllers & (CGROUP_CPUACCT | CGROUP_CPU |
						      CGROUP_MEMORY | CGROUP_FREEZER),
			 CGROUP_CPUACCT | CGROUP_CPU | CGROUP_MEMORY);
	assert_int_equal(walk(), 0);
}

static void steps_of_v2_are_found_at_any_depth(void **state)
{
	(void)state;
	v2_tree();
	step_in("system.slice/slurmstepd.scope/job_7/step_0", "/user/task_0", "4242\n");
	/* in a container, and without systemd */
	step("docker/abc/system.slice/slurmstepd.scope/job_8/step_0");
	step("slurmstepd.scope/job_9/step_0");
	step("user.slice/slurmstepd.scope/job_10/step_0");
	assert_int_equal(walk(), 3);
	assert_true(has_step("", "7", 0) && has_step("", "8", 0) &&
		    has_step("", "9", 0));
	assert_null(unit_of("", "10"));
	assert_true(
		steps_find_path(units, "/system.slice/slurmstepd.scope/job_7/step_0") !=
		UNITS_NONE);
}

static void hybrid_machines_are_read_as_v1(void **state)
{
	(void)state;
	make_dir("unified/system.slice");
	put("cgroup/unified/cgroup.controllers", "");
	v1_tree();
	step("cpu,cpuacct/slurm/uid_0/job_7/step_0");
	assert_int_equal(walk(), 1);
	assert_true(has_step("", "7", 0));
}

static void two_slurmd_on_a_host_stay_apart(void **state)
{
	(void)state;
	v1_tree();
	step("memory/slurm_n1/uid_5/job_7/step_0");
	step("memory/slurm_n2/uid_6/job_7/step_0");
	assert_int_equal(walk(), 2);
	assert_int_equal(unit_of("n1", "7")->uid, 5);
	assert_int_equal(unit_of("n2", "7")->uid, 6);
	clear();
	end(NULL);
	begin(NULL);
	v2_tree();
	step("system.slice/n1_slurmstepd.scope/job_7/step_0");
	step("system.slice/n2_slurmstepd.scope/job_7/step_0");
	assert_int_equal(walk(), 2);
	assert_true(has_step("n1", "7", 0) && has_step("n2", "7", 0));
}

static void other_clusters_of_the_host_can_be_left_out(void **state)
{
	(void)state;
	char name[] = "n2", *items[] = {name};
	v1_tree();
	step("memory/slurm_n1/uid_5/job_7/step_0");
	step("memory/slurm_n2/uid_6/job_7/step_0");
	options.slurm_nodes = (struct conf_list){items, 1};
	assert_int_equal(walk(), 1);
	options.slurm_nodes = (struct conf_list){0};
	assert_null(unit_of("n1", "7"));
	assert_non_null(unit_of("n2", "7"));
}

static void a_job_named_by_its_sluid_is_the_job_of_its_records(void **state)
{
	(void)state;
	struct err err;
	v2_tree();
	step("system.slice/slurmstepd.scope/sEBDM82W0NSD00/step_extern");
	assert_int_equal(walk(), 1);
	assert_non_null(unit_of("", "sEBDM82W0NSD00"));
	/* its next step tells the id */
	struct record r;
	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "41");
	record_set(&r, r.sluid, sizeof(r.sluid), "sFORGED");
	r.step = 0;
	r.boottime_ns = now;
	record_add_cgroup(&r, CGROUP_UNIFIED,
			  "/system.slice/slurmstepd.scope/sEBDM82W0NSD00/step_0");
	assert_int_equal(units_apply(units, &r, 0, now, now, &err), 0);
	assert_null(unit_of("", "sEBDM82W0NSD00"));
	assert_true(has_step("", "41", RECORD_STEP_EXTERN) && has_step("", "41", 0));
	/* the group's name is no hint; the environment's word is */
	assert_string_equal(unit_of("", "41")->sluid, "sEBDM82W0NSD00");
	assert_true(unit_of("", "41")->marks & UNIT_SLUID);
	/* and a step found later belongs to it from the start */
	step("system.slice/slurmstepd.scope/sEBDM82W0NSD00/step_1");
	assert_int_equal(walk(), 1);
	assert_true(has_step("", "41", 1));
	assert_int_equal(units_used(units), 1);
}

static void what_has_a_record_is_not_found_again(void **state)
{
	(void)state;
	struct err err;
	v1_tree();
	step("memory/slurm/uid_5/job_7/step_0");
	struct record r;
	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	r.restarts = 2;
	r.boottime_ns = now;
	record_add_cgroup(&r, CGROUP_MEMORY, "/slurm/uid_5/job_7/step_0");
	assert_int_equal(units_apply(units, &r, 0, now, now, &err), 0);
	assert_int_equal(walk(), 0);
	r.type = RECORD_STEP_STOP;
	assert_int_equal(units_apply(units, &r, 1, now, now, &err), 0);
	assert_int_equal(walk(), 0); /* its directory may outlive it a little */
}

static void a_directory_that_stayed_behind_is_no_step(void **state)
{
	(void)state;
	v2_tree();
	step_in("system.slice/slurmstepd.scope/job_7/step_0", "/user/task_0", "");
	/* slurmstepd alone, as it is while it cleans up */
	char text[64];
	put("proc/77/comm", "slurmstepd\n");
	snprintf(text, sizeof(text), "77\n");
	step_in("system.slice/slurmstepd.scope/job_8/step_0", "/slurm", text);
	put("proc/78/comm", "sleep\n");
	step_in("system.slice/slurmstepd.scope/job_9/step_0", "/slurm", text);
	step_in("system.slice/slurmstepd.scope/job_9/step_0", "/user/task_0", "78\n");
	assert_int_equal(walk(), 1);
	assert_true(has_step("", "9", 0));
}

/* A daemon that proctrack/pgid did not kill lives on in the cgroup of a step that has
 * ended and been counted: as a new step its counters would count twice. */
static void what_a_step_has_left_behind_is_no_step(void **state)
{
	(void)state;
	v1_tree();
	put("proc/78/comm", "sleep\n");
	step_in("memory/slurm/uid_5/job_7/step_0", "/task_0", "78\n");
	put("proc/78/stat", "78 (sleep) S 1 78 78 0 -1 4194560 90\n");
	assert_int_equal(walk(), 0);
	/* its parent is no child of slurmstepd either */
	put("proc/79/comm", "a) S 77 (b\n");
	put("proc/79/stat", "79 (a) S 77 (b) S 1 79 79 0 -1 4194560 90\n");
	put("proc/78/stat", "78 (sleep) S 79 78 78 0 -1 4194560 90\n");
	assert_int_equal(walk(), 0);
	/* a task's child */
	put("proc/77/comm", "slurmstepd\n");
	put("proc/79/stat", "79 (a) S 77 (b) S 77 79 79 0 -1 4194560 90\n");
	assert_int_equal(walk(), 1);
	assert_true(has_step("", "7", 0));
	for (int i = 0; i < 2; i++)
		unlinkat(top, i ? "proc/78/stat" : "proc/79/stat", 0);
}

static void a_step_whose_slurmstepd_was_killed_ends_with_its_last_process(void **state)
{
	(void)state;
	struct record r;
	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	r.stepd_pid = 88;
	record_add_cgroup(&r, CGROUP_MEMORY, "/slurm/uid_5/job_7/step_0");
	v1_tree();
	step_in("memory/slurm/uid_5/job_7/step_0", "/task_0", "78\n");
	probe();
	assert_int_equal(units_apply(env.units, &r, UINT64_MAX, 1, 1, NULL), 0);
	const struct step *s = steps_get(env.units, steps_next(env.units, 0));

	make_dir("../proc/88");
	put("proc/88/comm", "slurmstepd\n");
	assert_false(inhabited_by_nobody(&env, s));
	unlinkat(top, "proc/88/comm", 0);
	unlinkat(top, "proc/88", AT_REMOVEDIR);
	assert_false(inhabited_by_nobody(&env, s));
	put("cgroup/memory/slurm/uid_5/job_7/step_0/task_0/cgroup.procs", "");
	assert_true(inhabited_by_nobody(&env, s));
}

/* hidepid=2: a process that is not shown may well run */
static void a_hidden_slurmstepd_is_not_taken_for_a_dead_one(void **state)
{
	(void)state;
	struct record r;
	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "8");
	r.stepd_pid = 88;
	record_add_cgroup(&r, CGROUP_MEMORY, "/slurm/uid_5/job_8/step_0");
	v1_tree();
	step_in("memory/slurm/uid_5/job_8/step_0", "/task_0", "");
	step_in("memory/slurm/uid_5/job_7/step_0", "/task_0", "88\n");
	probe();
	assert_int_equal(units_apply(env.units, &r, UINT64_MAX, 1, 1, NULL), 0);
	const struct step *s = steps_get(env.units, steps_next(env.units, 0));
	assert_true(inhabited_by_nobody(&env, s));
	assert_int_equal(walk(), 0);
	env.processes_hidden = true;
	assert_false(inhabited_by_nobody(&env, s));
	assert_int_equal(walk(), 1);
	assert_true(has_step("", "7", 0));
	env.processes_hidden = false;
}

static void names_that_are_no_steps_are_passed(void **state)
{
	(void)state;
	v1_tree();
	static const char *const names[] = {"step_",   "step_x",           "step_1x",
					    "step_-1", "step_99999999999", "steps_0",
					    "task_0"};
	char path[256];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "memory/slurm/uid_5/job_7/%s", names[i]);
		step(path);
	}
	step("memory/slurm/uid_5/job_7/step_3+1"); /* of a heterogeneous job */
	step("memory/other/uid_5/job_8/step_0");
	step("memory/slurm/step_0");
	assert_int_equal(walk(), 2);
	assert_true(has_step("", "7", 3));
	assert_null(unit_of("", "8"));
}

/* W36: readdir() of the parent still names it */
static void a_vanished_directory_disturbs_no_other(void **state)
{
	(void)state;
	v1_tree();
	step("memory/slurm/uid_5/job_1/step_0");
	step("memory/slurm/uid_5/job_3/step_0");
	make_dir("memory/slurm/uid_5/job_2");
	remove_dir("memory/slurm/uid_5/job_2");
	assert_int_equal(symlinkat("nowhere", top, "cgroup/memory/slurm/uid_5/job_2"),
			 0);
	make_dir("memory/slurm/uid_5/job_4");
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(walk(), 2);
}

/* W37 */
static void roots_that_appear_later_are_found(void **state)
{
	(void)state;
	v2_tree();
	assert_int_equal(walk(), 0);
	step("system.slice/slurmstepd.scope/job_7/step_0");
	assert_int_equal(walk(), 1);
	step("system.slice/n9_slurmstepd.scope/job_7/step_0");
	assert_int_equal(walk(), 1);
}

static void a_walk_is_bounded_in_depth(void **state)
{
	(void)state;
	v2_tree();
	make_dir("a/b/c/d/e/f/g/h/i/j/k/slurmstepd.scope");
	step("a/b/c/d/e/f/g/h/i/j/k/slurmstepd.scope/job_7/step_0");
	assert_int_equal(walk(), 0);
}

static int setup(void **state)
{
	(void)state;
	scratch_make(folder);
	top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	env.cgroupfd = -1;
	mkdirat(top, "proc", 0700);
	mkdirat(top, "proc/77", 0700);
	mkdirat(top, "proc/78", 0700);
	mkdirat(top, "proc/79", 0700);
	mkdirat(top, "proc/4242", 0700);
	put("proc/4242/comm", "sh\n");
	env.procfd = openat(top, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	log_init("test", LOG_LOGFMT, LOG_EMERG);
	return top < 0 || env.procfd < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(env.procfd);
	close(env.cgroupfd);
	close(top);
	scratch_remove(folder);
	return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(steps_of_v1_are_found_in_all_hierarchies),
		T(steps_of_v2_are_found_at_any_depth),
		T(hybrid_machines_are_read_as_v1),
		T(two_slurmd_on_a_host_stay_apart),
		T(other_clusters_of_the_host_can_be_left_out),
		T(a_job_named_by_its_sluid_is_the_job_of_its_records),
		T(what_has_a_record_is_not_found_again),
		T(a_directory_that_stayed_behind_is_no_step),
		T(what_a_step_has_left_behind_is_no_step),
		T(a_step_whose_slurmstepd_was_killed_ends_with_its_last_process),
		T(a_hidden_slurmstepd_is_not_taken_for_a_dead_one),
		T(names_that_are_no_steps_are_passed),
		T(a_vanished_directory_disturbs_no_other),
		T(roots_that_appear_later_are_found),
		T(a_walk_is_bounded_in_depth),
	};
	return cmocka_run_group_tests_name("discover", tests, setup, teardown);
}
