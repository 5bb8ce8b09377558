/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_DISCOVER_H
#define CEEMS_DAEMON_DISCOVER_H

#include <stdbool.h>

#include "daemon/env.h"
#include "lib/err.h"
#include "lib/records/record.h"

/* Finds Slurm's steps in the cgroup tree that had no start record: at start (jobs older
 * than the daemon), after records were lost, and from time to time. */

#define DISCOVER_PERIOD_MS 60000u
#define DISCOVER_ENTRIES_MAX 65536u /* directories looked at in one walk */
#define DISCOVER_DEPTH_MAX 8u

/* Walks env->cgroupfd and applies a synthetic STEP_START to env->units for each step
 * directory that the table does not know and in which something other than slurmstepd
 * lives. Roots are searched each time; a directory that vanishes during the walk is
 * skipped. Returns how many steps were added. -EFBIG: the tree exceeded
 * DISCOVER_ENTRIES_MAX and was walked in part; -ENOMEM. The caller holds the lock.
 *
 *   v1: <hierarchy>/slurm[_<node>]/uid_U/job_J/step_S
 *   v2: .../[<node>_]slurmstepd.scope/job_J/step_S, at any depth
 *   26.05: the job's directory is named by its SLUID: any parent of step_* is a job */
int discover_walk(const struct env *env, struct err *err);

/* The start record, without control groups, that a step with this path below its
 * hierarchy gets, as of now. False: not a step's path, or of another node
 * (--collector.slurm.nodes). */
bool discover_describe(const struct env *env, const char *path, struct record *ret);

#endif
