/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_FIND_H
#define CEEMS_DAEMON_UNITS_FIND_H

#include "daemon/units.h"

/* Which unit a record is about, for the files of the unit table only. */

/* The restart count that r belongs to; its own is only a lower bound. */
uint32_t find_run(const struct units *u, const struct record *r);
/* The unit of r, UNITS_NONE: none yet. synthetic: from a directory, not the ring. */
uint32_t find_unit_of(const struct units *u, const struct record *r, bool synthetic);

#endif
