/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_PARTITIONS_H
#define CEEMS_AGGREGATOR_PARTITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/pg/pg.h"

/* The partitions of the two tables with limited retention: unit_interval by day
 * (unit_interval_20261121), unit_hour by month (unit_hour_202611), both in UTC.
 * Decisions use the database's clock, which is the same for all aggregators. */

struct partitions_plan {
	uint32_t interval_days; /* --retention.intervals */
	uint32_t hour_months;   /* --retention.hours */
	uint32_t ahead_days;    /* created ahead; for unit_hour one month more */
	/* --retention.archive-schema: where those that are too old go; NULL or "": they
	 * are dropped */
	const char *archive;
};

/* Creates missing partitions from the oldest that is kept to the latest created ahead,
 * latest first, in transactions of bounded size under a lock shared by all aggregators.
 * Returns how many, or negative errno. */
int partitions_make(struct pg *pg, const struct partitions_plan *plan, struct err *err);
/* Those of the last month at most, which nearly all reports need: a start waits for
 * these. */
int partitions_make_first(struct pg *pg, const struct partitions_plan *plan,
			  struct err *err);

/* The database's clock minus this machine's, in seconds. */
int partitions_clock(struct pg *pg, int64_t *ret_apart_s, struct err *err);
/* Beyond this one of the clocks is wrong, and neither may decide what is old. */
#define PARTITIONS_APART_S 86400

/* Whether it may be the name of a schema of --retention.archive-schema. */
bool partitions_archive_ok(const char *name);

/* Drops older partitions one by one, or moves them to the archive, with a short wait
 * for each lock (-EAGAIN: queries were in the way, try again later). Those that the
 * roll-up still has to read are kept, for a week at most. -ERANGE: this machine's clock
 * and the database's are apart. Lest a single wrong clock lose everything, age counts
 * back from the day of the newest report if that is before today. Returns how many. */
int partitions_drop(struct pg *pg, const struct partitions_plan *plan, struct err *err);

/* Vacuums and freezes one past partition that needs it: 1; 0: there is none. Not in a
 * transaction. */
int partitions_vacuum(struct pg *pg, struct err *err);

/* How many there are, and how many of those that partitions_make() creates are
 * missing. */
struct partitions_state {
	uint32_t intervals, hours, missing;
};
int partitions_look(struct pg *pg, const struct partitions_plan *plan,
		    struct partitions_state *ret, struct err *err);

#endif
