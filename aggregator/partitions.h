/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_PARTITIONS_H
#define CEEMS_AGGREGATOR_PARTITIONS_H

#include <stdint.h>

#include "lib/pg/pg.h"

/* The partitions of the two tables that are kept for a time only: unit_interval by day
 * (unit_interval_20261121), unit_hour by month (unit_hour_202611), both of UTC. What is
 * due is decided by the database's clock, which is one for all aggregators. */

struct partitions_plan {
	uint32_t interval_days; /* --retention.intervals */
	uint32_t hour_months;   /* --retention.hours */
	uint32_t ahead_days;    /* made ahead; one month more for unit_hour */
};

/* In transactions of a bounded size, under a lock that all aggregators share: makes
 * what is missing between the oldest that is kept and what is made ahead, the latest
 * first. How many, or negative errno. */
int partitions_make(struct pg *pg, const struct partitions_plan *plan, struct err *err);
/* Those of a month at most, which nearly all reports need: what a start waits for. */
int partitions_make_first(struct pg *pg, const struct partitions_plan *plan,
			  struct err *err);

/* How far the database's clock is ahead of this machine's, in seconds. */
int partitions_clock(struct pg *pg, int64_t *ret_apart_s, struct err *err);
/* Beyond this one of them is wrong, and nothing is old by either. */
#define PARTITIONS_APART_S 86400

/* Drops what is older, one partition after the other, each with a short wait for its
 * lock (-EAGAIN: queries were in the way, later again). Not those that the roll-up has
 * still to read, for a week at most. -ERANGE: this machine's clock and the database's
 * are apart. A host whose only clock is wrong must not lose everything either: age is
 * counted to the day of the newest report, where that is earlier than today. How many.
 */
int partitions_drop(struct pg *pg, const struct partitions_plan *plan, struct err *err);

/* Vacuums and freezes a partition that is past and has not been: 1, or 0 when there is
 * none. Not in a transaction. */
int partitions_vacuum(struct pg *pg, struct err *err);

/* How many there are, and how many of those that partitions_make() would see to are
 * missing. */
struct partitions_state {
	uint32_t intervals, hours, missing;
};
int partitions_look(struct pg *pg, const struct partitions_plan *plan,
		    struct partitions_state *ret, struct err *err);

#endif
