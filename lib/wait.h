/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_WAIT_H
#define CEEMS_LIB_WAIT_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"

/*
 * Thread waits by CLOCK_MONOTONIC, which setting the wall clock neither shortens nor
 * stretches. Condition variables used with these deadlines must be initialised by
 * wait_cond_init(); those of pthread_cond_init() use the wall clock.
 */

static inline void wait_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/* The deadline at a time of CLOCK_MONOTONIC */
static inline struct timespec wait_at(uint64_t monotonic_ns)
{
	return (struct timespec){.tv_sec = (time_t)(monotonic_ns / NSEC_PER_SEC),
				 .tv_nsec = (long)(monotonic_ns % NSEC_PER_SEC)};
}

/* The deadline in so many milliseconds */
static inline struct timespec wait_in(uint64_t ms)
{
	return wait_at(clock_read_ns(CLOCK_MONOTONIC) + ms * NSEC_PER_MSEC);
}

/* Waits until it is signalled or the time has come; UINT64_MAX: no deadline. */
static inline void wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      uint64_t monotonic_ns)
{
	const struct timespec at = wait_at(monotonic_ns);

	if (monotonic_ns == UINT64_MAX)
		pthread_cond_wait(cond, mutex);
	else
		pthread_cond_timedwait(cond, mutex, &at);
}

/* pthread_join() until the deadline. 0 or an error number: ETIMEDOUT. */
static inline int wait_join(pthread_t thread, const struct timespec *deadline)
{
#ifdef __SANITIZE_THREAD__
	/* it does not know pthread_clockjoin_np() and would report false races */
	int rc;
	while ((rc = pthread_tryjoin_np(thread, NULL)) == EBUSY &&
	       (uint64_t)deadline->tv_sec * NSEC_PER_SEC + (uint64_t)deadline->tv_nsec >
		       clock_read_ns(CLOCK_MONOTONIC))
		usleep(1000);
	return rc == EBUSY ? ETIMEDOUT : rc;
#else
	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, deadline);
#endif
}

#endif
