/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prepares a database that has come up: the schema first, then each part; requests
 * follow. */
#include "aggregator/database.h"

#include <errno.h>
#include <stdio.h>

#include "aggregator/schema.h"
#include "lib/log.h"

#define FIRST_WAIT_MS 3000
#define REQUEST_MS 10000
#define PROGRAM "ceems_aggregator " CEEMS_VERSION

int database_schema(const struct app *app, struct pg *pg, struct err *err)
{
	struct pg_migrate_status s;

	if (app->options.db_auto_migrate && !app->options.db_standby) {
		int n = pg_migrate(pg, schema_migrations, schema_migration_count,
				   PROGRAM, err);
		if (n > 0)
			log_info("database: %d migrations done", n);
		return n < 0 ? n : 0;
	}
	int rc = pg_migrate_check(pg, schema_migrations, schema_migration_count, &s,
				  err);
	if (rc == 0 && s.applied < s.known)
		rc = err_set(err, -EPROTO,
			     "the database's schema is older than this program (%u of "
			     "%u migrations): run ceems_aggregator --migrate",
			     s.applied, s.known);
	return rc;
}

static int on_up(struct pg *pg, void *arg, struct err *err)
{
	struct app *app = arg;
	int rc = database_schema(app, pg, err);

	for (size_t i = 0; rc == 0 && i < app_part_count; i++) {
		const struct part *p = app_part(app, i);
		if (p && p->database_up)
			rc = p->database_up(app, pg, err);
	}
	return rc;
}

static void on_change(void *arg, bool up, const char *text)
{
	(void)arg;
	if (up)
		log_info("database: connected to %s", text);
	else
		log_error("%s: requests are refused until it is back", text);
}

int database_open(struct app *app, struct err *err)
{
	const struct pg_pool_params params = {
		.pg = app->pg,
		.threads = (unsigned)app->options.db_threads,
		.deadline_ms = REQUEST_MS,
		.on_up = on_up,
		.on_change = on_change,
		.arg = app,
	};
	struct pg_pool_state s;
	int rc = pg_pool_new(&params, &app->pool, err);

	if (rc < 0 || pg_pool_wait(app->pool, FIRST_WAIT_MS))
		return rc;
	pg_pool_get_state(app->pool, &s);
	if (s.reason == -EPROTO || s.reason == -EBADMSG)
		return err_set(err, s.reason, "%s", s.why.text);
	log_warn("starting without the database, still trying to connect to it");
	return 0;
}

int database_migrate(struct app *app, struct err *err)
{
	auto_pg struct pg *pg = NULL;
	int rc = pg_new(&app->pg, &pg, err);

	if (rc < 0)
		return rc;
	rc = pg_migrate(pg, schema_migrations, schema_migration_count, PROGRAM, err);
	if (rc < 0)
		return rc;
	printf("ceems_aggregator: %d migrations done, the schema is at %zu\n", rc,
	       schema_migration_count);
	return 0;
}

const char *database_unusable(struct app *app)
{
	struct pg_pool_state s;

	if (!app->pool)
		return "the program is starting";
	pg_pool_get_state(app->pool, &s);
	if (s.up)
		return NULL;
	/* the text may name hosts and users, so it is only logged */
	switch (s.reason) {
	case -EPROTO:
		return "the database is newer than this program";
	case -EBADMSG:
		return "the database was made by another build of this program";
	case -EACCES:
		return "the database refuses this program's user";
	case -ENOSPC:
		return "the database has no space left";
	case -EROFS:
		return "the database is read-only";
	default:
		return "the database cannot be reached";
	}
}
