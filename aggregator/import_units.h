/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_IMPORT_UNITS_H
#define CEEMS_AGGREGATOR_IMPORT_UNITS_H

#include "aggregator/app.h"
#include "lib/pg/pg.h"

/* --import=units=FILE ("-": standard input): Slurm jobs with their usage as CEEMS has
 * them in its table of units, one JSON object a line, ordered by cluster_id, uuid and
 * created_at_ts; `ceems_tool migrate database` writes them. Doing it twice changes
 * nothing. Prints what was taken. A line that is no unit is counted and left out. */
int import_units(struct app *app, const char *file, struct pg *pg, struct err *err);

#endif
