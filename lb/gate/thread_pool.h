/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_THREAD_POOL_H
#define CEEMS_LB_GATE_THREAD_POOL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/turns.h"

/* Threads that block on behalf of those that must not. A bounded number of jobs waits;
 * those of one key run in order, keys in turn, and failures are charged to their key
 * (lib/turns.h). */

#define THREAD_POOL_QUEUE_MAX 1024u
#define THREAD_POOL_LANE_MAX 512u /* of one key */

struct thread_pool;

/* Owned by the caller until run() returns; run() may free it. */
struct thread_pool_job {
	struct fair_item item;
	/* mine: the thread's own state between jobs, NULL at first. *stop becomes true
	 * when the pool is stopped: give up soon. Returns true on failure, which is
	 * charged to its key. */
	bool (*run)(struct thread_pool_job *j, void **mine, const atomic_bool *stop);
};

/* forget: frees a thread's state; may be NULL. */
int thread_pool_new(unsigned threads, void (*forget)(void *mine),
		    struct thread_pool **ret);
int thread_pool_start(struct thread_pool *c, struct err *err);
/* Runs waiting jobs with *stop true, then ends the threads. Accepts NULL. */
void thread_pool_stop(struct thread_pool *c);
void thread_pool_free(struct thread_pool *c); /* stopped; accepts NULL */

/* key: the requester's. False: too many jobs are waiting, of this key or in all, or the
 * pool has stopped; run() is not called. */
bool thread_pool_submit(struct thread_pool *c, struct thread_pool_job *j, uint64_t key);

#endif
