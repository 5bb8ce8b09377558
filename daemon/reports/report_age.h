/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_REPORTS_REPORT_AGE_H
#define CEEMS_DAEMON_REPORTS_REPORT_AGE_H

#include <stdbool.h>
#include <stdint.h>

/* How long the oldest record of the spool has been waiting to be sent: when which
 * number was written, a few times kept. */

#define REPORT_AGE_MARKS 64u

struct report_age {
	uint32_t count;
	uint64_t acked;
	bool has_before;   /* until the first note: files that were there, */
	int64_t before_ns; /* the oldest written then */
	struct report_age_mark {
		uint64_t seq; /* up to this one: written at ns or before */
		int64_t ns;   /* CLOCK_BOOTTIME; below 0: before this boot */
	} marks[REPORT_AGE_MARKS];
};

/* What was in the folder beyond acked is as old as its oldest file says, by the wall
 * clock of now; whatever that clock does later changes nothing. That there is something
 * is known with the first record that follows it. */
void report_age_begin(struct report_age *a, const char *folder, uint64_t acked,
		      uint64_t realtime_ns, uint64_t boottime_ns);
/* Records first to last are in the spool. Calls come in order. */
void report_age_note(struct report_age *a, uint64_t first, uint64_t last,
		     uint64_t boottime_ns);
/* 0: all up to acked is all. Too young by at most the gap between two marks. */
uint64_t report_age_ns(struct report_age *a, uint64_t acked, uint64_t boottime_ns);

#endif
