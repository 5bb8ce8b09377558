/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_RDMA_KERNEL_H
#define CEEMS_TEST_RDMA_KERNEL_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/rdma/rdma_message.h"
#include "test/unit/unit.h"

/* The kernel's side of NETLINK_RDMA: its answers, recorded or made here, wait in a
 * socket in the order in which they are asked for. */

struct rdma_datagram {
	unsigned char data[60000];
	size_t len, open[8], depth;
};

static inline void make_bytes(struct rdma_datagram *d, const void *data, size_t len)
{
	assert_true(d->len + NLA_ALIGN(len) <= sizeof(d->data));
	if (len)
		memcpy(d->data + d->len, data, len);
	memset(d->data + d->len + len, 0, NLA_ALIGN(len) - len);
	d->len += NLA_ALIGN(len);
}

static inline void make_attribute(struct rdma_datagram *d, uint16_t type,
				  const void *data, size_t len)
{
	const struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + len),
				 .nla_type = type};

	make_bytes(d, &a, sizeof(a));
	make_bytes(d, data, len);
}

static inline void make_u32(struct rdma_datagram *d, uint16_t type, uint32_t v)
{
	make_attribute(d, type, &v, sizeof(v));
}

static inline void make_u64(struct rdma_datagram *d, uint16_t type, uint64_t v)
{
	make_attribute(d, type, &v, sizeof(v));
}

static inline void make_string(struct rdma_datagram *d, uint16_t type, const char *s)
{
	make_attribute(d, type, s, strlen(s) + 1);
}

static inline void make_nest(struct rdma_datagram *d, uint16_t type)
{
	d->open[d->depth++] = d->len;
	make_attribute(d, type, NULL, 0);
}

static inline void make_nest_end(struct rdma_datagram *d)
{
	size_t at = d->open[--d->depth];
	uint16_t len = (uint16_t)(d->len - at);

	memcpy(d->data + at, &len, sizeof(len));
}

static inline void make_message(struct rdma_datagram *d, uint16_t command)
{
	const struct nlmsghdr h = {
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		.nlmsg_flags = NLM_F_MULTI,
	};

	*d = (struct rdma_datagram){0};
	make_bytes(d, &h, sizeof(h));
}

/* The number of the question, and its length, when it is complete */
static inline void make_message_end(struct rdma_datagram *d, uint32_t sequence)
{
	uint32_t len = (uint32_t)d->len;

	assert_int_equal(d->depth, 0);
	memcpy(d->data + offsetof(struct nlmsghdr, nlmsg_len), &len, sizeof(len));
	memcpy(d->data + offsetof(struct nlmsghdr, nlmsg_seq), &sequence,
	       sizeof(sequence));
}

static inline void make_last(struct rdma_datagram *d, uint32_t sequence, int32_t code)
{
	const struct nlmsghdr h = {.nlmsg_type = NLMSG_DONE};

	*d = (struct rdma_datagram){0};
	make_bytes(d, &h, sizeof(h));
	make_bytes(d, &code, sizeof(code));
	make_message_end(d, sequence);
}

/* One of the lines of a recording: its question, and the datagram. False: a comment. */
static inline bool read_recorded(const char *line, char question[16],
				 struct rdma_datagram *d)
{
	const char *hex = strrchr(line, ' ');
	size_t n = strcspn(line, " ");

	if (*line == '#')
		return false;
	assert_true(hex && n < 14);
	/* with the device's number */
	memcpy(question, line, n + 2);
	question[n + 2] = '\0';
	*d = (struct rdma_datagram){0};
	for (hex++; hex[0] > ' ' && hex[1] > ' '; hex += 2) {
		const char byte[] = {hex[0], hex[1], '\0'};
		d->data[d->len++] = (unsigned char)strtoul(byte, NULL, 16);
	}
	return true;
}

static int rdma_kernel_end = -1; /* the kernel's end of the socket */

static inline int open_kernel_pair(void)
{
	int pair[2];

	if (rdma_kernel_end >= 0)
		close(rdma_kernel_end);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
			 0);
	rdma_kernel_end = pair[1];
	return pair[0];
}

static inline void answer_kernel(const struct rdma_datagram *d)
{
	assert_int_equal(send(rdma_kernel_end, d->data, d->len, 0), d->len);
}

/* As struct env has it: answers as recorded from soft RoCE. */
static inline int open_recorded_kernel(void)
{
	static struct rdma_datagram d;
	char question[16], last[16] = "", *line = NULL;
	size_t room = 0;
	uint32_t sequence = 0;
	int fd = open_kernel_pair();
	FILE *f = fopen("test/fixture/rdma/rxe.answers", "re");

	assert_non_null(f);
	while (getline(&line, &room, f) > 0) {
		if (!read_recorded(line, question, &d))
			continue;
		sequence += strcmp(question, last) != 0;
		memcpy(last, question, sizeof(last));
		memcpy(d.data + offsetof(struct nlmsghdr, nlmsg_seq), &sequence,
		       sizeof(sequence));
		answer_kernel(&d);
	}
	free(line);
	(void)fclose(f);
	return fd;
}

#endif
