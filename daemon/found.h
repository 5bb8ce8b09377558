/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_FOUND_H
#define CEEMS_DAEMON_FOUND_H

#include "daemon/env.h"
#include "daemon/sample.h"

struct ingest;

/* Reads what units that are UNIT_UNREAD (units_found.h) had used by now, each when all
 * of its steps can be read and the ring is empty. now: also those that have just been
 * met; else a start record gets a second to come first. Cheap when there are none. The
 * caller holds the daemon's lock. ingest: NULL when there is no ring. */
void found_read_units(const struct env *env, struct sample *sample,
		      struct ingest *ingest, bool now);

#endif
