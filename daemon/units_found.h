/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_FOUND_H
#define CEEMS_DAEMON_UNITS_FOUND_H

#include "daemon/units.h"
#include "lib/records/report.h"

/*
 * Units that ran before the table knew them: what their control groups had counted by
 * then. The table shows all of it; reports have it as `before`, and the rest in
 * windows.
 *
 *	unit's value = before + sum of its windows
 *
 * A possible one is UNIT_UNREAD until its control group has been read (found.c) and is
 * not reported until then. The caller serialises, as for the table.
 */

struct unit_before {
	struct report_before all; /* known 0: not found, or not read yet */
	/* the part that belongs to no step in the table; included in unit.folded */
	struct unit_totals rest;
};
_Static_assert(sizeof(struct unit_before) == 112, "part of a file format");

/* Borrowed; i: a slot in use */
const struct unit_before *unit_before(const struct units *u, uint32_t i);
/* How many units are UNIT_UNREAD */
uint32_t units_unread(const struct units *u);

/* All steps of the unit have just been read into the table; job: the counters of its
 * own control group (NULL: cannot be read). Ends UNIT_UNREAD; what exceeds the steps'
 * counters is added to the unit, and it becomes UNIT_FOUND if it had used anything
 * without a start record. When called again, that can only decrease. */
void units_found_read(struct units *u, uint32_t i, const struct unit_totals *job);

/* The table was created anew while units may have been running. boottime_ns: then
 * each unit first seen from that time on is UNIT_UNREAD; 0: it was not. Stored in the
 * file. */
void units_set_anew(struct units *u, uint64_t boottime_ns);
bool units_anew(const struct units *u);

/* While set, the records applied had already been applied to an earlier table: what
 * they report has been reported, and is part of `before`. Not stored in the file. */
void units_set_recalling(struct units *u, bool recalling);

/* ---- for the files of the unit table only ---------------------------------------- */

/* Within a transaction: a slot that is being taken */
void found_put_unit(struct units *u, uint32_t i);
/* A step that the table did not know reports its counters: so much of the rest was its.
 * Subtracts it from *folded and *b. */
void found_take_rest(struct unit_totals *folded, struct unit_before *b,
		     const struct unit_totals *counters);

#endif
