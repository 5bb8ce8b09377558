/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_STEP_PROFILES_H
#define CEEMS_PROFILER_STEP_PROFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/records/profile_sample.h"
#include "lib/records/profile_step.h"
#include "profiler/hottest.h"
#include "profiler/raw_stacks.h"

struct session_stack;

/* The steps that asked, each with the stacks of its present interval. One thread. */
struct step_profile {
	struct profile_step step;
	struct raw_stacks stacks;
	struct raw_stacks blocked; /* where threads were blocked, in nanoseconds */
	uint64_t begin_ns;         /* of the interval, CLOCK_REALTIME */
	uint64_t due_ns;           /* CLOCK_BOOTTIME */
	bool ended;
	uint64_t samples, dropped; /* of the interval; dropped: there was no room */
	struct hottest *hottest;   /* NULL: no report is asked for, or no memory */
	uint64_t told_ns, page_ns; /* CLOCK_BOOTTIME: since when, and when next */
};

struct step_profiles {
	struct step_profile all[PROFILE_GROUPS_MAX];
	size_t count;
	uint64_t interval_ns;
	uint64_t bytes, bytes_max; /* of all stacks */
	uint64_t cuts;             /* profiles that lost detail for want of room */
	uint64_t no_place; /* steps beyond their user's share, stacks of no step */
};

/* Whether the groups to sample have changed. -EBADMSG: it is none of ours. */
int step_profiles_told(struct step_profiles *p, const struct profile_step *told,
		       uint64_t now_ns, uint64_t realtime_ns);
size_t step_profiles_groups(const struct step_profiles *p,
			    struct profile_group ret[PROFILE_GROUPS_MAX]);
void step_profiles_add(struct step_profiles *p, const struct session_stack *stack,
		       const struct modules *m);
/* One whose row of the page of hot functions is to be written again, where it is the
 * step's number of all; NULL: none */
struct step_profile *step_profiles_page_due(struct step_profiles *p, uint64_t now_ns);
/* One whose interval is over, or that has ended; NULL: none */
struct step_profile *step_profiles_due(struct step_profiles *p, uint64_t now_ns);
/* After its profile was written: the next interval, or its end */
void step_profiles_next(struct step_profiles *p, struct step_profile *s,
			uint64_t now_ns, uint64_t realtime_ns);
int step_profiles_wait_ms(const struct step_profiles *p, uint64_t now_ns);
/* Since when there are stacks that no profile was written of, CLOCK_BOOTTIME */
uint32_t step_profiles_since_s(const struct step_profiles *p);
void step_profiles_free(struct step_profiles *p);

#endif
