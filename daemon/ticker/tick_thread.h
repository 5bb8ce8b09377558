/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_TICK_THREAD_H
#define CEEMS_DAEMON_TICKER_TICK_THREAD_H

#include <pthread.h>

#include "daemon/sources/sampler.h"
#include "daemon/ticker/ticker.h"

/* The thread that makes the energy ticks, when a sensor has been read and never during
 * a scrape. */
struct tick_thread;

struct tick_thread_params {
	const struct env *env;
	struct ticker *ticker;
	struct sampler *sampler;
	uint64_t interval_ms;
	pthread_mutex_t *lock; /* the daemon's */
	/* Called under the lock, before and after each tick; may be NULL. */
	void (*before)(void *arg);
	void (*after)(void *arg);
	void *arg;
};

/* After sampler_start(), with signals blocked. */
int tick_thread_start(const struct tick_thread_params *params, struct tick_thread **ret,
		      struct err *err);
/* Before sampler_free(). Accepts NULL. */
void tick_thread_stop(struct tick_thread *t);

#endif
