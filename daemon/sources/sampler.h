/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_SAMPLER_H
#define CEEMS_DAEMON_SOURCES_SAMPLER_H

#include "daemon/sources/source.h"

/* Samples energy sources, each on its own thread, so that a sensor that takes seconds
 * delays no other and no scrape. Readers get copies. */
struct sampler;

/* Opens the sources; failures are logged once and retried each minute. period_ms: time
 * between samples; a source may need a shorter one. env must outlive it. Call before
 * privileges are dropped. */
int sampler_new(const struct env *env, uint64_t period_ms,
		const struct source *const *sources, size_t count, struct sampler **ret,
		struct err *err);

/* Passes an earlier daemon's mark on to the source, if it is open and wants it. Before
 * sampler_start(). */
void sampler_resume(struct sampler *s, const struct source *source,
		    const struct meter_checkpoint_mark *mark);

/* Starts sampling, and waits briefly for the first readings. Call after privileges are
 * dropped and signals are blocked. */
int sampler_start(struct sampler *s, struct err *err);

/* Samples every source once on the caller's thread; not after sampler_start(). */
void sampler_run(struct sampler *s);

/* Copies the source's last sample into ret (zeroed or used before; free it with
 * source_snapshot_done()). -ENODEV: not on this machine or not enabled; -EAGAIN:
 * nothing sampled yet; other: why it could not be opened. Thread safe, never waits for
 * a sensor. */
int sampler_get(struct sampler *s, const struct source *source,
		struct source_snapshot *ret, struct err *err);

/* Whether the source is open, without copying. Same errors, except -EAGAIN. */
int sampler_is_open(struct sampler *s, const struct source *source, struct err *err);

/* Whether a source other than `except` measures one of the domains (1u << enum
 * source_domain): 1: one did at its last sampling, however old; 0: none; -EAGAIN: none
 * so far, but a source is open that has no sample yet. Thread safe. */
int sampler_measures(struct sampler *s, const struct source *except, unsigned domains);

/* The longest time between samples of the source at present, in milliseconds. */
uint64_t sampler_period_ms(struct sampler *s, const struct source *source);

/* The sources, in the order passed to sampler_new(). */
size_t sampler_count(const struct sampler *s); /* NULL: 0 */
const struct source *sampler_source(const struct sampler *s, size_t i);

/* When the source's running sampling began; 0: none is running. */
uint64_t sampler_asking_ns(struct sampler *s, const struct source *source);

/* Waits until a source has been sampled since *io_round (start with 0), which is
 * updated, or sampler_wake() was called, or for timeout_ms. Thread safe. */
void sampler_wait(struct sampler *s, uint64_t *io_round, uint64_t timeout_ms);
void sampler_wake(struct sampler *s);

/* Ends the threads and closes the sources. A thread that hangs in a sensor is
 * abandoned. */
void sampler_free(struct sampler *s);

#endif
