/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_HARDWARE_EXPORT_H
#define CEEMS_DAEMON_GROUPS_HARDWARE_EXPORT_H

#include "daemon/env.h"
#include "lib/prom.h"

/* Hardware and cache events, of units that ask and of the node's events. The caller
 * holds the daemon's lock; env->unit_hardware is not NULL. */
void hardware_export(const struct env *env, struct prom *out);

#endif
