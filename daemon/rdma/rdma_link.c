/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rdma/rdma_link.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"

/* The kernel fills at most 32 KiB. */
#define ANSWER_BYTES 65536u
#define STOP_LOOK_MS 100u

int rdma_link_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	return fd < 0 ? -errno : fd;
}

/* -EAGAIN: from somebody else than the kernel */
static ssize_t receive_answer(int fd, unsigned char *data, size_t size)
{
	struct sockaddr_nl from = {0};
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr m = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if (n == 0 || (m.msg_flags & MSG_TRUNC))
		return -EPROTO;
	return from.nl_pid ? -EAGAIN : n;
}

/* 1: there is something to read */
static int await_answer(int fd, uint64_t until_ns, const atomic_bool *stop)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (stop && atomic_load(stop))
			return -ECANCELED;
		if (clock_boottime_ns() >= until_ns)
			return -ETIMEDOUT;
		int rc = poll(&p, 1, STOP_LOOK_MS);
		if (rc < 0 && errno != EINTR)
			return -errno;
		if (rc > 0)
			return 1;
	}
}

int rdma_link_ask(int fd, uint32_t *io_sequence, enum rdma_kind kind, uint32_t device,
		  const atomic_bool *stop,
		  void (*found)(void *arg, const struct rdma_entry *e), void *arg,
		  struct err *err)
{
	unsigned char request[RDMA_REQUEST_BYTES], answer[ANSWER_BYTES];
	uint64_t until_ns = clock_boottime_ns() + RDMA_ANSWER_MS * NSEC_PER_MSEC;
	uint32_t sequence = ++*io_sequence;
	size_t len = rdma_message_request(kind, sequence, device, request);
	int rc = 1;

	if (send(fd, request, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return err_set(err, -errno, "ask the kernel: %s", strerror(errno));
	while (rc > 0) {
		rc = await_answer(fd, until_ns, stop);
		ssize_t n = rc > 0 ? receive_answer(fd, answer, sizeof(answer)) : rc;
		if (n == -EAGAIN)
			continue;
		rc = n < 0 ? (int)n
			   : rdma_message_read(kind, sequence, answer, (size_t)n, found,
					       arg);
	}
	return rc < 0 ? err_set(err, rc, "the kernel's answer: %s", strerror(-rc)) : 0;
}
