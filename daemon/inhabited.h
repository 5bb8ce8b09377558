/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_INHABITED_H
#define CEEMS_DAEMON_INHABITED_H

#include <stdbool.h>

#include "daemon/env.h"
#include "daemon/units.h"

/* Who lives in a step's control groups. Bounded: a few levels and 256 directories, 64
 * processes of each. */

/* Tasks of a running step: processes below a slurmstepd, not only slurmstepd itself. */
bool inhabited_by_tasks(const struct env *env, const struct record_cgroup *cgroups,
			uint32_t count);

/* Its slurmstepd has gone, so nobody will remove the directories, and no process is
 * left in them. False also where that cannot be told. */
bool inhabited_by_nobody(const struct env *env, const struct step *step);

#endif
