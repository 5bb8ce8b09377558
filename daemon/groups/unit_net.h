/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_UNIT_NET_H
#define CEEMS_DAEMON_GROUPS_UNIT_NET_H

#include <stdint.h>

#include "daemon/units.h"
#include "lib/err.h"
#include "lib/records/net_slots.h"

/* The map of the network programs, mapped into ceemsd, which makes no system call for
 * it after net_slots_open(). */
struct net_slots {
	struct net_counts *counts;
	uint32_t slots, stripes; /* powers of two; slots 0: not open */
	int fds[NET_FDS];
};

/* Maps it. The descriptors' ownership is taken, also on failure. */
int net_slots_open(struct net_slots *n, const int fds[NET_FDS], uint32_t slots,
		   uint32_t stripes, struct err *err);
/* Unmaps it and detaches the programs. Accepts what was zeroed. */
void net_slots_close(struct net_slots *n);

/*
 * What units have sent and received: the sum over their steps that have ended, kept
 * here until the unit leaves the table, and over the slots of those that run. It begins
 * anew when ceemsd starts. The caller holds the daemon's lock.
 */
struct unit_net;

struct unit_net_total {
	struct net_counts kinds[NET_KINDS];
};

/* Takes ownership of slots, also on failure. */
int unit_net_new(struct units *units, struct net_slots *slots, struct unit_net **ret,
		 struct err *err);
void unit_net_free(struct unit_net *n); /* accepts NULL */

/* Adds what a slot has by now, or what a unit's ended steps had. */
void unit_net_add_slot(const struct unit_net *n, uint32_t slot,
		       struct unit_net_total *to);
void unit_net_add_ended(const struct unit_net *n, uint32_t unit,
			struct unit_net_total *to);
/* The slot has ended; its counts are this unit's from now on, or nobody's if unit is
 * UNITS_NONE. Before group_slots_release(). */
void unit_net_end_slot(struct unit_net *n, uint32_t slot, uint32_t unit);
/* What TCP did when nobody was left to count it for */
void unit_net_add_nobody(const struct unit_net *n, struct unit_net_total *to);

#endif
