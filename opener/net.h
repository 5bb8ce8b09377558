/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_NET_H
#define CEEMS_OPENER_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/net_slots.h"

/* The kernel programs that count what units send and receive (bpf/net.bpf.c). */

struct net {
	struct net_bpf *skeleton;
	int fds[NET_FDS]; /* owned by the skeleton */
	uint32_t stripes;
	uint32_t counted; /* NET_COUNTED_* */
};

struct groups;

struct net_request {
	uint32_t slots;
	bool by_cpuacct; /* as io_open() */
	bool by_calls;   /* even if the kernel has the sockets' tracepoints */
	bool no_loopback;
};

/* Loads and attaches them, with the maps of groups: by the tracepoints of sockets, and
 * where the kernel does not have these (before 6.3) or refuses them by the system
 * calls. Errors as io_open(). */
int net_open(struct net *net, const struct groups *groups, const struct net_request *r,
	     struct err *err);
void net_close(struct net *net);

#endif
