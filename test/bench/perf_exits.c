/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counting software events costs where it runs: processes of a step that only
 * begin and end, in turns without and with the programs. CPU time, since other things
 * may run on the machine; medians of paired ratios of one run. Switches between tasks
 * and computing run no program at all. Exit status 77: not possible here. */
#include <errno.h>
#include <fcntl.h>
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

/* A process of its own: loading programs makes this one larger, and forks dearer. */
struct worker {
	int ask[2], answer[2];
};

static int start_worker(struct worker *w, int step)
{
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
	while (read(w->ask[0], &c, 1) == 1) {
		us = run_processes();
		if (write(w->answer[1], &us, sizeof(us)) != sizeof(us))
			break;
	}
	_exit(0);
}

static double ask_worker(const struct worker *w)
{
	double us;

	if (write(w->ask[1], "", 1) != 1 ||
	    read(w->answer[0], &us, sizeof(us)) != sizeof(us))
		exit(1);
	return us;
}

static int measure_exits(int cgroupfd, int step, bool by_cpuacct)
{
	struct worker w;
	double without[ROUNDS], with[ROUNDS], ratio[ROUNDS];
	struct groups g;
	struct perf p;
	struct err err;

	if (start_worker(&w, step) < 0)
		return 1;
	close(w.answer[1]);
	if (groups_open(&g, cgroupfd, procfd, SLOTS, &err) < 0) {
		printf("not possible here: %s\n", err.text);
		return 77;
	}
	for (unsigned r = 0; r < ROUNDS; r++) {
		without[r] = ask_worker(&w);
		if (perf_open(&p,
			      &(struct perf_request){.groups_map = g.groups_map,
						     .slots = SLOTS,
						     .by_cpuacct = by_cpuacct},
			      &err) < 0) {
			printf("not possible here: %s\n", err.text);
			return 77;
		}
		with[r] = ask_worker(&w);
		perf_close(&p);
		ratio[r] = with[r] / without[r];
	}
	groups_close(&g);
	close(w.ask[1]);
	wait(NULL);
	printf("one process that begins and ends: without %.2f us, with %.2f us, "
	       "%.3f x\n",
	       median_of(without, ROUNDS), median_of(with, ROUNDS),
	       median_of(ratio, ROUNDS));
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
		exit(measure_exits(cgroupfd, step,
				   !layout.unified_only && *layout.cpuacct));
	waitpid(pid, &status, 0);
	unlinkat(tree, name, AT_REMOVEDIR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
