/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes and removes control groups as slurmstepd does for jobs of one short task, at a
 * rate, if this machine can.
 *
 *	step_maker COUNT RATE FOLDER...
 *
 * FOLDER: where the jobs' groups are, one in each hierarchy, first the one with the CPU
 * time. Prints the number of jobs, the milliseconds that they took, and the CPU time
 * (ns) that the steps' groups had counted just before they were removed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define HIERARCHIES_MAX 4
/* as a job has them, from the outer one */
static const char *const levels[] = {"", "/step_0", "/step_0/task_0"};
#define LEVELS 3

static void fail_with_errno(const char *what)
{
	fprintf(stderr, "step_maker: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_job(int folder, unsigned job)
{
	char path[64];

	for (int i = 0; i < LEVELS; i++) {
		(void)snprintf(path, sizeof(path), "job_%u%s", job, levels[i]);
		if (mkdirat(folder, path, 0755) < 0)
			fail_with_errno(path);
	}
}

static void remove_job(int folder, unsigned job)
{
	char path[64];

	for (int i = LEVELS; i--;) {
		(void)snprintf(path, sizeof(path), "job_%u%s", job, levels[i]);
		/* what has ended may be busy for another moment */
		while (unlinkat(folder, path, AT_REMOVEDIR) < 0) {
			if (errno != EBUSY)
				fail_with_errno(path);
		}
	}
}

static void run_task(const int *folders, int count, unsigned job)
{
	char path[64];

	for (int i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "job_%u/step_0/task_0/cgroup.procs",
			       job);
		int fd = openat(folders[i], path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

/* v1: nanoseconds; v2: microseconds, cut */
static uint64_t usage_ns(int folder, unsigned job)
{
	char path[64], text[1024];
	struct err err;

	(void)snprintf(path, sizeof(path), "job_%u/step_0/cpuacct.usage", job);
	if (fs_read_at(folder, path, text, sizeof(text), &err) >= 0)
		return strtoull(text, NULL, 10);
	(void)snprintf(path, sizeof(path), "job_%u/step_0/cpu.stat", job);
	if (fs_read_at(folder, path, text, sizeof(text), &err) < 0)
		fail_with_errno(path);
	const char *p = strstr(text, "usage_usec ");
	return p ? strtoull(p + strlen("usage_usec "), NULL, 10) * 1000 : 0;
}

static uint64_t run_job(const int *folders, int count, unsigned job)
{
	int status;

	for (int i = 0; i < count; i++)
		make_job(folders[i], job);
	pid_t pid = fork();
	if (pid == 0)
		run_task(folders, count, job);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail_with_errno("a task");
	uint64_t used = usage_ns(folders[0], job);
	for (int i = count; i--;)
		remove_job(folders[i], job);
	return used;
}

int main(int argc, char **argv)
{
	int folders[HIERARCHIES_MAX];
	uint32_t count, rate;
	uint64_t used = 0, begin = clock_boottime_ns();

	if (argc < 4 || argc > 3 + HIERARCHIES_MAX || parse_u32(argv[1], &count) < 0 ||
	    parse_u32(argv[2], &rate) < 0 || !rate) {
		fprintf(stderr, "usage: see test/fake/step_maker.c\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		folders[i - 3] = open(argv[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folders[i - 3] < 0)
			fail_with_errno(argv[i]);
	}
	for (uint32_t job = 1; job <= count; job++) {
		uint64_t due = begin + job * (NSEC_PER_SEC / rate);
		uint64_t now = clock_boottime_ns();
		if (now < due) {
			struct timespec t = {.tv_nsec = (long)(due - now)};
			nanosleep(&t, NULL);
		}
		used += run_job(folders, argc - 3, job);
	}
	uint64_t took_ms = (clock_boottime_ns() - begin) / NSEC_PER_MSEC;
	printf("%u %" PRIu64 " %" PRIu64 "\n", count, took_ms, used);
	return 0;
}
