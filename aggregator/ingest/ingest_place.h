/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_PLACE_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_PLACE_H

#include "aggregator/ingest/ingest_known.h"
#include "lib/records/report.h"
#include "lib/records/report_clock.h"

/*
 * Places a report in time. A node's wall clock may have been wrong when a unit began,
 * but its CLOCK_BOOTTIME knows how long ago that was. So a report from the current boot
 * of its sender is placed by its age. For one from an earlier boot there is only wall
 * time, which is accepted unless it is later than that boot can have been, or earlier
 * than anything that is kept. Then the report is placed as near to its wall time as is
 * kept, or, five years before (a clock that was never set), at the end of that boot.
 * Such a time is flagged with the latest possible one (unit_node.over_by).
 *
 * All times of an instance have one base, so one shift applies to all of them. The
 * shift that the database has for an instance is used for all its reports, by every
 * aggregator, so that (instance, t0) stays the same when a report is repeated.
 *
 * That shift may turn out to be wrong: reports of an earlier boot come in several
 * pushes, and a later one lies after the end of that boot, or in the future; an
 * aggregator's clock was wrong when it placed the first one; or a push has the age of
 * an instance that only a wall clock had dated. Then nothing is refused: the whole
 * instance moves, its rows in the database and the reports that come, and stays in one
 * piece. It moves by whole hours: intervals are cut at full hours, so a repeated report
 * is cut where it was and is recognised. By its age an instance moves when it is more
 * than INGEST_ANEW_NS off (and is not flagged any more); by a wall clock it only moves
 * back, as far as it must. ingest_move() of aggregator/sql/0020_anew.sql does it. A
 * push that needs it waits until other clocks confirm ours (ingest_placed.judged).
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
/* Reports that seem older than anything kept are placed so much after the oldest that
 * is kept, so that they are summed before they are dropped. */
#define INGEST_EDGE_NS (86400ull * 1000000000)
/* More than half an hour, the most that is left after a move by whole hours. */
#define INGEST_ANEW_NS (45ull * 60 * 1000000000)

/* The latest time in the report. */
uint64_t ingest_place_latest(const struct report *r);
/* Of a push: its sender's clock (NULL: unknown), ours when it arrived, and the time
 * from which intervals are kept. */
struct ingest_place {
	const struct report_clock *clock;
	uint64_t now_ns, oldest_ns;
	bool sure; /* other clocks confirm ours */
};
/* Milliseconds to add to all times of an instance that is not known yet. */
int64_t ingest_place_shift(const struct report *r, const struct ingest_place *at);

struct ingest_placed {
	int64_t shift_ms; /* to add to all its times */
	bool move;        /* the database has it elsewhere, or flagged without need */
	bool judged;      /* contradicts the report by our clock, which must be right */
	bool aged;        /* its age is known */
};
/* known: the place that the database has for the instance; NULL: not known. */
struct ingest_placed ingest_place_find(const struct report *r,
				       const struct ingest_place *at,
				       const struct known_place *known);
/* When it was over at the latest, for times known by a wall clock only, shifted by
 * shift_ms, or moved again. 0: placed by its age. */
uint64_t ingest_place_over(const struct report *r, const struct ingest_place *at,
			   int64_t shift_ms, bool again);
/* Shifts all times that are set; none becomes 0 or less. */
void ingest_place_move(struct report *r, int64_t shift_ms);

#endif
