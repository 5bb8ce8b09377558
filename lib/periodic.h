/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PERIODIC_H
#define CEEMS_LIB_PERIODIC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * A thread that works in turns and rests between them by CLOCK_MONOTONIC. Its owner
 * calls init, start and done; where that would wait too long done_within, or ask_stop,
 * then what interrupts a long turn, and join.
 */

#define PERIODIC_END UINT64_MAX /* there is no next turn */

/* Does one turn. Returns the milliseconds from now to the next one, or PERIODIC_END. */
typedef uint64_t periodic_turn_f(void *arg);

struct periodic {
	atomic_bool
		stopping; /* set by periodic_ask_stop(), for long turns to look at */
	/* private */
	periodic_turn_f *turn;
	void (*last)(void *arg);
	void *arg;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_t thread;
	bool has_thread;
};

void periodic_init(struct periodic *p);

/* The first turn begins at once. stack_bytes: 0 for the system's default. last: called
 * on the thread after the last turn; NULL: nothing. Returns 0 or -errno of
 * pthread_create(). */
int periodic_start(struct periodic *p, size_t stack_bytes, periodic_turn_f *turn,
		   void (*last)(void *arg), void *arg);

/* The rest of a period that began at start_ns of CLOCK_MONOTONIC, in milliseconds, so
 * that a slow turn does not stretch it; 1 if none is left. */
uint64_t periodic_rest_ms(uint64_t start_ns, uint64_t period_ms);

/* Ends the rest; the thread ends after a running turn. Does not wait for that. */
void periodic_ask_stop(struct periodic *p);

/* Waits for the end of the thread, until the deadline (lib/wait.h) if there is one. 0,
 * also if there is none; -ETIMEDOUT: it still runs, and uses p and its arg. */
int periodic_join(struct periodic *p, const struct timespec *deadline);

/* Stops it if it runs. */
void periodic_done(struct periodic *p);
/* -ETIMEDOUT: it still runs, and uses p and its arg, which are to stay. */
int periodic_done_within(struct periodic *p, unsigned timeout_ms);

#endif
