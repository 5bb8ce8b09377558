/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The opener's message is checked like anything from outside, although both are from
 * one build. */
#include "daemon/groups/opener_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"

#define CHILD_FD 3

static int spawn_opener(const char *path, uint32_t slots, const char *cgroupfs, int fd,
			pid_t *ret)
{
	char link[32], count[64], tree[4096 + 32];
	char *const argv[] = {(char *)path, link, count, tree, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;

	(void)snprintf(link, sizeof(link), "--link.fd=%d", CHILD_FD);
	(void)snprintf(count, sizeof(count), "--collector.ebpf.slots=%u", slots);
	(void)snprintf(tree, sizeof(tree), "--path.cgroupfs=%s", cgroupfs);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	int rc = -posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (!rc)
		rc = -posix_spawn_file_actions_adddup2(&actions, fd, CHILD_FD);
	if (!rc)
		rc = -posix_spawn(ret, path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* Takes over what came with it; fds are all -1 or all open. */
static int receive_hello(int fd, struct group_hello *hello, int fds[GROUP_FDS])
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(GROUP_FDS * sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = hello, .iov_len = sizeof(*hello)};
	struct msghdr m = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);

	for (unsigned i = 0; i < GROUP_FDS; i++)
		fds[i] = -1;
	if (n < 0)
		return -errno;
	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	size_t count = c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
			       ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int)
			       : 0;
	bool good = n == (ssize_t)sizeof(*hello) && hello->magic == GROUP_HELLO_MAGIC &&
		    hello->version == GROUP_SLOTS_VERSION &&
		    memchr(hello->text, '\0', sizeof(hello->text)) &&
		    count == (hello->rc < 0 ? 0 : GROUP_FDS);
	for (size_t i = 0; i < count && i < GROUP_FDS; i++) {
		int received;
		memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (good)
			fds[i] = received;
		else
			close(received);
	}
	return good ? 0 : n == 0 ? -EPIPE : -EPROTO;
}

static int wait_for_hello(int fd, struct group_hello *hello, int fds[GROUP_FDS],
			  struct err *err)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int rc = poll(&p, 1, (int)OPENER_MS);

	if (rc < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	if (rc == 0)
		return err_set(err, -ETIMEDOUT, "no answer for %u s", OPENER_MS / 1000);
	rc = receive_hello(fd, hello, fds);
	if (rc == -EPROTO)
		return err_set(err, rc, "it is not of the same build as ceemsd");
	if (rc == -EPIPE)
		return err_set(err, rc, "it ended without an answer");
	if (rc < 0)
		return err_set(err, rc, "%s", strerror(-rc));
	return hello->rc < 0 ? err_set(err, hello->rc, "%s", hello->text) : 0;
}

int opener_take_slots(const char *path, uint32_t slots, const char *cgroupfs,
		      struct group_slots *ret, uint32_t *ret_adopted, struct err *err)
{
	struct group_hello hello = {0};
	int pair[2], fds[GROUP_FDS];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	auto_close int ours = pair[0];
	int rc = spawn_opener(path, slots, cgroupfs, pair[1], &pid);
	close(pair[1]);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path, strerror(-rc));
	rc = wait_for_hello(ours, &hello, fds, err);
	/* it ends by itself; one that does not answer is ended */
	if (rc == -ETIMEDOUT)
		kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (rc < 0)
		return err_prefix(err, rc, "%s", path);
	*ret_adopted = hello.adopted;
	return group_slots_open(ret, fds, hello.slots, err);
}
