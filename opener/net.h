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
};

struct groups;

/* Loads and attaches them, with the maps of groups. slots, by_cpuacct and errors as
 * io_open(); -ESRCH: this kernel has no such tracepoint (before 6.3). */
int net_open(struct net *net, const struct groups *groups, uint32_t slots,
	     bool by_cpuacct, struct err *err);
void net_close(struct net *net);

#endif
