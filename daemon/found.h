/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_FOUND_H
#define CEEMS_DAEMON_FOUND_H

#include "daemon/env.h"
#include "daemon/sample.h"

struct ingest;

/* Reads the counters of UNIT_UNREAD units (units_found.h), each once all of its steps
 * can be read and the ring is empty. now: also those just discovered; otherwise their
 * start record is given a second to arrive. Cheap if there are none. The caller holds
 * the daemon's lock. ingest: NULL when there is no ring. */
void found_read_units(const struct env *env, struct sample *sample,
		      struct ingest *ingest, bool now);

#endif
