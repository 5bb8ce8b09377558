/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_REPORTS_REPORT_AGE_H
#define CEEMS_DAEMON_REPORTS_REPORT_AGE_H

#include <stdbool.h>
#include <stdint.h>

/* Age of the oldest record of the spool that is still to be sent, from a few marks of
 * when which sequence number was written. */

#define REPORT_AGE_MARKS 64u

struct report_age {
	uint32_t count;
	uint64_t acked;
	bool has_before; /* until the first note: for files that were already there, */
	int64_t before_ns; /* the time of the oldest */
	struct report_age_mark {
		uint64_t seq; /* records up to this one were written at ns or before */
		int64_t ns;   /* CLOCK_BOOTTIME; below 0: before this boot */
	} marks[REPORT_AGE_MARKS];
};

/* Records beyond acked that are already in the folder are as old as its oldest file, by
 * the current wall clock; later changes of that clock have no effect. Whether there are
 * any is known with the first record after them. */
void report_age_begin(struct report_age *a, const char *folder, uint64_t acked,
		      uint64_t realtime_ns, uint64_t boottime_ns);
/* Records first to last have been written to the spool. Calls are in order. */
void report_age_note(struct report_age *a, uint64_t first, uint64_t last,
		     uint64_t boottime_ns);
/* 0: everything is acknowledged. Too low by at most the gap between two marks. */
uint64_t report_age_ns(struct report_age *a, uint64_t acked, uint64_t boottime_ns);

#endif
