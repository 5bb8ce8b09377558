/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_RDMA_RDMA_MESSAGE_H
#define CEEMS_DAEMON_RDMA_RDMA_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The messages of NETLINK_RDMA by which the kernel tells of devices and of what
 * processes hold of them (include/uapi/rdma/rdma_netlink.h,
 * drivers/infiniband/core/nldev.c). Any bytes are accepted as an answer.
 */

enum rdma_kind {
	RDMA_DEVICE,
	RDMA_QP,
	RDMA_CQ,
	RDMA_MR,
	RDMA_COUNTER, /* of queue pairs, where the driver binds them to counters */
	RDMA_KINDS
};

/* Counters of queue pairs that have a metric, by the names of mlx5 */
#define RDMA_COUNTERS 11u
extern const char *const rdma_counter_names[RDMA_COUNTERS];

#define RDMA_NAME_BYTES 64

/* A device, or something that one holder has of it. */
struct rdma_entry {
	uint32_t device; /* the kernel's index */
	uint32_t port;   /* 0: of none */
	uint32_t pid;    /* 0: the kernel's, or the process is gone */
	bool kernel;     /* a part of the kernel holds it */
	uint64_t size;   /* RDMA_CQ: entries; RDMA_MR: bytes */
	uint32_t id;     /* RDMA_COUNTER: its number */
	uint32_t has;    /* RDMA_COUNTER: mask of counters */
	uint64_t counters[RDMA_COUNTERS];
	char name[RDMA_NAME_BYTES]; /* RDMA_DEVICE: printable, else "" */
};

/* Asks for all of a kind, of one device but for RDMA_DEVICE. Returns the length. */
#define RDMA_REQUEST_BYTES 64
size_t rdma_message_request(enum rdma_kind kind, uint32_t sequence, uint32_t device,
			    unsigned char ret[RDMA_REQUEST_BYTES]);

/* Reads a datagram with answers to that request; those to others are skipped. 1: more
 * are to come; 0: that was the last one; -EPROTO: not such an answer; another negative
 * errno: the kernel's. found() gets each entry. */
int rdma_message_read(enum rdma_kind kind, uint32_t sequence, const unsigned char *data,
		      size_t len, void (*found)(void *arg, const struct rdma_entry *e),
		      void *arg);

#endif
