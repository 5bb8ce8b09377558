/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_RECORDS_H
#define CEEMS_AGGREGATOR_RECORDS_H

#include "aggregator/app.h"

/* Processing of stored reports: the linker makes units of them
 * (aggregator/sql/0003_linker.sql), the roll-up their sums (0004_rollup.sql). */
extern const struct part part_records;

/* --recompute: marks [from, to) for the roll-up of whichever aggregator runs, and
 * prints how much that is. Times as in options_time(). */
int records_recompute(struct app *app, struct err *err);
/* --from and --to, in seconds. */
int records_period(const struct options *o, uint64_t *ret_from_s, uint64_t *ret_to_s,
		   struct err *err);

#endif
