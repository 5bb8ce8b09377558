/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_CHECK_H
#define CEEMS_AGGREGATOR_CHECK_H

#include "aggregator/app.h"

/* --check: checks the database without changing it, prints one finding per line and
 * returns the exit status: 0 good, 1 warnings, 2 failures. */
int check_database(struct app *app, struct err *err);
/* The same for a private database that has not been created yet. */
int check_none(const char *data_path);

#endif
