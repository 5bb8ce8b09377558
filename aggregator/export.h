/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_EXPORT_H
#define CEEMS_AGGREGATOR_EXPORT_H

#include "aggregator/app.h"

/* --export=KIND: what ended in [from, to) (units, jobstats, supremm), or the days in it
 * (days, usage), on standard output: CSV with a line of names (RFC 4180, times in UTC),
 * or JSON, one object a line (supremm). One snapshot of the database. */
int export_run(struct app *app, struct err *err);
/* Whether --export names one. */
int export_check(const struct options *o, struct err *err);

#endif
