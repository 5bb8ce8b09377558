/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/fd_pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union fd_control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
};

int fd_pass_send(int link, const void *data, size_t size, const int *fds,
		 unsigned count, int flags)
{
	union fd_control control = {0};
	struct iovec part = {.iov_base = (void *)data, .iov_len = size};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	if (count > FD_PASS_MAX)
		return -EINVAL;
	if (count) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
	}
	return sendmsg(link, &m, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static unsigned take_passed_fds(struct msghdr *m, int *fds)
{
	unsigned count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (count < FD_PASS_MAX)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	return count;
}

ssize_t fd_pass_receive(int link, void *data, size_t size, int *fds,
			unsigned *ret_count, int flags)
{
	union fd_control control = {0};
	struct iovec part = {.iov_base = data, .iov_len = size};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(link, &m, flags | MSG_CMSG_CLOEXEC);

	*ret_count = 0;
	if (n < 0)
		return -errno;
	*ret_count = take_passed_fds(&m, fds);
	if (!(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return n;
	while (*ret_count)
		close(fds[--*ret_count]);
	return -EMSGSIZE;
}

int fd_pass_shelve(int fd)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	int rc = fd_pass_send(pair[1], "", 1, &fd, 1, MSG_DONTWAIT);
	close(pair[1]);
	if (rc < 0) {
		close(pair[0]);
		return rc;
	}
	return pair[0];
}

int fd_pass_take_from(int shelf)
{
	int fds[FD_PASS_MAX];
	unsigned count = 0;
	char byte;

	/* looked at, not received: there it stays, and this is another descriptor */
	ssize_t n =
		fd_pass_receive(shelf, &byte, 1, fds, &count, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0)
		return (int)n;
	while (count > 1)
		close(fds[--count]);
	return count ? fds[0] : -EAGAIN;
}
