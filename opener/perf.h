/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_PERF_H
#define CEEMS_OPENER_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/hardware_cells.h"
#include "lib/records/perf_cells.h"
#include "opener/hardware.h"

/* The kernel programs that add up the events of units (bpf/perf.bpf.c). */

struct perf {
	struct perf_bpf *skeleton;
	int fds[PERF_FDS]; /* owned by the skeleton */
	uint32_t stripes;
	int hardware_rc; /* why the hardware events are not there, and: */
	struct err hardware_err;
	struct hardware hardware;
	int hardware_fds[HARDWARE_FDS]; /* owned by the skeleton and hardware */
	uint32_t hardware_stripes;
};

struct perf_request {
	int groups_map;    /* struct groups' own */
	uint32_t slots;    /* as it has */
	bool by_cpuacct;   /* tasks belong to the slot of their cpuacct group (v1) */
	uint32_t hardware; /* mask of enum hardware_event; 0: none */
	struct hardware_raws raws;
};

/* Loads and attaches them. Errors as groups_open(). Hardware events that cannot be had
 * are in hardware_rc, and the software events are counted all the same. */
int perf_open(struct perf *p, const struct perf_request *request, struct err *err);
void perf_close(struct perf *p);

#endif
