/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel programs of --collector.ebpf.io-metrics and network-metrics add to a
 * system call: to one that is counted, to a read of a file in a process of no unit, and
 * to any other; each without it, with a program that does nothing in its place, and
 * with it, in turns. Medians of one run. Exit status 77: not possible here.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "opener/groups.h"
#include "opener/io.h"
#include "opener/net.h"
#include "test/bench/median.h"

#define ROUNDS 15
#define CALLS 200000u
#define SLOTS 64u

static int procfd;

static int file;

static double read_often(void)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	char c;

	for (unsigned i = 0; i < CALLS; i++) {
		if (pread(file, &c, 1, 0) != 1)
			exit(1);
	}
	return (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / CALLS;
}

static double call_often(void)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned i = 0; i < CALLS; i++)
		(void)syscall(SYS_getppid);
	return (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / CALLS;
}

/* Bytes to ourselves, by TCP */
static int ends[2];

static double send_often(void)
{
	uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	char c = 'x';

	for (unsigned i = 0; i < CALLS / 10; i++) {
		if (send(ends[0], &c, 1, 0) != 1 || recv(ends[1], &c, 1, 0) != 1)
			exit(1);
	}
	return (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) /
	       (CALLS / 10 * 2);
}

static int connect_ends(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&at, len) < 0 ||
	    listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0 ||
	    connect(ends[0], (struct sockaddr *)&at, len) < 0)
		return -1;
	ends[1] = accept(listener, NULL, NULL);
	close(listener);
	return setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* Into a control group, or back to the root */
static void enter(int folder)
{
	int fd = openat(folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1) {
		fprintf(stderr, "cgroup.procs: %s\n", strerror(errno));
		exit(1);
	}
	close(fd);
}

struct tree {
	int cgroupfd, root, step;
	bool by_cpuacct;
};

/* A program that does nothing, where ours is */
static void attach_nothing(int ret[2])
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT}};

	ret[0] = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nothing", "GPL", nothing,
			       2, NULL);
	ret[1] = bpf_raw_tracepoint_open("sys_exit", ret[0]);
	if (ret[0] < 0 || ret[1] < 0) {
		fprintf(stderr, "a program that does nothing: %s\n", strerror(errno));
		exit(1);
	}
}

enum counted { COUNT_IO, COUNT_IO_TIMES, COUNT_NETWORK, COUNT_NETWORK_CALLS };

static int open_programs(const struct tree *t, enum counted counted, struct groups *g,
			 struct io *io, struct net *net, struct err *err)
{
	*io = (struct io){0};
	*net = (struct net){0};
	int rc = groups_open(g, t->cgroupfd, procfd, SLOTS, err);
	if (rc < 0)
		return rc;
	return counted >= COUNT_NETWORK
		       ? net_open(net, g,
				  &(struct net_request){
					  .slots = SLOTS,
					  .by_cpuacct = t->by_cpuacct,
					  .by_calls = counted == COUNT_NETWORK_CALLS},
				  err)
		       : io_open(io, g->groups_map, SLOTS, t->by_cpuacct,
				 counted == COUNT_IO_TIMES, err);
}

static int compare(const struct tree *t, double (*work)(void), bool inside,
		   enum counted counted, const char *what)
{
	double without[ROUNDS], empty[ROUNDS], with[ROUNDS];
	struct groups g;
	struct io io;
	struct net net;
	struct err err;

	if (inside)
		enter(t->step);
	for (unsigned r = 0; r < ROUNDS; r++) {
		int nothing[2];
		without[r] = work();
		attach_nothing(nothing);
		empty[r] = work();
		close(nothing[1]);
		close(nothing[0]);
		if (open_programs(t, counted, &g, &io, &net, &err) < 0) {
			printf("not possible here: %s\n", err.text);
			return 77;
		}
		with[r] = work();
		io_close(&io);
		net_close(&net);
		groups_close(&g);
	}
	if (inside)
		enter(t->root);
	double none = median_of(without, ROUNDS), nothing = median_of(empty, ROUNDS),
	       ours = median_of(with, ROUNDS);
	printf("%-32s %6.0f ns %6.0f ns %6.0f ns   +%.0f ns, of which ours %.0f ns\n",
	       what, none, nothing, ours, ours - none, ours - nothing);
	return 0;
}

int main(void)
{
	struct cgroup_layout layout;
	char top[64], step[80], path[] = "/tmp/ceems-bench.XXXXXX";
	struct err err;
	struct tree t = {.cgroupfd = fs_opendir_at(AT_FDCWD, "/sys/fs/cgroup", &err)};

	procfd = fs_opendir_at(AT_FDCWD, "/proc", NULL);
	if (t.cgroupfd < 0 || cgroup_probe(t.cgroupfd, &layout, &err) < 0) {
		printf("not possible here: %s\n", err.text);
		return 77;
	}
	t.by_cpuacct = !layout.unified_only;
	const char *dir = layout.unified_only ? layout.unified : layout.cpuacct;
	t.root = fs_opendir_at(t.cgroupfd, dir, &err);
	(void)snprintf(top, sizeof(top), "ceems_bench_%d", (int)getpid());
	(void)snprintf(step, sizeof(step), "%s/step_0", top);
	file = mkstemp(path);
	if (t.root < 0 || file < 0 || connect_ends() < 0 || write(file, "x", 1) != 1 ||
	    mkdirat(t.root, top, 0700) < 0 || mkdirat(t.root, step, 0700) < 0) {
		printf("not possible here: %s\n", strerror(errno));
		return 77;
	}
	t.step = fs_opendir_at(t.root, step, &err);
	printf("%-32s   without     empty      with\n", "one system call");
	static const struct {
		double (*work)(void);
		bool inside;
		enum counted counted;
		const char *what;
	} rows[] = {
		{read_often, true, COUNT_IO, "pread of a file, counted"},
		{read_often, false, COUNT_IO, "pread by a process of no unit"},
		{call_often, true, COUNT_IO, "getppid"},
		{read_often, true, COUNT_IO_TIMES, "pread, counted, with times"},
		{read_often, false, COUNT_IO_TIMES, "pread of no unit, with times"},
		{call_often, true, COUNT_IO_TIMES, "getppid, with times"},
		{send_often, true, COUNT_NETWORK, "TCP send or recv, counted"},
		{send_often, true, COUNT_NETWORK_CALLS, "the same by system calls"},
		{call_often, true, COUNT_NETWORK_CALLS, "getppid, with these"},
	};
	int rc = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == 0; i++)
		rc = compare(&t, rows[i].work, rows[i].inside, rows[i].counted,
			     rows[i].what);
	unlink(path);
	unlinkat(t.root, step, AT_REMOVEDIR);
	unlinkat(t.root, top, AT_REMOVEDIR);
	return rc;
}
