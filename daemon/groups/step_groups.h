/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_STEP_GROUPS_H
#define CEEMS_DAEMON_GROUPS_STEP_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/groups/group_slots.h"

/*
 * Last counters from the kernel, for steps of which no stop record tells: their
 *slurmstepd was killed, the ring was full, or the node has no plugin. A stop record
 *wins: the kernel's word is taken only when the ring has been empty GROUP_SETTLE_MS
 *after the group's end.
 *
 *	in the table and running: its counters become the last ones, and it ends as
 *lost, then never in the table:       it is put in and ends, with its counters, as lost
 *	in the table and ended:   nothing; of a virtual machine, whose stop record has
 *no counters, they become the last ones
 *
 * The caller holds the daemon's lock.
 */
#define GROUP_SETTLE_MS 1000u

struct step_groups;

struct step_groups_stats {
	uint64_t made, ended; /* groups of steps, by the kernel */
	uint64_t no_slot;     /* groups not followed: all slots were taken */
	uint64_t lost_stops;  /* steps that ended with the kernel's counters */
	uint64_t unrecorded;  /* of these, steps that no record had told of */
	uint32_t slots, used;
};

/* Takes ownership of slots, also on failure. env and its unit table outlive it. */
int step_groups_new(const struct env *env, struct group_slots *slots,
		    struct step_groups **ret, struct err *err);
void step_groups_free(struct step_groups *g); /* accepts NULL */

/* drained_ns: CLOCK_BOOTTIME when the ring was last found empty. True: a step has been
 * running for a second that the table does not know; the tree should be walked. */
bool step_groups_tick(struct step_groups *g, uint64_t drained_ns);

/* Iteration over the slots in use whose unit is known: the next one at or after slot,
 * and its unit; UINT32_MAX at the end. */
uint32_t step_groups_next(const struct step_groups *g, uint32_t slot,
			  uint32_t *ret_unit);

/* The step that a slot is of, if step_groups_next() found its unit; UNITS_NONE: one
 * that has long ended. */
uint32_t step_groups_step(const struct step_groups *g, uint32_t slot);
/* Below the number of slots */
const struct group_slot *step_groups_slot(const struct step_groups *g, uint32_t slot);

/* Whether what the kernel counted for a unit is exported: as units are, and of runs of
 * one job the newest alone. */
bool step_groups_exported(const struct env *env, uint32_t unit);

void step_groups_stats(const struct step_groups *g, struct step_groups_stats *ret);

#endif
