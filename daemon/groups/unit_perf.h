/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_UNIT_PERF_H
#define CEEMS_DAEMON_GROUPS_UNIT_PERF_H

#include <stdint.h>

#include "daemon/units.h"
#include "lib/records/perf_cells.h"

/*
 * Software events of units: the sum over their steps that have ended, kept here until
 * the unit leaves the table, and over the slots of those that run. It begins anew when
 * ceemsd starts, with what the processes that run then have had. The caller holds the
 * daemon's lock. No function makes a system call after perf_cells_open().
 */

/* The map of the kernel programs, mapped into ceemsd. */
struct perf_cells {
	struct perf_counts *counts;
	uint32_t slots, stripes; /* powers of two; slots 0: not open */
	int fds[PERF_FDS];
};

/* Maps it. The descriptors' ownership is taken, also on failure. */
int perf_cells_open(struct perf_cells *c, const int fds[PERF_FDS], uint32_t slots,
		    uint32_t stripes, struct err *err);
/* Unmaps it and detaches the programs. Accepts what was zeroed. */
void perf_cells_close(struct perf_cells *c);

struct unit_perf;

/* Takes ownership of cells, also on failure. */
int unit_perf_new(struct units *units, struct perf_cells *cells, struct unit_perf **ret,
		  struct err *err);
void unit_perf_free(struct unit_perf *p); /* accepts NULL */

/* Adds what a slot has by now. */
void unit_perf_add_slot(const struct unit_perf *p, uint32_t slot,
			struct perf_counts *to);
/* Adds what a unit's ended steps had. */
void unit_perf_add_ended(const struct unit_perf *p, uint32_t unit,
			 struct perf_counts *to);
/* The slot has ended; its counts are this unit's from now on, or nobody's if unit is
 * UNITS_NONE. Before group_slots_release(). */
void unit_perf_end_slot(struct unit_perf *p, uint32_t slot, uint32_t unit);

#endif
