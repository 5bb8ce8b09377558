/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_RECORDS_H
#define CEEMS_AGGREGATOR_RECORDS_H

#include "aggregator/app.h"

/* What becomes of reports once they are written: the linker makes units of them
 * (aggregator/sql/0003_linker.sql), the roll-up their sums (0004_rollup.sql). */
extern const struct part part_records;

/* --recompute: marks what happened in [from, to) for the roll-up of whichever
 * aggregator runs, and says how much that is on stdout. Times as options_time() reads
 * them. */
int records_recompute(struct app *app, struct err *err);

#endif
