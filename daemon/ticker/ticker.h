/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_TICKER_H
#define CEEMS_DAEMON_TICKER_TICKER_H

#include "daemon/energy.h"
#include "daemon/env.h"
#include "daemon/ticker/host_check.h"
#include "lib/err.h"

struct sample;

/*
 * The daemon's energy ticks: each combines the sources' measurements with the units'
 * use into a new generation of accounts in the unit table. A tick ends when the fastest
 * sensor was read, since energy and CPU time must be of the same moment.
 */
struct ticker;

/* env->units and env->sampler are not NULL; env and sample (NULL: none) outlive it. */
int ticker_new(const struct env *env, struct sample *sample, struct ticker **ret,
	       struct err *err);
void ticker_free(struct ticker *t); /* accepts NULL */

/* Checks the sources: is it time? Without the daemon's lock; one thread at a time. */
bool ticker_due(struct ticker *t);
/* Makes one tick, after ticker_due() and with the daemon's lock, which is held while it
 * reads each running step's CPU time and divides. 0, or why there was no tick: then the
 * next one covers it too. */
int ticker_run(struct ticker *t, struct err *err);

#define TICKER_NO_SOURCE UINT64_MAX

/* Facts about ticks that are not in the accounts. Under the daemon's lock. */
struct ticker_view {
	bool going;     /* ticks are being made */
	uint64_t t0_ns; /* of the last tick */
	uint64_t t1_ns;
	uint64_t cpu_ns; /* used by the node in it */
	uint32_t cpus;
	const struct energy_config *config;
	/* meters_gaps() at the last tick, by number of the source (METERS_SOURCES of
	 * them); TICKER_NO_SOURCE: not on this machine */
	const uint64_t *gaps;
	/* whether the host's sensor seems to include the GPUs */
	enum host_check_result host_seems;
	/* when each domain was measured last, of ENERGY_DOMAINS, boot time; 0: nothing
	 * does; gpu: the device that was measured longest ago */
	const uint64_t *measured_ns;
	const uint64_t *gpu_idle_uw; /* learned, of METERS_GPUS devices; 0: not known */
};
struct ticker_view ticker_view(const struct ticker *t);

#endif
