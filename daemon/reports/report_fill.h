/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_REPORTS_REPORT_FILL_H
#define CEEMS_DAEMON_REPORTS_REPORT_FILL_H

#include "daemon/units_report.h"
#include "lib/records/report.h"

/* Makes reports from the unit table. Reads only; the caller holds the daemon's lock. */

struct report_who {
	const char *cluster;
	const char *hostname; /* for units whose record named no node */
	const char *boot_id;
	const char *(*source_name)(uint32_t tag); /* of an energy source */
};

/* Realtime of an event, on the unit's own time base (lib/records/report.h). boottime_ns
 * 0: never; returns 0. */
uint64_t report_time_of(const struct unit *unit, uint64_t boottime_ns);

/* Begins r: who the unit is and what it was given. */
void report_fill_unit(struct report *r, enum report_type type, const struct units *u,
		      uint32_t i, const struct report_who *who);
/* Fills in the pending window. */
void report_fill_window(struct report *r, const struct units *u, uint32_t i,
			const struct report_who *who);
/* The totals of a unit that ended; sums: as in the table, or as of now */
void report_fill_totals(struct report *r, const struct units *u, uint32_t i,
			const struct report_sums *sums, const struct report_who *who);
/* Adds a step of the unit. False: no room, flagged. */
bool report_fill_step(struct report *r, const struct units *u, uint32_t i,
		      uint32_t step);

/* Changes whenever the contents of a unit's START change; never 0. */
uint32_t report_fill_hash(const struct units *u, uint32_t i);

#endif
