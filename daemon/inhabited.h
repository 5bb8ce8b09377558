/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_INHABITED_H
#define CEEMS_DAEMON_INHABITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/units.h"

/* Which processes are in a step's control groups. Bounded: three levels below a group's
 * directory and 256 directories, 64 processes in each; in a list, 8192. */

/* Whether tasks of the step run: processes below a slurmstepd, not just slurmstepd
 * itself. */
bool inhabited_by_tasks(const struct env *env, const struct record_cgroup *cgroups,
			uint32_t count);

/* The tasks in them, at most max: returns their number. */
size_t inhabited_list(const struct env *env, const struct record_cgroup *cgroups,
		      uint32_t count, uint64_t *ret, size_t max);

/* All processes in them, slurmstepd too, and those of virtual machines and pods.
 * *ret_cut: there may be more: beyond max or a bound, or in a directory that cannot be
 * read. */
size_t inhabited_list_all(const struct env *env, const struct record_cgroup *cgroups,
			  uint32_t count, uint64_t *ret, size_t max, bool *ret_cut);

/* Looks whether /proc shows us processes of other users. If not (hidepid=2), it says so
 * and sets env->processes_hidden: then nothing tells slurmstepd from a task, or a
 * process that has ended from one that runs, so each in a step's groups counts as a
 * task. Without privileges, as what asks later. */
void inhabited_look(struct env *env);

/* Whether its slurmstepd is gone, so that nobody will remove the directories, and no
 * process is left in them. False also if that cannot be determined. */
bool inhabited_by_nobody(const struct env *env, const struct step *step);

#endif
