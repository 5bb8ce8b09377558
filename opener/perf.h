/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_PERF_H
#define CEEMS_OPENER_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/perf_cells.h"

/* The kernel programs that add up the software events of units (bpf/perf.bpf.c). */

struct perf {
	struct perf_bpf *skeleton;
	int fds[PERF_FDS]; /* owned by the skeleton */
	uint32_t stripes;
};

/* Loads and attaches them. groups_map: struct groups' own; slots: as it has.
 * by_cpuacct: tasks belong to the slot of their cpuacct group (cgroup v1). Errors as
 * groups_open(). */
int perf_open(struct perf *p, int groups_map, uint32_t slots, bool by_cpuacct,
	      struct err *err);
void perf_close(struct perf *p);

#endif
