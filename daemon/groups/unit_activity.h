/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_UNIT_ACTIVITY_H
#define CEEMS_DAEMON_GROUPS_UNIT_ACTIVITY_H

#include <stdint.h>

#include "daemon/env.h"
#include "lib/err.h"

/*
 * How much a second of a unit's CPU time weighs when the CPUs' energy is divided
 * (--energy.activity=events, doc/energy.md): by the cycles and instructions of that
 * time, in proportion to those of all units that are counted in the same tick. The
 * caller holds the daemon's lock.
 */
#define ACTIVITY_LEAST_PPM 250000u /* a quarter, */
#define ACTIVITY_MOST_PPM 4000000u /* and four times the mean */
/* CPU time in a tick below which nothing is said */
#define ACTIVITY_LEAST_NS 1000000u

struct unit_activity;

/* env, with units and whatever unit_hardware it gets, outlives it. -ENOMEM */
int unit_activity_new(const struct env *env, struct unit_activity **ret,
		      struct err *err);
void unit_activity_free(struct unit_activity *a); /* accepts NULL */
/* At a tick: what was counted since the last one. */
void unit_activity_look(struct unit_activity *a);
/* By unit, ENERGY_ONE_PPM where nothing is known; valid until a is freed. */
const uint32_t *unit_activity_ppm(const struct unit_activity *a);

#endif
