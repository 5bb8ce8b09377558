/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_EXPIRE_H
#define CEEMS_DAEMON_UNITS_EXPIRE_H

#include "daemon/units.h"

/* Leaving the table, for the files of the unit table only. */

/* Moves a step into its unit; a tombstone stays if its last stop record has not
 * come. */
void expire_step(struct units *u, uint32_t i);
/* Moves a unit, with its steps, into the node. early: before its time. */
void expire_unit_now(struct units *u, uint32_t i, bool early);

/* The pid that ran the step distinguishes the runs of a job, which its restart count
 * does not (find_run()). 0: a step known from its directory only. */
uint64_t expire_tombstone_key(const struct unit *unit, uint32_t step,
			      uint32_t stepd_pid);
/* Within a transaction; expire_tombstone_put_done() follows its commit. */
void expire_tombstone_put(struct units *u, uint64_t key, const struct unit_totals *t);
void expire_tombstone_put_done(struct units *u);

#endif
