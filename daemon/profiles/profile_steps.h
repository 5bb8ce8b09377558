/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_PROFILES_PROFILE_STEPS_H
#define CEEMS_DAEMON_PROFILES_PROFILE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "lib/err.h"

struct step;
struct child_link;

/* Which steps asked for a profile, told to ceems-profiler as they begin and end. The
 * caller holds the daemon's lock. */
struct profile_steps;

/* env with units, and the link, outlive it. */
int profile_steps_new(const struct env *env, struct child_link *link,
		      struct profile_steps **ret, struct err *err);
void profile_steps_free(struct profile_steps *p); /* accepts NULL */
/* At each look at the ring. True: all steps that asked are sampled, or cannot be. */
bool profile_steps_tick(struct profile_steps *p);
/* For how long steps that began since profile_steps_new() ran before they were sampled,
 * all together; they wait for a tenth of a second (spank/arm_wait.h). Any thread. */
uint64_t profile_steps_late_ns(const struct profile_steps *p);
/* The rate at which a step is sampled, by what it asked and the site allows; 0: not. */
uint32_t profile_steps_hz(const struct options *o, const struct step *step);

#endif
