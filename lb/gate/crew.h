/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_CREW_H
#define CEEMS_LB_GATE_CREW_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/turns.h"

/* Threads that block on behalf of those that must not. A bounded number of jobs waits;
 * those of one key run in order, keys in turn, and failures are charged to their key
 * (lib/turns.h). */

#define CREW_QUEUE_MAX 1024u
#define CREW_LANE_MAX 512u /* of one key */

struct crew;

/* Owned by the caller until run() returns; run() may free it. */
struct crew_job {
	struct fair_item item;
	/* mine: the thread's own state between jobs, NULL at first. *stop becomes true
	 * when the crew is stopped: give up soon. Returns true on failure, which is
	 * charged to its key. */
	bool (*run)(struct crew_job *j, void **mine, const atomic_bool *stop);
};

/* forget: frees a thread's state; may be NULL. */
int crew_new(unsigned threads, void (*forget)(void *mine), struct crew **ret);
int crew_start(struct crew *c, struct err *err);
/* Runs waiting jobs with *stop true, then ends the threads. Accepts NULL. */
void crew_stop(struct crew *c);
void crew_free(struct crew *c); /* stopped; accepts NULL */

/* key: the requester's. False: too many jobs are waiting, of this key or in all, or the
 * crew has stopped; run() is not called. */
bool crew_submit(struct crew *c, struct crew_job *j, uint64_t key);

#endif
