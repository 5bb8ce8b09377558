/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_PROFILES_TARGETS_H
#define CEEMS_DAEMON_PROFILES_TARGETS_H

#include "daemon/env.h"
#include "daemon/running_steps.h"
#include "lib/buf.h"

/* Processes of running units for Grafana Alloy's discovery.http, as the peer lists
 * them: GET on --web.targets-path. */

/* The steps whose processes are wanted: with variables
 * (--discoverer.alloy-targets.env-var) those that asked, else all; of one manager, if
 * one is named. The daemon's lock is held. -ENOMEM. */
int targets_take(struct running_steps *t, struct units *u, const struct options *o);
/* Appends a list with an object for each process; without the lock, since it reads the
 * control groups. An empty list is []. */
int targets_put_json(const struct running_steps *t, const struct env *env,
		     struct buf *out);

#endif
