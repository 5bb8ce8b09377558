/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_LEARN_QUEUE_H
#define CEEMS_PROFILER_LEARN_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Processes that have begun to execute something: each is looked at once it has been
 * quiet for a moment, since it maps one library after the other, and not at all if it
 * has ended by then, as most of those do of which there are many. */
#define LEARN_QUIET_NS 1000000u
#define LEARN_LATEST_NS 4000000u
#define LEARN_PLACES 4096u

struct learn_queue {
	struct {
		uint32_t pid; /* 0: free */
		uint32_t unused;
		uint64_t first_ns, last_ns;
	} places[LEARN_PLACES];
	uint32_t count, hand;
	/* what may be done at once, and gets more with time */
	uint64_t credit_ns, credited_ns;
};

/* A process that there is no place for is looked at when it is sampled. */
void learn_queue_put(struct learn_queue *q, uint32_t pid, uint64_t now_ns);
void learn_queue_drop(struct learn_queue *q, uint32_t pid);
/* One that is due, and is dropped by that; 0: none */
uint32_t learn_queue_take(struct learn_queue *q, uint64_t now_ns);
/* Whether one more process may be looked at: LEARN_RATE a second in the long run */
#define LEARN_RATE 100u
#define LEARN_BURST 200u
bool learn_queue_may(struct learn_queue *q, uint64_t now_ns);

#endif
