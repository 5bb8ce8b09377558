/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_NODE_USE_H
#define CEEMS_DAEMON_TICKER_NODE_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/node/procfile.h"

/* CPU and memory use of the whole node, and so of processes outside of units. Not
 * thread safe. */
struct node_use {
	struct procfile stat, meminfo;
	bool has_stat, has_meminfo;
	uint64_t tick_ns; /* of USER_HZ */
	uint64_t cpu_ns;  /* as read last */
	int64_t ahead_ns; /* how far units + system exceed the node's counter */
	uint64_t memory_kib, resident_kib;
};

struct node_use_tick {
	uint32_t cpus; /* online, never 0 */
	uint64_t memory_kib;
	uint64_t resident_kib;  /* without page cache, as read last */
	uint64_t system_cpu_ns; /* outside of units since the last call */
};

void node_use_init(struct node_use *n, int procfd);
void node_use_done(struct node_use *n);

/* units_cpu_ns: used by units since the last call. The kernel counts the node's time in
 * ticks and groups' in nanoseconds, so the difference may be negative: it is then
 * carried over to the next call, within bounds. */
int node_use_tick(struct node_use *n, uint64_t units_cpu_ns, struct node_use_tick *ret,
		  struct err *err);
/* Continues from an earlier daemon of this boot. */
void node_use_resume(struct node_use *n, uint64_t cpu_ns, int64_t ahead_ns);
/* Reads /proc/meminfo again. */
void node_use_memory(struct node_use *n);

#endif
