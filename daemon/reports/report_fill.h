/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_REPORTS_REPORT_FILL_H
#define CEEMS_DAEMON_REPORTS_REPORT_FILL_H

#include "daemon/units_report.h"
#include "lib/records/report.h"

/* From the unit table to a report. Reads only; the caller holds the daemon's lock. */

struct report_who {
	const char *cluster;
	const char *hostname; /* for units whose record named no node */
	const char *boot_id;
	const char *(*source_name)(uint32_t tag); /* of an energy source */
};

/* When something happened, by the one base of all times of a unit
 * (lib/records/report.h). boottime_ns 0: never, 0. */
uint64_t report_time_of(const struct unit *unit, uint64_t boottime_ns);

/* Begins r: who the unit is and what it was given. */
void report_fill_unit(struct report *r, enum report_type type, const struct units *u,
		      uint32_t i, const struct report_who *who);
/* What the pending window says */
void report_fill_window(struct report *r, const struct units *u, uint32_t i,
			const struct report_who *who);
/* The totals of a unit that ended; sums: as in the table, or as of now */
void report_fill_totals(struct report *r, const struct units *u, uint32_t i,
			const struct report_sums *sums, const struct report_who *who);
/* Adds a step of the unit. False: no room, flagged. */
bool report_fill_step(struct report *r, const struct units *u, uint32_t i,
		      uint32_t step);

/* Changes when what a START says of the unit changes; never 0. */
uint32_t report_fill_hash(const struct units *u, uint32_t i);

#endif
