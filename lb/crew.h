/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_CREW_H
#define CEEMS_LB_CREW_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/err.h"

/* Threads that wait in place of those that must not. Jobs are done in the order in
 * which they came, a bounded number waits. */

#define CREW_QUEUE_MAX 1024u

struct crew;

/* Storage of the caller until run() returns, which may free it. */
struct crew_job {
	struct crew_job *next;
	/* mine: what the thread keeps between jobs, NULL at first. Once the crew is
	 * stopped, *stop is true: then it is to give up soon. */
	void (*run)(struct crew_job *j, void **mine, const atomic_bool *stop);
};

/* forget: frees what a thread kept; may be NULL. */
int crew_new(unsigned threads, void (*forget)(void *mine), struct crew **ret);
int crew_start(struct crew *c, struct err *err);
/* Does what waits with *stop true, ends the threads. Accepts NULL. */
void crew_stop(struct crew *c);
void crew_free(struct crew *c); /* stopped; accepts NULL */

/* false: too many wait, or it has stopped: run() is not called. */
bool crew_submit(struct crew *c, struct crew_job *j);

#endif
