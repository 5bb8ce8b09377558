/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counting software events costs a step of processes that only begin and end, of
 * two tasks that wake each other, and of one that computes: without and with the
 * programs, in turns, the order of a pair changing from one to the next. CPU time,
 * since other things may run on the machine; medians of paired ratios of one run. Exit
 * status 77: not possible here. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "opener/groups.h"
#include "opener/perf.h"
#include "test/bench/median.h"

#define ROUNDS 31
#define PROCESSES 1000u
#define WAKES 10000u
#define ADDITIONS 200000000u
#define SLOTS 1024u

static int procfd;

static uint64_t used_us(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* Microseconds for one process, its parent's part too */
static double run_processes(void)
{
	uint64_t begin = used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN);

	for (unsigned i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid) {
			fprintf(stderr, "fork: %s\n", strerror(errno));
			exit(1);
		}
	}
	return (double)(used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN) - begin) /
	       PROCESSES;
}

/* The other task of run_switches() */
static void answer_wakes(int from, int to)
{
	char c;

	while (read(from, &c, 1) == 1) {
		if (write(to, &c, 1) != 1)
			break;
	}
	_exit(0);
}

/* Microseconds for two switches: to another task and back */
static double run_switches(void)
{
	uint64_t begin = used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN);
	int there[2], back[2];
	char c = 0;

	if (pipe2(there, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0)
		exit(1);
	pid_t pid = fork();
	if (pid < 0)
		exit(1);
	if (pid == 0) {
		close(there[1]);
		answer_wakes(there[0], back[1]);
	}
	close(there[0]);
	for (unsigned i = 0; i < WAKES; i++) {
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			exit(1);
	}
	close(there[1]);
	close(back[0]);
	close(back[1]);
	waitpid(pid, NULL, 0);
	return (double)(used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN) - begin) /
	       WAKES;
}

/* Microseconds for a million additions */
static double run_additions(void)
{
	uint64_t begin = used_us(RUSAGE_SELF);

	for (unsigned i = 0; i < ADDITIONS; i++)
		__asm__ volatile("" ::"r"(i));
	return (double)(used_us(RUSAGE_SELF) - begin) / (ADDITIONS / 1e6);
}

static const struct bench_load {
	const char *name;
	double (*run)(void);
} loads[] = {
	{"one process that begins and ends", run_processes},
	{"a switch to another task and back", run_switches},
	{"a million additions", run_additions},
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

/* A process of its own: loading programs makes this one larger, and forks dearer. */
struct worker {
	int ask[2], answer[2];
};

static int start_worker(struct worker *w, int step)
{
	cpu_set_t one;
	double us;
	char c;

	if (pipe2(w->ask, O_CLOEXEC) < 0 || pipe2(w->answer, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid != 0)
		return pid < 0 ? -errno : 0;
	close(w->ask[1]);
	int procs = openat(step, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (procs < 0 || write(procs, "0", 1) != 1)
		_exit(1);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	while (read(w->ask[0], &c, 1) == 1) {
		us = loads[(unsigned char)c % LOADS].run();
		if (write(w->answer[1], &us, sizeof(us)) != sizeof(us))
			break;
	}
	_exit(0);
}

static double ask_worker(const struct worker *w, unsigned char load)
{
	double us;

	if (write(w->ask[1], &load, 1) != 1 ||
	    read(w->answer[0], &us, sizeof(us)) != sizeof(us))
		exit(1);
	return us;
}

struct bench_side {
	struct groups *groups;
	bool by_cpuacct;
};

static int measure_side(const struct worker *w, unsigned char load,
			const struct bench_side *side, double *ret, struct err *err)
{
	const struct perf_request r = {.groups_map =
					       side ? side->groups->groups_map : 0,
				       .slots = SLOTS,
				       .by_cpuacct = side && side->by_cpuacct};
	struct perf p;
	int rc = side ? perf_open(&p, &r, err) : 0;

	if (rc < 0)
		return rc;
	*ret = ask_worker(w, load);
	if (side)
		perf_close(&p);
	return 0;
}

static int measure_load(const struct worker *w, unsigned char load,
			const struct bench_side *with_it, struct err *err)
{
	double without[ROUNDS], with[ROUNDS], ratio[ROUNDS];
	int rc = 0;

	for (unsigned r = 0; rc == 0 && r < ROUNDS; r++) {
		for (unsigned turn = 0; rc == 0 && turn < 2; turn++) {
			bool is_with = (r + turn) & 1;
			rc = measure_side(w, load, is_with ? with_it : NULL,
					  is_with ? &with[r] : &without[r], err);
		}
		ratio[r] = with[r] / without[r];
	}
	if (rc == 0)
		printf("%s: without %.2f us, with %.2f us, %.3f x\n", loads[load].name,
		       median_of(without, ROUNDS), median_of(with, ROUNDS),
		       median_of(ratio, ROUNDS));
	return rc;
}

static int measure_loads(int cgroupfd, int step, bool by_cpuacct)
{
	struct worker w;
	struct groups g;
	struct err err;
	int rc;

	if (start_worker(&w, step) < 0)
		return 1;
	close(w.answer[1]);
	rc = groups_open(&g, cgroupfd, procfd, SLOTS, &err);
	for (unsigned char i = 0; rc >= 0 && i < LOADS; i++)
		rc = measure_load(&w, i, &(struct bench_side){&g, by_cpuacct}, &err);
	if (rc < 0) {
		printf("not possible here: %s\n", err.text);
		return 77;
	}
	groups_close(&g);
	close(w.ask[1]);
	wait(NULL);
	return 0;
}

int main(void)
{
	struct cgroup_layout layout;
	char name[64];
	struct err err;
	int cgroupfd = fs_opendir_at(AT_FDCWD, "/sys/fs/cgroup", &err);

	procfd = fs_opendir_at(AT_FDCWD, "/proc", NULL);
	if (cgroupfd < 0 || cgroup_probe(cgroupfd, &layout, &err) < 0) {
		printf("not possible here: %s\n", err.text);
		return 77;
	}
	const char *dir = layout.unified_only ? layout.unified : layout.cpuacct;
	int tree = fs_opendir_at(cgroupfd, dir, &err);
	(void)snprintf(name, sizeof(name), "step_bench%d", (int)getpid());
	if (tree < 0 || mkdirat(tree, name, 0700) < 0) {
		printf("not possible here: %s\n", strerror(errno));
		return 77;
	}
	int step = fs_opendir_at(tree, name, &err), status = 1;
	pid_t pid = fork();
	if (pid == 0)
		exit(measure_loads(cgroupfd, step,
				   !layout.unified_only && *layout.cpuacct));
	waitpid(pid, &status, 0);
	unlinkat(tree, name, AT_REMOVEDIR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
