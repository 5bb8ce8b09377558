/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_RDMA_RDMA_COUNTS_H
#define CEEMS_DAEMON_RDMA_RDMA_COUNTS_H

#include "daemon/rdma/rdma_sample.h"
#include "daemon/units.h"

/*
 * Counters of queue pairs, added up by unit. The kernel drops a counter with the last
 * queue pair that is bound to it; what it had last stays the unit's as long as the
 * unit is in the table. A counter that begins anew is added, and one that fell.
 */

#define RDMA_COUNTS_MAX 4096u

struct rdma_count {
	char device[RDMA_NAME_BYTES];
	uint32_t port, id, pid;
	char path[RECORD_CGROUP_MAX]; /* the step's control group */
	bool live;                    /* was in the last sample of its device */
	bool missed;                  /* not in the one that is taken in */
	uint64_t seen_ns;             /* the last sample that had it */
	uint64_t serial; /* unit_serial(), once its unit is known, else 0 */
	uint32_t unit;
	uint32_t has; /* mask of rdma_counter_names */
	uint64_t last[RDMA_COUNTERS], total[RDMA_COUNTERS];
};

struct rdma_counts {
	struct rdma_count *counts;
	size_t count, room;
	uint64_t left_out; /* counters for which there was no place */
};

void rdma_counts_done(struct rdma_counts *c);
/* Takes in a newer sample. */
void rdma_counts_update(struct rdma_counts *c, const struct rdma_sample *s);
/* Finds the units of the counters, forgets those of units that have left the table,
 * and makes one of those of a unit, device and port that are not live. Sorted from then
 * on: those of known units first, by unit, device and port. */
void rdma_counts_settle(struct rdma_counts *c, const struct units *units);

/* Whether both are of one unit, device and port; then they can be added. */
bool rdma_count_same(const struct rdma_count *a, const struct rdma_count *b);
void rdma_count_add(struct rdma_count *to, const struct rdma_count *k);

#endif
