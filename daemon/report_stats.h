/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_REPORT_STATS_H
#define CEEMS_DAEMON_REPORT_STATS_H

#include <stdbool.h>
#include <stdint.h>

/* Metrics of the reports. Under the daemon's lock. */
struct report_stats {
	uint64_t written[3]; /* start, interval, final; by this process */
	uint64_t failures;   /* writes that failed */
	uint64_t untold;     /* units that left the table without a final report */
	bool has_spool;      /* the members below are valid; up to 10 s old */
	uint64_t lost[2];    /* interval, final: since the folder was created */
	uint64_t spool_bytes;
	uint64_t oldest_age_ns; /* of the oldest record not yet sent, 0: none */
};

#endif
