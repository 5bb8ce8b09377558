/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_DAEMON_ENERGY_H
#define CEEMS_DAEMON_DAEMON_ENERGY_H

#include "daemon/daemon.h"

/* The part of ceemsd that divides energy. Off, without an error, if there is no unit
 * table or no source, or with --no-collector.energy. */

/* Once the sources are open, before the collectors are. */
int daemon_energy_open(struct daemon *d, struct err *err);
/* After dropping privileges and sampler_start(). */
int daemon_energy_start(struct daemon *d, struct err *err);
/* Before the sampler is freed. */
void daemon_energy_close(struct daemon *d);

#endif
