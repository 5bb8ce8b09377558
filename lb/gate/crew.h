/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_CREW_H
#define CEEMS_LB_GATE_CREW_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/turns.h"

/* Threads that wait in place of those that must not. A bounded number of jobs waits;
 * those of one key are done in the order in which they came, keys in turn, and who asks
 * for what fails is charged for it (lib/turns.h). */

#define CREW_QUEUE_MAX 1024u
#define CREW_LANE_MAX 512u /* of one key */

struct crew;

/* Storage of the caller until run() returns, which may free it. */
struct crew_job {
	struct fair_item item;
	/* mine: what the thread keeps between jobs, NULL at first. Once the crew is
	 * stopped, *stop is true: then it is to give up soon. True: it failed, and its
	 * key is charged. */
	bool (*run)(struct crew_job *j, void **mine, const atomic_bool *stop);
};

/* forget: frees what a thread kept; may be NULL. */
int crew_new(unsigned threads, void (*forget)(void *mine), struct crew **ret);
int crew_start(struct crew *c, struct err *err);
/* Does what waits with *stop true, ends the threads. Accepts NULL. */
void crew_stop(struct crew *c);
void crew_free(struct crew *c); /* stopped; accepts NULL */

/* key: of whoever asks for it. false: too many wait, of this key or of all, or it has
 * stopped: run() is not called. */
bool crew_submit(struct crew *c, struct crew_job *j, uint64_t key);

#endif
