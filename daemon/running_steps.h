/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_RUNNING_STEPS_H
#define CEEMS_DAEMON_RUNNING_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/units.h"

/* Steps that run, copied out of the unit table: its lock is not held while their
 * control groups, of which there are many, are read. */

struct running_step {
	uint32_t unit;
	uint64_t serial; /* unit_serial() */
	uint32_t manager;
	char id[RECORD_ID_MAX]; /* the unit's */
	uint64_t started_boottime_ns;
	uint32_t cgroup_count;
	struct record_cgroup cgroups[RECORD_CGROUPS_MAX];
};

struct running_steps {
	struct running_step *step; /* those of a unit one after another */
	size_t count, room;
};

typedef bool running_steps_f(const struct unit *unit, const struct step *step,
			     const void *arg);

/* Appends those that are wanted (NULL: all). The caller serialises, as for units.h.
 * -ENOMEM: some are missing. */
int running_steps_take(struct running_steps *r, struct units *u,
		       running_steps_f *is_wanted, const void *arg);
void running_steps_done(struct running_steps *r);

#endif
