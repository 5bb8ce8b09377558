/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the database that an operator wants to see before users notice. */
#include "aggregator/check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "aggregator/retention.h"
#include "aggregator/schema.h"
#include "lib/clock.h"
#include "lib/finding.h"

#define VERSION_MIN 130000    /* required by the SQL */
#define VERSION_TESTED 150000 /* used by the tests */
#define CLOCK_WARN_S 1.0
#define CLOCK_FAIL_S 60.0
#define BACKLOG_WARN_S 3600

struct check {
	struct findings f;
	const struct app *app;
	struct pg *pg;
};

/* One row, or a finding that says why there is none. */
static PGresult *ask_database(struct check *c, const char *what, const char *sql)
{
	PGresult *r = NULL;
	struct err err = {""};

	if (pg_exec(c->pg, sql, &r, &err) < 0 || PQntuples(r) != 1) {
		finding(&c->f, LEVEL_FAIL, "see the server's log", "%s: %s", what,
			err.text);
		PQclear(r);
		return NULL;
	}
	return r;
}

static void check_version(struct check *c)
{
	int v = pg_version(c->pg);

	if (v < VERSION_MIN)
		finding(&c->f, LEVEL_FAIL, "use Postgres 13 or newer",
			"Postgres %d is too old", v / 10000);
	else if (v < VERSION_TESTED)
		finding(&c->f, LEVEL_WARN, "use Postgres 15 or newer",
			"Postgres %d is older than what is tested", v / 10000);
	else
		finding(&c->f, LEVEL_OK, NULL, "Postgres %d.%d at %s", v / 10000,
			v % 10000, pg_where(c->pg));
}

static bool check_schema(struct check *c)
{
	struct pg_migrate_status s;
	struct err err = {""};
	int rc = pg_migrate_check(c->pg, schema_migrations, schema_migration_count, &s,
				  &err);

	if (rc < 0)
		finding(&c->f, LEVEL_FAIL, "see doc/aggregator.md, failures", "%s",
			err.text);
	else if (s.applied < s.known && c->app->options.db_auto_migrate)
		finding(&c->f, LEVEL_WARN, "the next start applies them, or --migrate",
			"schema: %u of %u migrations done", s.applied, s.known);
	else if (s.applied < s.known)
		finding(&c->f, LEVEL_FAIL, "run ceems_aggregator --migrate",
			"schema: %u of %u migrations done", s.applied, s.known);
	else
		finding(&c->f, LEVEL_OK, NULL, "schema: all %u migrations done",
			s.applied);
	return rc == 0 && s.applied == s.known;
}

static void check_database_clock(struct check *c)
{
	double there;
	uint64_t before_ns = clock_realtime_ns();
	auto_pgresult PGresult *r = ask_database(
		c, "clock", "SELECT extract(epoch FROM clock_timestamp())::float8");
	uint64_t after_ns = clock_realtime_ns();

	if (!r || pg_get_f64(r, 0, 0, &there) < 0)
		return;
	double here = ((double)before_ns + (double)(after_ns - before_ns) / 2) / 1e9;
	double apart = fabs(there - here),
	       unsure = (double)(after_ns - before_ns) / 1e9;
	enum level level = apart > CLOCK_FAIL_S            ? LEVEL_FAIL
			   : apart > CLOCK_WARN_S + unsure ? LEVEL_WARN
							   : LEVEL_OK;
	finding(&c->f, level, level == LEVEL_OK ? NULL : "run a time service on both",
		"the clocks of this machine and of the database are %.3f s apart",
		apart);
}

static void check_setting(struct check *c, const PGresult *r, int column,
			  const char *good, enum level level, const char *todo)
{
	const char *name = PQfname(r, column), *is = PQgetvalue(r, 0, column);

	if (strcmp(is, good) == 0)
		finding(&c->f, LEVEL_OK, NULL, "%s is %s", name, is);
	else
		finding(&c->f, level, todo, "%s is %s", name, is);
}

static void check_settings(struct check *c)
{
	auto_pgresult PGresult *r = ask_database(
		c, "settings",
		"SELECT current_setting('server_encoding') AS server_encoding, "
		"current_setting('fsync') AS fsync, "
		"current_setting('full_page_writes') AS full_page_writes, "
		"current_setting('autovacuum') AS autovacuum, "
		"current_setting('max_connections')::int "
		"- current_setting('superuser_reserved_connections')::int, "
		"(SELECT count(*) FROM pg_stat_activity "
		"WHERE backend_type = 'client backend'), "
		"coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), "
		"false), inet_server_addr() IS NULL OR inet_server_addr() << "
		"'127.0.0.0/8' OR inet_server_addr() = '::1', "
		"pg_size_pretty(pg_database_size(current_database()))");
	uint64_t slots = 0, used = 0, want = c->app->options.db_threads + 6;
	bool tls = false, local = false;

	if (!r || pg_get_u64(r, 0, 4, &slots) < 0 || pg_get_u64(r, 0, 5, &used) < 0 ||
	    pg_get_bool(r, 0, 6, &tls) < 0 || pg_get_bool(r, 0, 7, &local) < 0)
		return;
	check_setting(c, r, 0, "UTF8", LEVEL_FAIL,
		      "create the database with encoding UTF8");
	check_setting(c, r, 1, "on", LEVEL_WARN, "a crash of the host can lose it all");
	check_setting(c, r, 2, "on", LEVEL_WARN, "a crash of the host can damage it");
	check_setting(c, r, 3, "on", LEVEL_WARN, "tables will grow without end");
	bool few = used + want > slots;
	finding(&c->f, few ? LEVEL_WARN : LEVEL_OK,
		few ? "raise max_connections, or lower --db.threads" : NULL,
		"%" PRIu64 " connections are in use of %" PRIu64
		", an aggregator takes up to %" PRIu64,
		used, slots, want);
	finding(&c->f, tls || local ? LEVEL_OK : LEVEL_WARN,
		tls || local ? NULL : "add sslmode=verify-full to --db.url",
		"the connection is %s",
		tls     ? "encrypted"
		: local ? "local"
			: "not encrypted");
	finding(&c->f, LEVEL_OK, NULL, "the database has %s", PQgetvalue(r, 0, 8));
}

static void check_rights(struct check *c)
{
	auto_pgresult PGresult *r = ask_database(
		c, "rights",
		"SELECT has_schema_privilege(current_schema(), 'CREATE'), "
		"(SELECT count(*) FROM pg_class k WHERE k.relnamespace = "
		"current_schema()::regnamespace AND k.relkind IN ('r', 'p') "
		"AND NOT pg_has_role(k.relowner, 'USAGE')), current_user");
	bool create = false;
	uint64_t foreign = 0;

	if (!r || pg_get_bool(r, 0, 0, &create) < 0 ||
	    pg_get_u64(r, 0, 1, &foreign) < 0)
		return;
	const char *user = PQgetvalue(r, 0, 2);
	if (!create)
		finding(&c->f, LEVEL_FAIL, "GRANT CREATE ON SCHEMA public TO that role",
			"role %s may not create tables, and so no partitions", user);
	else if (foreign)
		finding(&c->f, LEVEL_FAIL, "ALTER TABLE ... OWNER TO that role",
			"%" PRIu64 " tables do not belong to role %s", foreign, user);
	else
		finding(&c->f, LEVEL_OK, NULL, "role %s owns its tables", user);
}

static void check_partitions(struct check *c)
{
	struct partitions_plan plan = retention_plan(&c->app->options);
	struct partitions_state s;
	struct err err = {""};

	if (partitions_look(c->pg, &plan, &s, &err) < 0) {
		finding(&c->f, LEVEL_FAIL, "see the server's log", "partitions: %s",
			err.text);
		return;
	}
	finding(&c->f, s.missing ? LEVEL_WARN : LEVEL_OK,
		s.missing ? "a running aggregator creates them" : NULL,
		"partitions: %u of intervals, %u of hours, %u missing", s.intervals,
		s.hours, s.missing);
	auto_pgresult PGresult *r = ask_database(
		c, "retention",
		"SELECT coalesce(extract(day FROM now() - min(to_date(right("
		"c.relname, 8), 'YYYYMMDD')))::bigint, 0) FROM pg_inherits i "
		"JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = "
		"'unit_interval'::regclass AND c.relname ~ "
		"'^unit_interval_[0-9]{8}$'");
	uint64_t days = 0;
	if (!r || pg_get_u64(r, 0, 0, &days) < 0)
		return;
	bool late = days > plan.interval_days + 2ull;
	finding(&c->f, late ? LEVEL_WARN : LEVEL_OK,
		late ? "look for errors of retention in the log" : NULL,
		"intervals are kept for %u days, the oldest partition is %" PRIu64
		" days old",
		plan.interval_days, days);
}

static void check_backlog(struct check *c)
{
	auto_pgresult PGresult *r = ask_database(
		c, "roll-up",
		"SELECT count(*), coalesce(extract(epoch FROM now() - min(due))"
		"::bigint, 0) FROM dirty WHERE due <= now()");
	uint64_t rows = 0;
	int64_t age_s = 0;

	if (!r || pg_get_u64(r, 0, 0, &rows) < 0 || pg_get_s64(r, 0, 1, &age_s) < 0)
		return;
	bool late = age_s > BACKLOG_WARN_S;
	finding(&c->f, late ? LEVEL_WARN : LEVEL_OK,
		late ? "is an aggregator running?" : NULL,
		"%" PRIu64 " sums wait for the roll-up, the oldest for %" PRId64 " s",
		rows, age_s);
}

int check_none(const char *data_path)
{
	struct findings f = {.out = stdout};

	finding(&f, LEVEL_FAIL,
		"start the aggregator, which creates it, or set --db.url",
		"there is no private database in %s yet", data_path);
	return findings_end(&f);
}

int check_database(struct app *app, struct err *err)
{
	struct check c = {.f = {.out = stdout}, .app = app};
	auto_pg struct pg *pg = NULL;
	struct err why = {""};
	int rc = pg_new(&app->pg, &pg, err);

	if (rc < 0)
		return rc;
	c.pg = pg;
	if (pg_connect(pg, &why) < 0) {
		finding(&c.f, LEVEL_FAIL, "start it, or set --db.url right", "%s",
			why.text);
		return findings_end(&c.f);
	}
	check_version(&c);
	check_settings(&c);
	check_database_clock(&c);
	check_rights(&c);
	if (check_schema(&c)) {
		check_partitions(&c);
		check_backlog(&c);
	}
	return findings_end(&c.f);
}
