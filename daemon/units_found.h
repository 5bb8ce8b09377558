/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_FOUND_H
#define CEEMS_DAEMON_UNITS_FOUND_H

#include "daemon/units.h"
#include "lib/records/report.h"

/*
 * Units that lived before the table knew them: what their control groups had counted by
 * then. The table shows all of it, reports tell it as `before` and the rest in windows.
 *
 *	unit's value = before + what its windows tell
 *
 * A unit that may be one is UNIT_UNREAD until its control group has been read (found.c)
 * and is not reported until then. The caller serialises, as for the table.
 */

struct unit_before {
	struct report_before all; /* known 0: not found, or not read yet */
	/* of it, of no step that the table knows; part of unit.folded */
	struct unit_totals rest;
};
_Static_assert(sizeof(struct unit_before) == 112, "part of a file format");

/* Borrowed; i: a slot in use */
const struct unit_before *unit_before(const struct units *u, uint32_t i);
/* How many units are UNIT_UNREAD */
uint32_t units_unread(const struct units *u);

/* All steps of the unit have just been read into the table, and, by its own control
 * group, the whole job (NULL: it cannot be). Ends UNIT_UNREAD; what is more than the
 * steps' is added to the unit, and it is UNIT_FOUND if it had used anything that no
 * record told the beginning of. A further time that can only become less. */
void units_found_read(struct units *u, uint32_t i, const struct unit_totals *job);

/* The table was begun anew while units may have been running: 0: it was not, else
 * CLOCK_BOOTTIME. Each unit that it meets from then on is UNIT_UNREAD. In the file. */
void units_set_anew(struct units *u, uint64_t boottime_ns);
bool units_anew(const struct units *u);

/* Records that are applied meanwhile have been applied to an earlier table: what they
 * tell was told, so that it is of before. Not in the file. */
void units_set_recalling(struct units *u, bool recalling);

/* ---- for the files of the unit table only ---------------------------------------- */

/* Within a transaction: a slot that is being taken */
void found_put_unit(struct units *u, uint32_t i);
/* A step that the table did not know tells its counters: that much of the rest was its.
 * Takes it out of *folded and *b. */
void found_take_rest(struct unit_totals *folded, struct unit_before *b,
		     const struct unit_totals *counters);

#endif
