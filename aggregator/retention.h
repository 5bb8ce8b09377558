/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_RETENTION_H
#define CEEMS_AGGREGATOR_RETENTION_H

#include <stdint.h>

#include "aggregator/app.h"
#include "aggregator/partitions.h"

/* The retention ladder: intervals for a month, hours for a year, days and units for
 * ever. A thread creates partitions ahead and drops old ones. */

extern const struct part part_retention;

/* The partitions that the options require. */
struct partitions_plan retention_plan(const struct options *o);

/* The times that an interval report may have at now_ns, [oldest, newest). Partitions
 * exist for all of it. CLOCK_REALTIME ns. */
void retention_window(const struct options *o, uint64_t now_ns, uint64_t *ret_oldest_ns,
		      uint64_t *ret_newest_ns);

/* A text for answers while the age of reports cannot be judged, so that none may be
 * refused for its age: the clocks of the database and of this machine are a day apart.
 * NULL: they are not. Any thread. */
const char *retention_no_clock(struct app *app);

#endif
