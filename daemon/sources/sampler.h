/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_SAMPLER_H
#define CEEMS_DAEMON_SOURCES_SAMPLER_H

#include "daemon/sources/source.h"

/* Samples energy sources, each on a thread of its own, so that a sensor that takes
 * seconds delays no other and no scrape. Readers get copies. */
struct sampler;

/* Opens the sources; those that fail are said once and tried again each minute.
 * period_ms: how often each is sampled, more often where it says that it must be. env
 * must outlive it. Call before privileges are dropped. */
int sampler_new(const struct env *env, uint64_t period_ms,
		const struct source *const *sources, size_t count, struct sampler **ret,
		struct err *err);

/* Passes on where an earlier daemon's source stood, if it is open and wants to know.
 * Before sampler_start(). */
void sampler_resume(struct sampler *s, const struct source *source,
		    const struct kept_mark *mark);

/* Begins to sample, and waits a moment for the first readings. Call after privileges
 * are dropped and signals are blocked. */
int sampler_start(struct sampler *s, struct err *err);

/* Samples every source once, now, on the caller's thread; not after sampler_start(). */
void sampler_run(struct sampler *s);

/* Copies what the source gave last into ret (zeroed or used before; the caller frees it
 * with source_snapshot_done()). -ENODEV: not on this machine or not asked for; -EAGAIN:
 * nothing sampled yet; other: why it could not be opened. Thread safe, never waits for
 * a sensor. */
int sampler_get(struct sampler *s, const struct source *source,
		struct source_snapshot *ret, struct err *err);

/* Whether the source can be opened, without copying. Same errors, without -EAGAIN. */
int sampler_is_open(struct sampler *s, const struct source *source, struct err *err);

/* Whether a source other than `except` measures one of the domains (1u << enum
 * source_domain): 1: one did so at its last sampling, however old; -EAGAIN: none so
 * far, but one that could be opened has given nothing yet; 0: none. Thread safe. */
int sampler_measures(struct sampler *s, const struct source *except, unsigned domains);

/* Most that lies between two samplings of the source at this time, in milliseconds. */
uint64_t sampler_period_ms(struct sampler *s, const struct source *source);

/* The sources that it was made with, in that order. */
size_t sampler_count(const struct sampler *s); /* NULL: 0 */
const struct source *sampler_source(const struct sampler *s, size_t i);

/* When the sampling of the source began that has no answer yet; 0: none goes on. */
uint64_t sampler_asking_ns(struct sampler *s, const struct source *source);

/* Waits until some source has been sampled since *io_round (begin with 0), which is
 * moved on, or sampler_wake() was called, or for timeout_ms. Thread safe. */
void sampler_wait(struct sampler *s, uint64_t *io_round, uint64_t timeout_ms);
void sampler_wake(struct sampler *s);

/* Ends the threads and closes the sources. One that hangs in a sensor is left behind.
 */
void sampler_free(struct sampler *s);

#endif
