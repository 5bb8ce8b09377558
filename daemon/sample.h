/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SAMPLE_H
#define CEEMS_DAEMON_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/units.h"

/* Reads the CPU time of running steps into the unit table: at each scrape, and between
 * scrapes often enough that a stop record that never comes costs little. The caller
 * holds the daemon's lock. */

struct sample;

/* A step whose cgroup (or, without one, whose slurmstepd) has been gone for so long,
 * with the ring drained, has no stop record on its way. */
#define SAMPLE_LOST_MS 3000u

/* env->units is not NULL and outlives it. NULL: no memory. */
struct sample *sample_new(const struct env *env);
void sample_free(struct sample *s); /* accepts NULL */

/* Reads every running step once. Returns how many were read. One that fails keeps its
 * last value and is marked unread, so that no scrape shows the old value as a new one.
 */
int sample_steps(struct sample *s);
/* Reads the resident memory (without page cache) of every running step: more files than
 * CPU time, so now and then only. */
void sample_memory(struct sample *s);
/* What the whole job of a running unit has used by its own control group, which may
 * hold more than its steps. False: cannot be read. */
bool sample_job_cpu(struct sample *s, uint32_t unit, uint64_t *ret_ns);
/* CPUs that the job's control group may use, for a unit whose allocation nobody told,
 * read once a minute; without one the cores of its extern step. 0: not known. */
uint32_t sample_job_cpus(struct sample *s, uint32_t unit);
/* As read last, 0: not known */
uint64_t sample_rss_bytes(const struct sample *s, uint32_t step);
/* Resident memory of the whole job of a running unit now. False: cannot be read. */
bool sample_job_rss(struct sample *s, uint32_t unit, uint64_t *ret_bytes);
/* Reads what the running steps of a unit have read and written so far. */
void sample_unit_io(struct sample *s, uint32_t unit);
/* Reads one step now: its stop record brought no counters. */
void sample_step(struct sample *s, uint32_t step);
/* Reads all running steps of a unit. False: one of them cannot be read now. */
bool sample_unit(struct sample *s, uint32_t unit);
/* What the job of a running unit has counted by its own control group, steps that ended
 * included, slurmstepds of running ones (v2) not: CPU time and IO. False: cannot be
 * read. */
bool sample_job_totals(struct sample *s, uint32_t unit, struct unit_totals *ret);

/* After the ring was found empty at drained_boottime_ns: ends the steps that have been
 * gone since SAMPLE_LOST_MS before that. Returns how many. */
int sample_end_lost(struct sample *s, uint64_t drained_boottime_ns);

/* Ends the steps whose slurmstepd was killed and whose last process has gone: nobody
 * removes their cgroup or sends a record any more. Processes that outlive their
 * slurmstepd still count. Looks at each running step's slurmstepd, so seldom is enough.
 * The ring has just been drained. Returns how many. */
int sample_end_abandoned(struct sample *s);

#endif
