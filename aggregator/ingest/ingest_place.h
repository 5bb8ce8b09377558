/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_PLACE_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_PLACE_H

#include "lib/records/report.h"
#include "lib/records/report_clock.h"

/*
 * When that was of which a report tells. A node's wall clock may have been anything
 * when a unit began; how long ago that was its CLOCK_BOOTTIME knows. So a report of the
 * boot in which it is sent is placed by its age. Of one of an earlier boot nothing but
 * its wall time is left: it counts unless it says later than that boot can have been,
 * or five years before anything that is kept. Such a time is flagged with the latest
 * that it can have been (unit_node.over_by).
 *
 * All times of an instance have one base, so one shift moves all of them. The first one
 * that the database took of an instance is for all of its reports, by whomever they are
 * taken: (instance, t0) stays the same when something comes again.
 */

/* Clocks that differ by less agree: NTP moves them, and a push is on its way for a
 * while. */
#define INGEST_CLOCKS_AGREE_NS (120ull * 1000000000)
/* A unit that seems to be so little off is where it says. */
#define INGEST_PLACE_NS (2ull * 1000000000)
/* How far a node that does not say its clocks may be ahead of us: one that is an hour
 * off still counts. */
#define INGEST_AHEAD_NS (2ull * 3600 * 1000000000)

/* No clock that was ever set says what is so much older than anything that is kept. */
#define INGEST_UNSET_NS (1830ull * 86400 * 1000000000)

/* The latest time that the report names. */
uint64_t ingest_place_latest(const struct report *r);
/* Of a push: its sender's clock (NULL: not said), ours when it came, and from when on
 * intervals are kept. */
struct ingest_place {
	const struct report_clock *clock;
	uint64_t now_ns, oldest_ns;
};
/* Milliseconds to add to all its times. */
int64_t ingest_place_shift(const struct report *r, const struct ingest_place *at);
/* When it was over at the latest, of times that nothing but a wall clock knows, moved
 * by shift_ms. 0: its age says when it was. */
uint64_t ingest_place_over(const struct report *r, const struct ingest_place *at,
			   int64_t shift_ms);
/* Adds to all times that are there; none becomes 0 or less. */
void ingest_place_move(struct report *r, int64_t shift_ms);

#endif
