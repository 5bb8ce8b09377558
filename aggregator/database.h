/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_DATABASE_H
#define CEEMS_AGGREGATOR_DATABASE_H

#include "aggregator/app.h"

/* The program's database: the pool of connections for requests, and the schema. */

/* Starts the pool, privileges dropped, and waits a little for the first connection: a
 * database that is away is no error, one that is not ours to use (newer, another
 * build's) is. */
int database_open(struct app *app, struct err *err);

/* --migrate: what was done goes to stdout. */
int database_migrate(struct app *app, struct err *err);

/* Checks that the schema is this program's; with --db.auto-migrate brings it there
 * first. */
int database_schema(const struct app *app, struct pg *pg, struct err *err);

#endif
