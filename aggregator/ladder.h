/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_LADDER_H
#define CEEMS_AGGREGATOR_LADDER_H

#include <stdint.h>

#include "aggregator/app.h"
#include "aggregator/partitions.h"

/* The retention ladder: intervals for a month, hours for a year, days and units for
 * ever. A thread makes partitions ahead and drops old ones. */

extern const struct part part_ladder;

/* The partitions that the options ask for. */
struct partitions_plan ladder_plan(const struct options *o);

/* What an interval report may be of, by the clock that is given: [oldest, newest).
 * There is a partition for all of it. CLOCK_REALTIME ns. */
void ladder_window(const struct options *o, uint64_t now_ns, uint64_t *ret_oldest_ns,
		   uint64_t *ret_newest_ns);

/* Words for answers while nobody can tell how old a report is, so that none may be
 * refused for its age: the database's clock and this machine's are a day apart. NULL:
 * they are not. Any thread. */
const char *ladder_no_clock(struct app *app);

#endif
