/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The opener's message is checked like anything from outside, although both are from
 * one build. */
#include "daemon/groups/opener_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"

#define CHILD_FD 3

static int spawn_opener(const struct opener_request *r, int fd, pid_t *ret)
{
	char link[32], count[64], events[64], raw[1024], tree[4096 + 32],
		proc[4096 + 32];
	char *const argv[] = {
		(char *)r->path,
		link,
		count,
		tree,
		proc,
		(char *)(r->io ? "--collector.ebpf.io-metrics"
			       : "--no-collector.ebpf.io-metrics"),
		(char *)(r->io_latency ? "--collector.ebpf.io-latency"
				       : "--no-collector.ebpf.io-latency"),
		(char *)(r->network ? "--collector.ebpf.network-metrics"
				    : "--no-collector.ebpf.network-metrics"),
		(char *)(r->network_calls ? "--collector.ebpf.network-calls"
					  : "--no-collector.ebpf.network-calls"),
		(char *)(r->no_loopback ? "--no-collector.ebpf.network-loopback"
					: "--collector.ebpf.network-loopback"),
		(char *)(r->perf ? "--collector.perf" : "--no-collector.perf"),
		events,
		raw,
		NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;

	(void)snprintf(link, sizeof(link), "--link.fd=%d", CHILD_FD);
	(void)snprintf(count, sizeof(count), "--collector.ebpf.slots=%u", r->slots);
	(void)snprintf(events, sizeof(events), "--collector.perf.events=%u",
		       r->hardware);
	(void)snprintf(raw, sizeof(raw), "--collector.perf.raw-events=%s",
		       r->raw_events ? r->raw_events : "");
	(void)snprintf(tree, sizeof(tree), "--path.cgroupfs=%s", r->cgroupfs);
	(void)snprintf(proc, sizeof(proc), "--path.procfs=%s", r->procfs);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	int rc = -posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (!rc)
		rc = -posix_spawn_file_actions_adddup2(&actions, fd, CHILD_FD);
	if (!rc)
		rc = -posix_spawn(ret, r->path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* The descriptors of a message, which are ours from now on. */
static uint32_t received_fds(struct msghdr *m, int fds[OPENER_FDS_MAX])
{
	uint32_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (count < OPENER_FDS_MAX)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	return count;
}

bool opener_message_good(const struct opener_message *m, uint32_t fds)
{
	return m->magic == OPENER_MAGIC && m->version == OPENER_VERSION &&
	       m->part < OPENER_PARTS && m->rc <= 0 &&
	       memchr(m->text, '\0', sizeof(m->text)) && m->fds == fds &&
	       fds <= OPENER_FDS_MAX && (m->rc == 0 || fds == 0);
}

/* -EPIPE: nothing more is to come. */
static int receive_part(int link, struct opened_part parts[OPENER_PARTS])
{
	struct opener_message message = {0};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(OPENER_FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = &message, .iov_len = sizeof(message)};
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	int fds[OPENER_FDS_MAX];
	ssize_t n = recvmsg(link, &m, MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	uint32_t count = received_fds(&m, fds);
	struct opened_part *p = &parts[message.part % OPENER_PARTS];
	bool good = !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		    n == (ssize_t)sizeof(message) &&
		    opener_message_good(&message, count) && p->rc == -ENODATA;
	if (!good) {
		for (uint32_t i = 0; i < count; i++)
			close(fds[i]);
		return n == 0 ? -EPIPE : -EPROTO;
	}
	p->rc = message.rc;
	p->fd_count = count;
	p->count = message.count;
	memcpy(p->detail, message.detail, sizeof(p->detail));
	memcpy(p->fds, fds, count * sizeof(int));
	memcpy(p->text, message.text, sizeof(p->text));
	return 0;
}

static int receive_parts(int link, struct opened_part parts[OPENER_PARTS],
			 struct err *err)
{
	uint64_t until = clock_boottime_ns() + OPENER_MS * NSEC_PER_MSEC;
	unsigned received = 0;
	int rc;

	do {
		struct pollfd p = {.fd = link, .events = POLLIN};
		uint64_t now = clock_boottime_ns();
		uint64_t left = now < until ? until - now : 0;
		rc = poll(&p, 1, (int)(left / NSEC_PER_MSEC));
		if (rc < 0)
			return err_set(err, -errno, "%s", strerror(errno));
		if (rc == 0)
			return err_set(err, -ETIMEDOUT, "no end after %u s",
				       OPENER_MS / 1000);
		rc = receive_part(link, parts);
		received += rc == 0;
	} while (rc == 0);
	if (rc == -EPROTO)
		return err_set(err, rc, "it is not of the same build as ceemsd");
	if (rc == -EPIPE && !received)
		return err_set(err, rc, "it ended without an answer");
	return rc == -EPIPE ? 0 : err_set(err, rc, "%s", strerror(-rc));
}

/* *ret_killed: it was ended by a signal that is not ours. */
static int run_opener(const struct opener_request *request,
		      struct opened_part parts[OPENER_PARTS], bool *ret_killed,
		      struct err *err)
{
	int pair[2], status = 0;
	pid_t pid;

	*ret_killed = false;
	for (unsigned i = 0; i < OPENER_PARTS; i++)
		parts[i] = (struct opened_part){.rc = -ENODATA};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	auto_close int link = pair[0];
	int rc = spawn_opener(request, pair[1], &pid);
	close(pair[1]);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", request->path, strerror(-rc));
	rc = receive_parts(link, parts, err);
	/* it ends by itself; one that does not is ended */
	bool ours = rc < 0 && rc != -EPIPE;
	if (ours)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) == pid)
		*ret_killed = !ours && WIFSIGNALED(status);
	if (rc < 0) {
		opened_parts_close(parts);
		return err_prefix(err, rc, "%s", request->path);
	}
	return 0;
}

/* One that was killed (out of memory, by hand) is started again, for all parts: what
 * it had given is closed, and the new programs find the groups that there are. After
 * the last time what it has given stays. */
int opener_take(const struct opener_request *request,
		struct opened_part parts[OPENER_PARTS], uint32_t *ret_restarts,
		struct err *err)
{
	bool killed;
	int rc;

	*ret_restarts = 0;
	if (opener_restore(request, parts))
		return 0;
	while ((rc = run_opener(request, parts, &killed, err)), killed) {
		if (*ret_restarts == OPENER_RESTARTS_MAX)
			break;
		++*ret_restarts;
		opened_parts_close(parts);
	}
	/* what is not whole is not kept over a restart */
	if (rc == 0 && !killed && parts[OPENER_GROUPS].rc == 0)
		opener_keep(request, parts);
	return rc;
}

void opened_parts_close(struct opened_part parts[OPENER_PARTS])
{
	for (unsigned i = 0; i < OPENER_PARTS; i++) {
		for (uint32_t n = 0; n < parts[i].fd_count; n++)
			close(parts[i].fds[n]);
		parts[i].fd_count = 0;
	}
}

int opened_part_take(struct opened_part *part, int *ret_fds, uint32_t count,
		     struct err *err)
{
	if (part->rc < 0)
		return err_set(err, part->rc, "%s",
			       *part->text ? part->text : strerror(-part->rc));
	if (part->fd_count != count)
		return err_set(err, -EPROTO, "%u descriptors came, not %u",
			       part->fd_count, count);
	memcpy(ret_fds, part->fds, count * sizeof(int));
	part->fd_count = 0;
	return 0;
}
