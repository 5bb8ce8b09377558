/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What spank_ceems.so costs a step inside slurmstepd: init, task_post_fork, task_exit
 * and exit together, with a consumer that is dead and with a ring that is full. A
 * pretended Slurm calls them; ring, /proc and (as root on cgroup v1) the step's control
 * groups are real. One JSON line per result. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/record.h"
#include "lib/ring.h"
#include "spank/step.h"
#include "test/fake/slurm_host.h"

#define STEPS 3000
#define RECORDS_PER_STEP 3
#define JOB_VARIABLES 120 /* what a batch job's environment has, and then some */
#define REACH_US 100.0
#define BENCH_GROUP "slurm_ceems_bench"
#define STEP_GROUP BENCH_GROUP "/uid_0/job_41/step_0"

static const char *const controllers[] = {"cpuacct", "memory", "freezer", "cpuset"};

static char names[JOB_VARIABLES][48];
static const char *env[JOB_VARIABLES + 3];

static void make_environment(void)
{
	for (size_t i = 0; i < JOB_VARIABLES; i++) {
		(void)snprintf(names[i], sizeof(names[i]),
			       "MODULE_PATH_VARIABLE_%zu=value", i);
		env[i] = names[i];
	}
	env[JOB_VARIABLES] = "SLURM_JOB_NAME=bench";
	env[JOB_VARIABLES + 1] = "SLURM_STEP_GPUS=0,1,2,3";
}

/* ---- a real v1 step with one process in it --------------------------------------- */

static bool make_folders(const char *controller, bool make)
{
	static const char *const parts[] = {BENCH_GROUP, BENCH_GROUP "/uid_0",
					    BENCH_GROUP "/uid_0/job_41", STEP_GROUP};
	char path[256];
	for (size_t i = 0; i < 4; i++) {
		size_t k = make ? i : 3 - i;
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s", controller,
			       parts[k]);
		if (make && mkdir(path, 0755) < 0 && errno != EEXIST)
			return false;
		if (!make)
			(void)rmdir(path);
	}
	return true;
}

static bool put_pid(const char *controller, const char *group, pid_t pid)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s/cgroup.procs",
		       controller, group);
	FILE *f = fopen(path, "we");
	if (!f)
		return false;
	bool ok = fprintf(f, "%d\n", (int)pid) > 0;
	return fclose(f) == 0 && ok;
}

static bool join(const char *controller, pid_t pid)
{
	return put_pid(controller, STEP_GROUP, pid);
}

static bool join_root(const char *controller, pid_t pid)
{
	return put_pid(controller, BENCH_GROUP, pid);
}

/* The pid of a process in a real step, or 0 when there is no v1 to write to. */
static pid_t start_real_step(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (pid < 0)
		return 0;
	/* cpuset wants its cpus written first: freezer, memory and cpuacct are what
	 * counts */
	for (size_t i = 0; i < 3; i++) {
		if (make_folders(controllers[i], true) && join(controllers[i], pid))
			continue;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return 0;
	}
	return pid;
}

static void end_real_step(pid_t pid)
{
	if (pid) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	for (int tries = 0; tries < 20; tries++) {
		for (size_t i = 0; i < 3; i++)
			(void)make_folders(controllers[i], false);
		if (access("/sys/fs/cgroup/memory/" BENCH_GROUP, F_OK) < 0)
			return;
		(void)usleep(10000);
	}
}

/* ---- one step -------------------------------------------------------------------- */

/* When its control groups go away: 22.05 on v1 removes them between the last task_exit
 * and the exit hook, v2 after it. */
enum groups { GROUPS_NONE, GROUPS_GONE, GROUPS_KEPT };

static void fail_group(const char *path, pid_t task)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	end_real_step(task);
	exit(1);
}

static void set_groups(pid_t task, bool there)
{
	for (size_t i = 0; i < 3; i++) {
		char path[256];
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/" STEP_GROUP,
			       controllers[i]);
		if (there && (mkdir(path, 0755) < 0 || !join(controllers[i], task)))
			fail_group(path, task);
		if (!there && (!join_root(controllers[i], task) || rmdir(path) < 0))
			fail_group(path, task);
	}
}

static uint64_t one_step(char *ring_arg, pid_t task, enum groups groups)
{
	char *argv[] = {ring_arg, (char *)"env=MODULE_PATH_VARIABLE_7,NOT_THERE"};
	uint64_t start = clock_read_ns(CLOCK_MONOTONIC);
	(void)slurm_spank_init(fake_spank(), 2, argv);
	fake.task_pid = task;
	(void)slurm_spank_task_post_fork(fake_spank(), 2, argv);
	fake.task_exited = true;
	(void)slurm_spank_task_exit(fake_spank(), 2, argv);
	fake.task_pid = 0;
	fake.task_exited = false;
	uint64_t ns = clock_read_ns(CLOCK_MONOTONIC) - start;
	if (groups == GROUPS_GONE)
		set_groups(task, false);
	start = clock_read_ns(CLOCK_MONOTONIC);
	(void)slurm_spank_exit(fake_spank(), 2, argv);
	ns += clock_read_ns(CLOCK_MONOTONIC) - start;
	if (groups == GROUPS_GONE)
		set_groups(task, true);
	return ns;
}

static unsigned drain(struct ring *ring)
{
	unsigned char data[RING_RECORD_MAX];
	size_t len;
	uint64_t pos;
	unsigned n = 0;
	while (ring_peek(ring, data, &len, &pos) > 0) {
		ring_release(ring, pos);
		n++;
	}
	return n;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void report(const char *what, uint64_t *ns, const char *groups)
{
	qsort(ns, STEPS, sizeof(*ns), by_value);
	double p50 = (double)ns[STEPS / 2] / 1000,
	       p99 = (double)ns[STEPS * 99 / 100] / 1000;
	printf("{\"bench\":\"spank_hooks\",\"metric\":\"all hooks of a step, %s, %s, "
	       "p50\",\"value\":%.1f,\"unit\":\"us\",\"reach\":null,\"ok\":null}\n",
	       what, groups, p50);
	printf("{\"bench\":\"spank_hooks\",\"metric\":\"all hooks of a step, %s, %s, "
	       "p99\",\"value\":%.1f,\"unit\":\"us\",\"reach\":\"< %.0f\",\"ok\":%s}\n",
	       what, groups, p99, REACH_US, p99 < REACH_US ? "true" : "false");
}

static void measure(const char *what, char *ring_arg, struct ring *ring, pid_t task,
		    bool full, enum groups groups)
{
	static const char *const names_of[] = {
		[GROUPS_NONE] = "no cgroup",
		[GROUPS_GONE] = "cgroup v1 gone at exit",
		[GROUPS_KEPT] = "cgroup v1 still there at exit",
	};
	static uint64_t ns[STEPS];
	fake_reset();
	fake.env = env;
	for (unsigned i = 0; full && i < RING_SLOTS_DEFAULT; i++)
		(void)one_step(ring_arg, task, GROUPS_NONE);
	for (unsigned i = 0; i < STEPS; i++) {
		fake.option_count = 0;
		ns[i] = one_step(ring_arg, task, groups);
		if (!full && i % (RING_SLOTS_DEFAULT / RECORDS_PER_STEP - 1) == 0)
			(void)drain(
				ring); /* outside the clock: make room, not a reader */
	}
	report(what, ns, names_of[groups]);
	unsigned left = drain(ring);
	if (full != (left == RING_SLOTS_DEFAULT))
		fprintf(stderr, "%s: %u records in the ring\n", what, left);
}

int main(void)
{
	/* tmpfs, as /run is: a first touch on a disk file system costs a journal entry
	 */
	char folder[] = "/dev/shm/spank_hooks.XXXXXX", path[64], arg[80];
	struct ring ring;
	struct err err;
	bool made;
	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(path, sizeof(path), "%s/ring", folder);
	(void)snprintf(arg, sizeof(arg), "ring=%s", path);
	if (ring_consumer_open(path, RING_SLOTS_DEFAULT, &ring, &made, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	make_environment();
	step_host.ring_owner = geteuid();
	pid_t task = start_real_step();
	if (!task)
		end_real_step(0);
	for (enum groups g = task ? GROUPS_GONE : GROUPS_NONE;
	     g <= (task ? GROUPS_KEPT : GROUPS_NONE); g++) {
		measure("dead consumer", arg, &ring, task ? task : getpid(), false, g);
		measure("full ring", arg, &ring, task ? task : getpid(), true, g);
	}
	end_real_step(task);
	ring_consumer_close(&ring);
	(void)unlink(path);
	(void)rmdir(folder);
	return 0;
}
