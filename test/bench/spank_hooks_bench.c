/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What spank_ceems.so costs a step inside slurmstepd: init, task_post_fork, task_exit
 * and exit together, with a consumer that is dead and with a ring that is full. A
 * pretended Slurm calls them; ring, /proc and (as root on cgroup v1) the step's control
 * groups are real, and its task has used some CPU time. Beside them, in turns, what the
 * machine alone takes: the same system calls without the plugin, and a loop of as long
 * without any. One JSON line per result. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/records/record.h"
#include "lib/records/ring.h"
#include "spank/step.h"
#include "test/fake/slurm_host.h"
#include "test/ring_files.h"

#define STEPS 2000
#define RECORDS_PER_STEP 6 /* in this process and in one of its own */
#define JOB_VARIABLES 120  /* what a batch job's environment has, and then some */
#define REACH_RATIO 1.2
#define BENCH_GROUP "slurm_ceems_bench"
#define STEP_GROUP BENCH_GROUP "/uid_0/job_41/step_0"

static const char *const controllers[] = {"cpuacct", "memory", "freezer", "cpuset"};

static char names[JOB_VARIABLES][48];
static const char *env[JOB_VARIABLES + 3];

static const char *const argv_of_task[] = {"/opt/site/bin/solver", "input", NULL};

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

static int to_task = -1, from_task = -1;

static void spin(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		__asm__ volatile("" : : "r"(i) : "memory");
}

/* For each byte that comes the task uses some CPU time. */
static void run_task(int in, int out)
{
	char c;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(in, &c, 1) == 1) {
		spin(100000);
		if (write(out, &c, 1) != 1)
			break;
	}
	_exit(0);
}

/* Slurmstepd's own children have ended when task_exit comes: what they have used is
 * known by wait4 as well. */
static void reap_a_task(void)
{
	char *argv[] = {(char *)"true", NULL};
	pid_t pid;
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0)
		(void)waitpid(pid, NULL, 0);
}

static void forget_usage(void)
{
	int fd = open("/sys/fs/cgroup/cpuacct/" STEP_GROUP "/cpuacct.usage",
		      O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		fprintf(stderr, "cpuacct.usage: %s\n", strerror(errno));
	(void)close(fd);
}

static void let_task_run(void)
{
	char c = 0;
	if (write(to_task, &c, 1) != 1 || read(from_task, &c, 1) != 1)
		fprintf(stderr, "the task of the step is gone\n");
}

/* The pid of a process in a real step, or 0 when there is no v1 to write to. */
static pid_t start_real_step(void)
{
	int in[2], out[2];
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(in[1]); /* its end is the end of the task */
		run_task(in[0], out[1]);
	}
	if (pid < 0)
		return 0;
	to_task = in[1];
	from_task = out[0];
	/* cpuset wants its cpus written first: freezer, memory and cpuacct are what
	 * counts */
	for (size_t i = 0; i < 3; i++) {
		if (make_folders(controllers[i], true) && join(controllers[i], pid))
			continue;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return 0;
	}
	let_task_run();
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
	if (there)
		let_task_run();
}

static uint64_t one_step(char *ring_arg, pid_t task, enum groups groups)
{
	char *argv[] = {ring_arg, (char *)"env=MODULE_PATH_VARIABLE_7,NOT_THERE"};
	uint64_t start = clock_read_ns(CLOCK_MONOTONIC);
	(void)slurm_spank_init(fake_spank(), 2, argv);
	fake.task_pid = task;
	(void)slurm_spank_task_post_fork(fake_spank(), 2, argv);
	uint64_t ns = clock_read_ns(CLOCK_MONOTONIC) - start;
	if (groups == GROUPS_KEPT) {
		forget_usage();
		let_task_run();
	}
	reap_a_task();
	fake.task_exited = true;
	start = clock_read_ns(CLOCK_MONOTONIC);
	(void)slurm_spank_task_exit(fake_spank(), 2, argv);
	fake.task_pid = 0;
	fake.task_exited = false;
	ns += clock_read_ns(CLOCK_MONOTONIC) - start;
	if (groups == GROUPS_GONE)
		set_groups(task, false);
	start = clock_read_ns(CLOCK_MONOTONIC);
	(void)slurm_spank_exit(fake_spank(), 2, argv);
	ns += clock_read_ns(CLOCK_MONOTONIC) - start;
	if (groups == GROUPS_GONE)
		set_groups(task, true);
	return ns;
}

/* ---- what the machine alone takes ------------------------------------------------ */

static void open_read_close(const char *path)
{
	char text[8192];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (pread(fd, text, sizeof(text), 0) < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	(void)close(fd);
}

/* One record's system calls and page faults; nothing is written. */
static void floor_send(const char *ring)
{
	struct statfs fs;
	const size_t bytes =
		RING_HEADER_BYTES + (size_t)RING_SLOTS_DEFAULT * RING_SLOT_BYTES;
	static unsigned at;
	struct stat st;
	struct ring_header h;
	int fd = open(ring, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || pread(fd, &h, sizeof(h), 0) < 0 ||
	    fstatfs(fd, &fs) < 0)
		return;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (p == MAP_FAILED)
		return;
	(void)madvise(p, bytes, MADV_DONTFORK);
	size_t slot = at++ % RING_SLOTS_DEFAULT * RING_SLOT_BYTES;
	__atomic_fetch_add(&((struct ring_header *)p)->dropped, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add((uint64_t *)(p + RING_HEADER_BYTES + slot), 0,
			   __ATOMIC_RELAXED);
	(void)munmap(p, bytes);
}

static void floor_read(const char *file)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%.*s/" STEP_GROUP "/%s",
		       (int)strcspn(file, "."), file, file);
	open_read_close(path);
}

static uint64_t floor_step(const char *ring, pid_t task, enum groups groups)
{
	static const char *const files[] = {"cpuacct.usage",
					    "memory.max_usage_in_bytes"};
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)task);
	uint64_t start = clock_read_ns(CLOCK_MONOTONIC);
	struct rusage used;
	open_read_close(path);
	(void)getrusage(RUSAGE_CHILDREN, &used);
	floor_send(ring);
	uint64_t ns = clock_read_ns(CLOCK_MONOTONIC) - start;
	if (groups == GROUPS_KEPT) {
		forget_usage();
		let_task_run();
	}
	reap_a_task();
	start = clock_read_ns(CLOCK_MONOTONIC);
	(void)getrusage(RUSAGE_CHILDREN, &used);
	for (size_t i = 0; i < 2 && groups != GROUPS_NONE; i++)
		floor_read(files[i]);
	floor_send(ring);
	ns += clock_read_ns(CLOCK_MONOTONIC) - start;
	if (groups == GROUPS_GONE)
		set_groups(task, false);
	start = clock_read_ns(CLOCK_MONOTONIC);
	(void)getrusage(RUSAGE_CHILDREN, &used);
	if (groups != GROUPS_NONE)
		floor_read(files[0]);
	floor_send(ring);
	ns += clock_read_ns(CLOCK_MONOTONIC) - start;
	if (groups == GROUPS_GONE)
		set_groups(task, true);
	return ns;
}

static uint64_t spin_for(unsigned rounds)
{
	uint64_t start = clock_read_ns(CLOCK_MONOTONIC);
	spin(rounds);
	return clock_read_ns(CLOCK_MONOTONIC) - start;
}

/* How many rounds take so long, when nothing comes between. */
static unsigned rounds_of(uint64_t want_ns)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 20; i++) {
		uint64_t ns = spin_for(100000);
		best = ns < best ? ns : best;
	}
	return best ? (unsigned)(want_ns * 100000 / best) : 100000;
}

/* ---- measuring ------------------------------------------------------------------- */

/* As slurmstepd runs them: what a process looks up once is looked up in each step, and
 * nothing of it is in a cache. */
static uint64_t step_in_a_process(char *ring_arg, pid_t task, enum groups groups)
{
	static uint64_t *ns;
	if (!ns)
		ns = mmap(NULL, sizeof(*ns), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ns == MAP_FAILED)
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		*ns = one_step(ring_arg, task, groups);
		_exit(0);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return *ns;
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

static void put_row(const char *what, const char *more, const char *quantile,
		    uint64_t ns)
{
	printf("{\"bench\":\"spank_hooks\",\"metric\":\"%s, %s, %s\",\"value\":%.1f,"
	       "\"unit\":\"us\",\"reach\":null,\"ok\":null}\n",
	       what, more, quantile, (double)ns / 1000);
}

/* Returns the median. */
static uint64_t report(const char *what, uint64_t *ns, const char *more)
{
	qsort(ns, STEPS, sizeof(*ns), by_value);
	put_row(what, more, "p50", ns[STEPS / 2]);
	put_row(what, more, "p99", ns[STEPS * 99 / 100]);
	return ns[STEPS / 2];
}

static void report_ratio(const char *more, uint64_t hooks_ns, uint64_t floor_ns)
{
	double ratio = (double)hooks_ns / (double)floor_ns;

	printf("{\"bench\":\"spank_hooks\",\"metric\":\"all hooks of a step over the "
	       "same "
	       "system calls alone, %s, p50\",\"value\":%.3g,\"unit\":\"ratio\","
	       "\"reach\":\"< %g\",\"ok\":%s}\n",
	       more, ratio, REACH_RATIO, ratio < REACH_RATIO ? "true" : "false");
}

static void measure(bool full, char *ring_arg, struct ring *ring, pid_t task,
		    enum groups groups)
{
	static const char *const names_of[] = {
		[GROUPS_NONE] = "no cgroup",
		[GROUPS_GONE] = "cgroup v1 gone at exit",
		[GROUPS_KEPT] = "cgroup v1 still there at exit",
	};
	static uint64_t ns[STEPS], own_ns[STEPS], floor_ns[STEPS], spin_ns[STEPS];
	static unsigned rounds;
	char what[80];
	(void)snprintf(what, sizeof(what), "%s, %s",
		       full ? "full ring" : "dead consumer", names_of[groups]);
	fake_reset();
	fake.env = env;
	fake.argv = argv_of_task;
	for (unsigned i = 0; full && i <= RING_SLOTS_DEFAULT / 3; i++)
		(void)one_step(ring_arg, getpid(), GROUPS_NONE);
	for (unsigned i = 0; i < STEPS; i++) {
		fake.option_count = 0;
		ns[i] = one_step(ring_arg, task, groups);
		fake.option_count = 0;
		own_ns[i] = step_in_a_process(ring_arg, task, groups);
		floor_ns[i] = floor_step(strchr(ring_arg, '/'), task, groups);
		rounds = rounds ? rounds : rounds_of(ns[i]);
		spin_ns[i] = spin_for(rounds);
		if (!full && i % (RING_SLOTS_DEFAULT / RECORDS_PER_STEP - 1) == 0)
			(void)drain(
				ring); /* outside the clock: make room, not a reader */
	}
	uint64_t p50 = report("all hooks of a step", ns, what);
	report("in a process of its own", own_ns, what);
	report_ratio(what, p50,
		     report("floor: the same system calls alone", floor_ns, what));
	report("floor: a loop without any", spin_ns, what);
	rounds = rounds_of(p50);
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
		measure(false, arg, &ring, task ? task : getpid(), g);
		measure(true, arg, &ring, task ? task : getpid(), g);
	}
	end_real_step(task);
	ring_consumer_close(&ring);
	(void)remove_ring(path);
	(void)rmdir(folder);
	return 0;
}
