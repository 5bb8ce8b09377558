/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_UNIT_COUNTS_H
#define CEEMS_DAEMON_GROUPS_UNIT_COUNTS_H

#include <stdint.h>

#include "daemon/units.h"
#include "lib/err.h"
#include "lib/records/opener_message.h"

/* One stripe of one kind, whatever its members are called in lib/records: struct
 * net_counts, struct perf_counts */
#define COUNTS_WORDS 8u
#define COUNTS_STRIPES_MAX 8u

/* A map of the kernel programs, mapped into ceemsd: [slot][kind][stripe] of
 * COUNTS_WORDS counters. After the last slot there may be one more, for what is
 * nobody's. */
struct slot_counts {
	unsigned long long *words;
	uint32_t slots, stripes; /* powers of two; slots 0: not open */
	uint32_t kinds, spare;
	uint32_t fd_count; /* the map's, and those that keep the programs attached */
	int fds[OPENER_FDS_MAX];
};

/* Maps it. slots, stripes, kinds and spare (0 or 1) are set, and fds, of which fds[0]
 * is the map's; they are owned from here on, also on failure. */
int slot_counts_open(struct slot_counts *c, struct err *err);
/* Unmaps it and detaches the programs. Accepts what was zeroed. */
void slot_counts_close(struct slot_counts *c);

/*
 * What units have by these counters: the sum over their steps that have ended, kept
 * here until the unit leaves the table, and over the slots of those that run. It begins
 * anew when ceemsd starts. The caller holds the daemon's lock.
 */
struct unit_counts;

/* Takes ownership of slots, also on failure. */
int unit_counts_new(struct units *units, struct slot_counts *slots,
		    struct unit_counts **ret, struct err *err);
void unit_counts_free(struct unit_counts *u); /* accepts NULL */

/* Each adds to `to`, which has COUNTS_WORDS for each kind: what a slot has by now, what
 * a unit's ended steps had, what is nobody's (with spare 1). */
void unit_counts_add_slot(const struct unit_counts *u, uint32_t slot,
			  unsigned long long *to);
void unit_counts_add_ended(const struct unit_counts *u, uint32_t unit,
			   unsigned long long *to);
void unit_counts_add_nobodys(const struct unit_counts *u, unsigned long long *to);
/* The slot has ended; its counts are this unit's from now on, or nobody's at all if
 * unit is UNITS_NONE. Before group_slots_release(). */
void unit_counts_end_slot(struct unit_counts *u, uint32_t slot, uint32_t unit);

#endif
