/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_STEP_ENDS_H
#define CEEMS_DAEMON_GROUPS_STEP_ENDS_H

#include "daemon/env.h"

/*
 * Last counters without a kernel program (step_groups.h): the kernel tells when a
 * control group of v2 has become empty (populated 0 in cgroup.events), also in a hybrid
 * hierarchy, and its counters are read then, before somebody removes it. The step is
 * marked STEP_POLLED: whoever removes the group at once may be faster. v1 tells nobody.
 * The caller holds the daemon's lock.
 */
struct step_ends;
struct sample;

/* env, with its unit table, and s outlive it. -ENOSYS: no inotify here. */
int step_ends_new(const struct env *env, struct sample *s, struct step_ends **ret,
		  struct err *err);
void step_ends_free(struct step_ends *e); /* accepts NULL */

/* Can be read when there is something for step_ends_tick(). Borrowed */
int step_ends_fd(const struct step_ends *e);
/* Watches the groups of new steps, and reads those that have become empty. Does not
 * block. */
void step_ends_tick(struct step_ends *e);

#endif
