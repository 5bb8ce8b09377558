/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SAMPLE_H
#define CEEMS_DAEMON_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/units.h"

/* Reads the CPU time of running steps into the unit table, at each scrape and in
 * between, so that little is lost when a stop record never comes. The caller holds the
 * daemon's lock. */

struct sample;

/* When a step's cgroup (or slurmstepd, if it has none) has been gone for so long and
 * the ring is drained, no stop record will come. */
#define SAMPLE_LOST_MS 3000u

/* env->units is not NULL and outlives it. NULL: no memory. */
struct sample *sample_new(const struct env *env);
void sample_free(struct sample *s); /* accepts NULL */

/* Reads every running step once. Returns how many were read. A step that cannot be read
 * keeps its last value and is marked unread, so that a scrape does not show the old
 * value as new. */
int sample_steps(struct sample *s);
/* Reads the resident memory (without page cache) of every running step. That takes more
 * files than CPU time, so do it less often. */
void sample_memory(struct sample *s);
/* CPU time of a running unit's whole job, from the job's own control group, which may
 * contain more than its steps. False: cannot be read. */
bool sample_job_cpu(struct sample *s, uint32_t unit, uint64_t *ret_ns);
/* CPUs that the job's control group may use, for a unit whose allocation is unknown,
 * read once a minute; if it has none, the cores of its extern step. 0: unknown. */
uint32_t sample_job_cpus(struct sample *s, uint32_t unit);
/* As last read, 0: unknown */
uint64_t sample_rss_bytes(const struct sample *s, uint32_t step);
/* Resident memory of the whole job of a running unit now. False: cannot be read. */
bool sample_job_rss(struct sample *s, uint32_t unit, uint64_t *ret_bytes);
/* Reads what the running steps of a unit have read and written so far. */
void sample_unit_io(struct sample *s, uint32_t unit);
/* Reads one step now, because its stop record had no counters. */
void sample_step(struct sample *s, uint32_t step);
/* Reads all that is counted of a running step whose control group has become empty.
 * False: it cannot be read any more. */
bool sample_step_last(struct sample *s, uint32_t step);
/* Reads all running steps of a unit. False: one of them cannot be read now. */
bool sample_unit(struct sample *s, uint32_t unit);
/* What a running unit's own control group has counted, including ended steps but (on
 * v2) not the slurmstepds of running ones: CPU time and IO. False: cannot be read. */
bool sample_job_totals(struct sample *s, uint32_t unit, struct unit_totals *ret);

/* To be called when the ring was found empty at drained_boottime_ns: ends the steps
 * that had then been gone for SAMPLE_LOST_MS. Returns how many. */
int sample_end_lost(struct sample *s, uint64_t drained_boottime_ns);

/* Ends the steps whose slurmstepd was killed and whose last process has gone: nobody
 * will remove their cgroup or send a record. Processes that outlive their slurmstepd
 * still count. It looks at the slurmstepd of each running step, so do not call it
 * often. The ring has just been drained. Returns how many. */
int sample_end_abandoned(struct sample *s);

#endif
