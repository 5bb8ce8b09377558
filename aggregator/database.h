/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_DATABASE_H
#define CEEMS_AGGREGATOR_DATABASE_H

#include "aggregator/app.h"

/* The program's database: the pool of connections for requests, and the schema. */

/* Starts the pool, with privileges dropped, and waits briefly for the first connection.
 * A database that is down is not an error; one that we must not use (newer, or another
 * build's) is. */
int database_open(struct app *app, struct err *err);

/* --migrate: reports on stdout what was done. */
int database_migrate(struct app *app, struct err *err);

/* Checks that the schema is this program's; with --db.auto-migrate migrates first. */
int database_schema(const struct app *app, struct pg *pg, struct err *err);

/* Why the database is of no use now, in a few words without addresses, for answers;
 * NULL: it is up. Any thread. */
const char *database_unusable(struct app *app);

#endif
