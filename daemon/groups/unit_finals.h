/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_UNIT_FINALS_H
#define CEEMS_DAEMON_GROUPS_UNIT_FINALS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "lib/records/group_slots.h"
#include "lib/records/report.h"

/*
 * What the kernel programs counted for units that have ended, for their final reports:
 * only if they saw each step of the unit from the making of its control group to its
 * removal. Else nothing is known, which is not 0. The caller holds the daemon's lock.
 */
struct unit_finals;

/* env, with step_groups and the counts that there are, outlives it. -ENOMEM */
int unit_finals_new(const struct env *env, struct unit_finals **ret);
void unit_finals_free(struct unit_finals *f); /* accepts NULL */

/* The slot has ended and is this unit's, or nobody's if unit is UNITS_NONE. Before
 * group_slots_release(). */
void unit_finals_end_slot(struct unit_finals *f, const struct group_slot *s,
			  uint32_t unit);

/* Looks at the slots; the functions below are of that moment. */
void unit_finals_look(struct unit_finals *f);
/* All control groups of the unit's steps have been removed: nothing counts any more. */
bool unit_finals_settled(const struct unit_finals *f, uint32_t unit);
/* Sets counts and mounts, as far as they are known. */
void unit_finals_fill(const struct unit_finals *f, uint32_t unit, struct report *r);

#endif
