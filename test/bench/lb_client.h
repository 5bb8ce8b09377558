/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_BENCH_LB_CLIENT_H
#define CEEMS_TEST_BENCH_LB_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A relay with a client for backends: one thread that passes answers on as fast as
 * those who wait for them take them. Two of them: lb's own and libcurl's. */

#define SLOTS 16 /* requests at a time */

struct relay_slot {
	int sink;         /* where the answer goes; -1: nowhere */
	uint64_t got;     /* of the answer's body */
	bool ok, strange; /* it ended well; it had a byte other than 'x' */
};

struct relay_run {
	uint16_t port;
	uint32_t timeout_ms;
	const char *path;      /* asked for by all */
	long buffer;           /* of relay_kind */
	unsigned slots, todo;  /* requests at a time, and left to start */
	unsigned running, bad; /* bad: did not end well */
	struct relay_slot slot[SLOTS];
};

struct relay_kind {
	const char *name;
	long buffer; /* of libcurl's handles */
	/* 0 or negative errno */
	int (*open)(struct relay_run *r);
	void (*run)(struct relay_run *r); /* until nothing is to do */
	void (*close)(struct relay_run *r);
};
extern const struct relay_kind relay_own, relay_curl, relay_curl_large;

/* For both: what a part of a body costs whoever relays it. Bytes taken, which are fewer
 * than len when the sink is full. */
size_t relay_part(struct relay_slot *s, const char *data, size_t len);

#endif
