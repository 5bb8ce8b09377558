/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_PLACE_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_PLACE_H

#include "lib/records/report.h"
#include "lib/records/report_clock.h"

/*
 * Places a report in time. A node's wall clock may have been wrong when a unit began,
 * but its CLOCK_BOOTTIME knows how long ago that was. So a report from the current boot
 * of its sender is placed by its age. For one from an earlier boot there is only wall
 * time, which is accepted unless it is later than that boot can have been, or five
 * years before anything that is kept. Such a time is flagged with the latest possible
 * one (unit_node.over_by).
 *
 * All times of an instance have one base, so one shift applies to all of them. The
 * first shift that the database has for an instance is used for all its reports, by
 * every aggregator, so that (instance, t0) stays the same when a report is repeated.
 */

/* Clocks that differ by less agree: NTP adjusts them, and a push takes a while. */
#define INGEST_CLOCKS_AGREE_NS (120ull * 1000000000)
/* Smaller apparent differences are not corrected. */
#define INGEST_PLACE_NS (2ull * 1000000000)
/* How far a node that does not send its clocks may be ahead of us: one that is an hour
 * off is still accepted. */
#define INGEST_AHEAD_NS (2ull * 3600 * 1000000000)

/* A time so much older than anything kept is from a clock that was never set. */
#define INGEST_UNSET_NS (1830ull * 86400 * 1000000000)

/* The latest time in the report. */
uint64_t ingest_place_latest(const struct report *r);
/* Of a push: its sender's clock (NULL: unknown), ours when it arrived, and the time
 * from which intervals are kept. */
struct ingest_place {
	const struct report_clock *clock;
	uint64_t now_ns, oldest_ns;
};
/* Milliseconds to add to all its times. */
int64_t ingest_place_shift(const struct report *r, const struct ingest_place *at);
/* When it was over at the latest, for times known by a wall clock only, shifted by
 * shift_ms. 0: placed by its age. */
uint64_t ingest_place_over(const struct report *r, const struct ingest_place *at,
			   int64_t shift_ms);
/* Shifts all times that are set; none becomes 0 or less. */
void ingest_place_move(struct report *r, int64_t shift_ms);

#endif
