/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counting hardware events adds to a switch between two tasks that do nothing
 * else: while nobody asks, between two tasks of one unit, and from a unit's task to
 * another and back, when all events are read. The events are the kernel's clocks
 * (test/fake/clock_events.c), as most build machines have no counters: a read of a real
 * one costs an instruction more. Then the way that was not taken: five software events
 * of the unit's control group (cgroup v2). CPU time, medians of paired ratios of one
 * run. Exit status 77: not possible here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "opener/groups.h"
#include "opener/perf.h"
#include "test/bench/median.h"

#define ROUNDS 21
#define TURNS 20000u
#define SLOTS 64u
#define GROUP_EVENTS 5u

struct bench_switches {
	int cgroupfd, procfd, tree, step;
	char name[64];
	bool by_cpuacct;
	struct groups groups;
};

static uint64_t used_us(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static void join_group(int step)
{
	int procs = openat(step, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (procs < 0 || write(procs, "0", 1) != 1)
		_exit(1);
	close(procs);
}

static void pass_turns(int in, int out, bool first)
{
	char c = 0;

	for (unsigned i = 0; i < TURNS; i++) {
		if (first && write(out, &c, 1) != 1)
			_exit(1);
		if (read(in, &c, 1) != 1 || (!first && write(out, &c, 1) != 1))
			_exit(1);
	}
}

/* Nanoseconds of one switch, with the pipe's call: one task in the step, the other as
 * well, or outside. In processes of their own: loading programs made this one large. */
static double measure_pair(const struct bench_switches *b, bool both)
{
	int there[2], back[2], result[2], status;
	double ns = 0;

	if (pipe(there) < 0 || pipe(back) < 0 || pipe(result) < 0)
		exit(1);
	pid_t pid = fork();
	if (pid == 0) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(0, &one);
		(void)sched_setaffinity(0, sizeof(one), &one);
		pid_t other = fork();
		if (other == 0) {
			if (both)
				join_group(b->step);
			pass_turns(there[0], back[1], false);
			_exit(0);
		}
		join_group(b->step);
		pass_turns(back[0], there[1], true);
		waitpid(other, &status, 0);
		ns = (double)(used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN)) * 1000 /
		     (2 * TURNS);
		_exit(write(result[1], &ns, sizeof(ns)) != sizeof(ns));
	}
	if (waitpid(pid, &status, 0) < 0 || status ||
	    read(result[0], &ns, sizeof(ns)) != sizeof(ns))
		exit(1);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
		close(result[i]);
	}
	return ns;
}

static void enable_events(int leaders)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(HARDWARE_LEADERS_MAX * sizeof(int))];
	} control;
	uint32_t group;

	for (;;) {
		struct iovec part = {.iov_base = &group, .iov_len = sizeof(group)};
		struct msghdr m = {.msg_iov = &part,
				   .msg_iovlen = 1,
				   .msg_control = control.bytes,
				   .msg_controllen = sizeof(control.bytes)};
		if (recvmsg(leaders, &m, MSG_DONTWAIT) <= 0)
			return;
		size_t n = (control.head.cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(&control.head) + i * sizeof(int),
			       sizeof(fd));
			(void)ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
			close(fd);
		}
	}
}

static bool arm_events(const struct perf *p)
{
	struct hardware_control *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED,
		     p->hardware_fds[HARDWARE_FD_CONTROL], 0);

	if (c == MAP_FAILED)
		return false;
	enable_events(p->hardware.leaders);
	c->armed_groups = (1u << c->groups) - 1;
	c->armed = 1;
	munmap(c, sizeof(*c));
	return true;
}

/* Of both kinds of pair, without and with the programs; false: not possible */
static bool measure_round(const struct bench_switches *b, bool armed, double ns[4])
{
	const struct perf_request request = {.groups_map = b->groups.groups_map,
					     .slots = SLOTS,
					     .by_cpuacct = b->by_cpuacct,
					     .hardware = HARDWARE_GENERAL_MASK |
							 HARDWARE_CACHE_MASK};
	struct perf p;
	struct err err;

	ns[0] = measure_pair(b, true);
	ns[1] = measure_pair(b, false);
	int rc = perf_open(&p, &request, &err);
	if (rc < 0 || p.hardware_rc < 0 || (armed && !arm_events(&p))) {
		printf("not possible here: %s\n",
		       rc < 0 ? err.text : p.hardware_err.text);
		return false;
	}
	ns[2] = measure_pair(b, true);
	ns[3] = measure_pair(b, false);
	perf_close(&p);
	return true;
}

static int measure_switches(struct bench_switches *b)
{
	static const char *const names[2] = {"nobody asks", "armed"};
	struct err err;

	if (groups_open(&b->groups, b->cgroupfd, b->procfd, SLOTS, &err) < 0) {
		printf("not possible here: %s\n", err.text);
		return 77;
	}
	/* after that: it gets a slot */
	if (mkdirat(b->tree, b->name, 0700) < 0) {
		printf("not possible here: %s\n", strerror(errno));
		return 77;
	}
	b->step = fs_opendir_at(b->tree, b->name, &err);
	for (unsigned armed = 0; armed < 2; armed++) {
		double same[ROUNDS], cross[ROUNDS], base[ROUNDS], same_ratio[ROUNDS],
			cross_ratio[ROUNDS];
		for (unsigned r = 0; r < ROUNDS; r++) {
			double ns[4];
			if (!measure_round(b, armed, ns))
				return 77;
			base[r] = ns[0];
			same[r] = ns[2] - ns[0];
			cross[r] = ns[3] - ns[1];
			same_ratio[r] = ns[2] / ns[0];
			cross_ratio[r] = ns[3] / ns[1];
		}
		printf("%s: a switch of %.0f ns within a unit %+.0f ns, %.3f x; from a "
		       "unit to none %+.0f ns, %.3f x\n",
		       names[armed], median_of(base, ROUNDS), median_of(same, ROUNDS),
		       median_of(same_ratio, ROUNDS), median_of(cross, ROUNDS),
		       median_of(cross_ratio, ROUNDS));
	}
	groups_close(&b->groups);
	return 0;
}

static bool open_group_events(int group, int fds[GROUP_EVENTS])
{
	static const uint64_t configs[GROUP_EVENTS] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES,
		PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
		PERF_COUNT_SW_PAGE_FAULTS_MAJ};

	for (unsigned i = 0; i < GROUP_EVENTS; i++) {
		struct perf_event_attr attr = {.size = sizeof(attr),
					       .type = PERF_TYPE_SOFTWARE,
					       .config = configs[i]};
		fds[i] = (int)syscall(SYS_perf_event_open, &attr, group, 0, -1,
				      PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
		if (fds[i] < 0)
			return false;
	}
	return true;
}

/* In the v2 hierarchy, in a group of its own */
static void measure_group_events(struct bench_switches b, const char *unified)
{
	double base[ROUNDS], cross[ROUNDS], cross_ratio[ROUNDS];
	int fds[GROUP_EVENTS];
	struct err err;

	b.tree = fs_opendir_at(b.cgroupfd, unified, &err);
	if (b.tree < 0 || mkdirat(b.tree, b.name, 0700) < 0) {
		printf("events of a control group: not possible here\n");
		return;
	}
	b.step = fs_opendir_at(b.tree, b.name, &err);
	for (unsigned r = 0; r < ROUNDS; r++) {
		base[r] = measure_pair(&b, false);
		if (!open_group_events(b.step, fds)) {
			printf("events of a control group: %s\n", strerror(errno));
			break;
		}
		double ns = measure_pair(&b, false);
		cross[r] = ns - base[r];
		cross_ratio[r] = ns / base[r];
		for (unsigned i = 0; i < GROUP_EVENTS; i++)
			close(fds[i]);
		if (r == ROUNDS - 1)
			printf("five software events of the unit's control group: from "
			       "a unit to none %+.0f ns, %.3f x\n",
			       median_of(cross, ROUNDS),
			       median_of(cross_ratio, ROUNDS));
	}
	unlinkat(b.tree, b.name, AT_REMOVEDIR);
}

int main(void)
{
	struct bench_switches b = {0};
	struct cgroup_layout layout;
	struct err err;

	b.cgroupfd = fs_opendir_at(AT_FDCWD, "/sys/fs/cgroup", &err);
	b.procfd = fs_opendir_at(AT_FDCWD, "/proc", NULL);
	if (b.cgroupfd < 0 || cgroup_probe(b.cgroupfd, &layout, &err) < 0) {
		printf("not possible here: %s\n", err.text);
		return 77;
	}
	b.by_cpuacct = !layout.unified_only && *layout.cpuacct;
	b.tree = fs_opendir_at(b.cgroupfd,
			       layout.unified_only ? layout.unified : layout.cpuacct,
			       &err);
	(void)snprintf(b.name, sizeof(b.name), "step_bench%d", (int)getpid());
	int status = 1;
	pid_t pid = fork();
	if (pid == 0)
		exit(measure_switches(&b));
	waitpid(pid, &status, 0);
	unlinkat(b.tree, b.name, AT_REMOVEDIR);
	if (*layout.unified)
		measure_group_events(b, layout.unified);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
