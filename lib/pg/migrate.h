/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PG_MIGRATE_H
#define CEEMS_LIB_PG_MIGRATE_H

#include <stddef.h>

#include "lib/pg/pg.h"

/* Numbered SQL files that create and change a database's schema. Each is applied once,
 * in a transaction, under an advisory lock (several programs may start at once), and
 * recorded with its checksum in the table schema_migration. A file must not hold BEGIN
 * or COMMIT. */

struct pg_migration {
	unsigned number;  /* ascending, with gaps allowed */
	const char *name; /* "0001_schema.sql" */
	const char *sql;
};

struct pg_migrate_status {
	unsigned applied; /* how many of ours have been applied */
	unsigned known;   /* of ours */
};

/* Compares. 0; -EPROTO: the database is newer than the program; -EBADMSG: an applied
 * file has changed, or has another name. err says what to do. */
int pg_migrate_check(struct pg *pg, const struct pg_migration *all, size_t count,
		     struct pg_migrate_status *ret, struct err *err);

/* Checks, then applies what is missing: the number applied, or negative errno. program
 * is recorded with each. */
int pg_migrate(struct pg *pg, const struct pg_migration *all, size_t count,
	       const char *program, struct err *err);

#endif
