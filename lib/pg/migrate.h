/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PG_MIGRATE_H
#define CEEMS_LIB_PG_MIGRATE_H

#include <stddef.h>

#include "lib/pg/pg.h"

/* Numbered SQL files that make and change a database's schema, each applied once, in a
 * transaction, under an advisory lock (several programs may start at once), and noted
 * with its checksum in the table schema_migration. A file must not hold BEGIN or
 * COMMIT.
 */

struct pg_migration {
	unsigned number;  /* rising; one that was never used may be left out */
	const char *name; /* "0001_schema.sql" */
	const char *sql;
};

struct pg_migrate_status {
	unsigned applied; /* how many of ours the database has */
	unsigned known;   /* of ours */
};

/* Compares. 0; -EPROTO: the database is newer than the program; -EBADMSG: a file that
 * was applied has changed, or has another name. The text says what to do. */
int pg_migrate_check(struct pg *pg, const struct pg_migration *all, size_t count,
		     struct pg_migrate_status *ret, struct err *err);

/* Checks, and applies what is missing: how many that were, or negative errno. program
 * is noted with each. */
int pg_migrate(struct pg *pg, const struct pg_migration *all, size_t count,
	       const char *program, struct err *err);

#endif
