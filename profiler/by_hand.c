/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/by_hand.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "opener/profile.h"
#include "profiler/pprof.h"
#include "profiler/push.h"
#include "profiler/serve.h"
#include "profiler/session.h"
#include "profiler/stacks.h"

#define SETTLE_S 5u

struct hand {
	const struct options *options;
	struct reader *reader;
	struct door door;
	pid_t opener;
	struct session *session;
	struct raw_stacks raw;
	uint64_t cgroup;
	uint64_t begin_ns; /* Unix time */
	uint64_t no_room;  /* samples that are not in raw */
};

static volatile sig_atomic_t stopped;

static void stop_profile(int signal)
{
	(void)signal;
	stopped = 1;
}

static void count_stack(void *arg, const struct session_stack *stack)
{
	struct hand *h = arg;

	if (h->options->off_cpu != (stack->blocked_ns > 0))
		return;
	if (raw_stacks_add(&h->raw, stack->frames, stack->count,
			   stack->blocked_ns ? stack->blocked_ns : 1) < 0)
		h->no_room++;
}

static void print_ends(const struct hand *h)
{
	struct session_counts c;

	session_get_counts(h->session, &c);
	log_info("%" PRIu64 " samples: %" PRIu64 " whole; cut in code of no known file "
		 "%" PRIu64 ", where a file says nothing %" PRIu64
		 ", at memory that cannot be read %" PRIu64 ", too deep %" PRIu64
		 "; first of a process %" PRIu64 "; lost %" PRIu64
		 "; of blocked threads %" PRIu64 ", without a time %" PRIu64,
		 c.samples, c.ends[SAMPLE_COMPLETE], c.ends[SAMPLE_NO_MAPPING],
		 c.ends[SAMPLE_NO_ROW], c.ends[SAMPLE_NO_MEMORY],
		 c.ends[SAMPLE_TOO_DEEP], c.ends[SAMPLE_NEW_PROCESS],
		 c.lost + h->no_room, c.blocked, c.blocked_lost);
}

static int write_stacks(const struct hand *h, struct stacks *stacks, struct buf *out,
			struct err *err)
{
	const struct options *o = h->options;
	const struct pprof_time t = {
		.begin_ns = (int64_t)h->begin_ns,
		.duration_ns = (int64_t)(clock_realtime_ns() - h->begin_ns),
		.period_ns = o->off_cpu ? 0 : (int64_t)(NSEC_PER_SEC / o->hz),
	};

	int rc = stacks_add(stacks, &h->raw, session_modules(h->session));
	if (rc < 0)
		return err_set(err, rc, "%s", strerror(-rc));
	stacks_merge(stacks);
	if (*o->push_url || o->format == PROFILE_PPROF)
		return pprof_write(stacks, &t, out, err);
	stacks_print(stacks, out);
	return buf_error(out) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static enum program_status show_profile(struct hand *h)
{
	const struct options *o = h->options;
	auto_buf struct buf out = BUF_INIT;
	struct stacks stacks = {0};
	struct err err = {""};

	print_ends(h);
	if (!h->raw.samples)
		return PROGRAM_CANNOT;
	int rc = write_stacks(h, &stacks, &out, &err);
	stacks_free(&stacks);
	if (rc == 0 && *o->push_url)
		rc = push_profile(o->push_url, &o->labels, &out, &err);
	if (rc < 0)
		log_error("%s", err.text);
	if (rc < 0 || *o->push_url)
		return rc < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
	return program_print(&out);
}

/* 1: it is of cgroup v1's cpuacct; 0: of v2. */
static int is_of_cpuacct(const char *path, struct err *err)
{
	char usage[PATH_MAX];
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return 0;
	int len = snprintf(usage, sizeof(usage), "%s/cpuacct.usage", path);
	if (fs.f_type == CGROUP_SUPER_MAGIC && len < (int)sizeof(usage) &&
	    access(usage, F_OK) == 0)
		return 1;
	return err_set(err, -EINVAL, "%s: no control group of v2 or of v1's cpuacct",
		       path);
}

/* The same as ceemsd's, but for processes of no unit, too */
static int start_opener(struct hand *h, bool by_cpuacct, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	auto_close int procfd = fs_opendir_at(AT_FDCWD, h->options->path_procfs, err);
	h->opener = procfd < 0 ? -1 : fork();
	if (h->opener == 0) {
		const struct profile_service service = {
			.link = pair[1],
			.procfd = procfd,
			.requests = PROFILE_REQUESTS_OF_PROFILER,
			.by_cpuacct = by_cpuacct,
			.any_process = true,
		};
		close(pair[0]);
		_exit(profile_serve(&service) < 0);
	}
	close(pair[1]);
	h->door.link = pair[0];
	if (procfd < 0)
		return procfd;
	return h->opener < 0 ? err_set(err, -errno, "fork: %s", strerror(errno)) : 0;
}

/* Of the group itself; those of groups below it are found when they are sampled. */
static void look_at_processes(struct hand *h)
{
	auto_close int dir = fs_opendir_at(AT_FDCWD, h->options->group, NULL);
	auto_buf struct buf text = BUF_INIT;
	uint64_t pid;

	if (dir < 0 || fs_read_buf_at(dir, "cgroup.procs", 1 << 20, &text, NULL) < 0)
		return;
	const char *at = text.data, *end = at + text.len;
	while (at && at < end && scan_u64(&at, end, &pid) == 0) {
		session_look_at(h->session, (uint32_t)pid);
		at += at < end;
	}
}

static void work_until(struct hand *h, uint64_t end_ns, bool settled)
{
	while (!stopped && clock_boottime_ns() < end_ns &&
	       !(settled && session_is_settled(h->session))) {
		struct pollfd p = {.fd = session_fd(h->session), .events = POLLIN};
		(void)poll(&p, 1, session_wait_ms(h->session));
		session_work(h->session);
	}
}

/* Processes are known before the first tick: a sample of one that is not has no frames
 * of its Python, and on a busy machine reading an interpreter's file takes a while. */
static int start_sampling(struct hand *h, uint64_t cgroup, struct err *err)
{
	struct profile_group group = {.cgroup = cgroup};

	int rc = session_set_groups(h->session, &group, 1, err);
	if (rc < 0)
		return rc;
	look_at_processes(h);
	work_until(h, clock_boottime_ns() + SETTLE_S * NSEC_PER_SEC, true);
	group.hz = (unsigned)h->options->hz;
	group.off_cpu = h->options->off_cpu;
	h->cgroup = cgroup;
	return session_set_groups(h->session, &group, 1, err);
}

static int start_session(struct hand *h, struct err *err)
{
	const struct session_config c = {
		.door = &h->door,
		.reader = h->reader,
		.debug_folder = "",
		.room = serve_room(h->options->memory_bytes, h->options->off_cpu),
		.on_stack = count_stack,
		.arg = h,
	};
	const char *path = h->options->group;
	struct stat st;
	int by_cpuacct = is_of_cpuacct(path, err);
	int rc = by_cpuacct < 0 ? by_cpuacct : start_opener(h, by_cpuacct, err);

	if (rc == 0 && stat(path, &st) < 0)
		rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (rc == 0)
		rc = session_new(&c, &h->session, err);
	if (rc < 0)
		return rc;
	/* its inode is its number in all hierarchies */
	return start_sampling(h, st.st_ino, err);
}

enum program_status by_hand_run(const struct options *o, struct reader *reader)
{
	struct hand h = {.options = o, .reader = reader, .door.link = -1, .opener = -1};
	enum program_status status = PROGRAM_CANNOT;
	struct err err = {""};

	(void)signal(SIGINT, stop_profile);
	(void)signal(SIGTERM, stop_profile);
	int rc = start_session(&h, &err);
	h.begin_ns = clock_realtime_ns();
	if (rc < 0) {
		log_error("%s", err.text);
	} else {
		log_info("sampling %s", o->group);
		work_until(&h, clock_boottime_ns() + o->duration_ms * NSEC_PER_MSEC,
			   false);
		session_settle_blocked(h.session, h.cgroup, true);
		status = show_profile(&h);
	}
	raw_stacks_free(&h.raw);
	session_free(h.session);
	if (h.door.link >= 0)
		close(h.door.link); /* tells the opener to end */
	if (h.opener > 0)
		(void)waitpid(h.opener, NULL, 0);
	return status;
}
