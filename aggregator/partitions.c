/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A partition is created as a separate table and then attached: unlike CREATE ...
 * PARTITION OF, this does not block queries and COPY on the parent. */
#include "aggregator/partitions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"

/* any fixed number: "ceemspar" */
#define LOCK "SELECT pg_advisory_xact_lock(7378697333187011954)"
#define NAME_MAX_BYTES 64
#define FIRST_DAYS 31u
#define FIRST_MONTHS 13u
#define ROWS_MAX 10000
#define LOCK_TIMEOUT "2s"

/* A long retention has many, which take seconds: limit per transaction */
#define MADE_MAX 128

/* Names and bounds of missing partitions. $1 interval days, $2 months, $3 days ahead.
 * One day and one month more than is kept, for reports that arrive while the window
 * moves. It uses a scan because to_regclass() may see the state from before another
 * aggregator had the lock. Months first, then the latest day, so that there are no
 * gaps, and each day has its month. */
static const struct pg_statement missing = {
	"partitions_missing",
	"WITH wanted (parent, name, lo, hi) AS ("
	"SELECT 'unit_interval', 'unit_interval_' || to_char(d, 'YYYYMMDD'), "
	"d, d + interval '1 day' FROM generate_series("
	"date_trunc('day', now()) - make_interval(days => $1::int + 1), "
	"date_trunc('day', now()) + make_interval(days => $3::int), '1 day') d "
	"UNION ALL "
	"SELECT 'unit_hour', 'unit_hour_' || to_char(m, 'YYYYMM'), "
	"m, m + interval '1 month' FROM generate_series("
	"date_trunc('month', now()) - make_interval(months => $2::int), "
	"date_trunc('month', now() + make_interval(days => $3::int + 31)), "
	"'1 month') m) "
	"SELECT parent, name, lo, hi FROM wanted "
	"WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.relname = name AND "
	"c.relnamespace = (SELECT relnamespace FROM pg_class "
	"WHERE oid = 'unit_interval'::regclass)) ORDER BY "
	"parent, lo DESC"};

/* Partitions that are too old. A day has reports if its file is not empty. */
static const struct pg_statement old = {
	"partitions_old",
	"WITH days (name, day, filled) AS ("
	"SELECT c.relname, to_date(right(c.relname, 8), 'YYYYMMDD'), "
	"pg_relation_size(c.oid) > 0 "
	"FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
	"WHERE i.inhparent = 'unit_interval'::regclass "
	"AND c.relname ~ '^unit_interval_[0-9]{8}$'), "
	"today (day) AS (SELECT least(date_trunc('day', now()), "
	"(SELECT max(day) FROM days WHERE filled))), "
	"there (name, day, cut, last) AS ("
	"SELECT d.name, d.day, (t.day - make_interval(days => $1::int + 1))::date, 1 "
	"FROM days d, today t "
	"UNION ALL "
	"SELECT c.relname, to_date(right(c.relname, 6), 'YYYYMM'), "
	"(date_trunc('month', t.day) - make_interval(months => $2::int))::date, 2 "
	"FROM today t, pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
	"WHERE i.inhparent = 'unit_hour'::regclass "
	"AND c.relname ~ '^unit_hour_[0-9]{6}$') "
	"SELECT name FROM there t WHERE day < cut AND (last = 2 OR day < cut - 7 OR "
	"NOT EXISTS (SELECT FROM dirty d WHERE d.hour >= t.day AND d.hour < t.day + "
	"1)) "
	"ORDER BY day"};

static const struct pg_statement count = {
	"partitions_count",
	"SELECT count(*) FILTER (WHERE inhparent = 'unit_interval'::regclass), "
	"count(*) FILTER (WHERE inhparent = 'unit_hour'::regclass) FROM pg_inherits"};

/* Rows may arrive up to a day late, but rarely a day after its end. */
static const struct pg_statement unfrozen = {
	"partitions_unfrozen",
	"SELECT s.relname FROM pg_inherits i JOIN pg_stat_user_tables s "
	"ON s.relid = i.inhrelid WHERE i.inhparent = 'unit_interval'::regclass "
	"AND s.relname ~ '^unit_interval_[0-9]{8}$' AND s.last_vacuum IS NULL "
	"AND s.n_live_tup > 0 "
	"AND to_date(right(s.relname, 8), 'YYYYMMDD') < current_date - 1 "
	"ORDER BY s.relname LIMIT 1"};

static void put_plan(const struct partitions_plan *plan, struct pg_args *a)
{
	pg_arg_u64(a, plan->interval_days);
	pg_arg_u64(a, plan->hour_months);
	pg_arg_u64(a, plan->ahead_days);
}

/* Names are ours, from the patterns above; checked nevertheless before they become part
 * of a command. */
static bool is_partition_name(const char *s)
{
	return s && strlen(s) < NAME_MAX_BYTES &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyz_0123456789")] == '\0';
}

static int make_one(struct pg *pg, const PGresult *r, int row, struct err *err)
{
	const char *parent = pg_get_text(r, row, 0), *name = pg_get_text(r, row, 1);
	const char *lo = pg_get_text(r, row, 2), *hi = pg_get_text(r, row, 3);
	char sql[512];

	if (!is_partition_name(parent) || !is_partition_name(name) || !lo || !hi ||
	    strchr(lo, '\'') || strchr(hi, '\''))
		return err_set(err, -EBADMSG, "partitions: invalid name");
	snprintf(sql, sizeof(sql),
		 "CREATE TABLE %s (LIKE %s INCLUDING ALL); "
		 "ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')",
		 name, parent, parent, name, lo, hi);
	int rc = pg_exec(pg, sql, NULL, err);
	return rc < 0 ? err_prefix(err, rc, "partition %s", name) : 0;
}

struct making {
	const struct partitions_plan *plan;
	int made, left;
};

static int make_body(struct pg *pg, void *arg, struct err *err)
{
	struct making *m = arg;
	struct pg_args args = PG_ARGS_INIT;
	auto_pgresult PGresult *r = NULL;

	m->made = 0;
	put_plan(m->plan, &args);
	int rc = pg_exec(pg, LOCK, NULL, err);
	if (rc == 0)
		rc = pg_run(pg, &missing, &args, &r, err);
	for (int i = 0; rc == 0 && i < PQntuples(r) && i < MADE_MAX; i++, m->made++)
		rc = make_one(pg, r, i, err);
	m->left = rc == 0 ? PQntuples(r) - m->made : 0;
	return rc;
}

int partitions_make(struct pg *pg, const struct partitions_plan *plan, struct err *err)
{
	struct making m = {.plan = plan, .left = 1};
	int rc = 0, made = 0;

	for (int i = 0; rc == 0 && m.left > 0 && i < ROWS_MAX; i++) {
		rc = pg_transaction(pg, PG_READ_COMMITTED, 0, make_body, &m, err);
		made += rc == 0 ? m.made : 0;
	}
	return rc < 0 ? rc : made;
}

int partitions_make_first(struct pg *pg, const struct partitions_plan *plan,
			  struct err *err)
{
	struct partitions_plan first = *plan;

	if (first.interval_days > FIRST_DAYS)
		first.interval_days = FIRST_DAYS;
	if (first.hour_months > FIRST_MONTHS)
		first.hour_months = FIRST_MONTHS;
	return partitions_make(pg, &first, err);
}

bool partitions_archive_ok(const char *name)
{
	return is_partition_name(name) && *name >= 'a' && *name <= 'z' &&
	       strncmp(name, "pg_", 3) != 0 && strcmp(name, "public") != 0;
}

/* A partition may be made again, and be too old again: then it and its indexes get a
 * number. A role that may not create schemas can be given one. Its name may be a word
 * of SQL's. */
#define ARCHIVE                                                                        \
	"DO $$ DECLARE part regclass := to_regclass('%s'); i record; BEGIN "           \
	"IF NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = part) THEN RETURN; "  \
	"END IF; "                                                                     \
	"IF to_regnamespace('\"%s\"') IS NULL THEN CREATE SCHEMA \"%s\"; END IF; "     \
	"EXECUTE format('ALTER TABLE %%s DETACH PARTITION %%s', (SELECT "              \
	"inhparent::regclass FROM pg_inherits WHERE inhrelid = part), part); "         \
	"IF to_regclass('\"%s\".%s') IS NOT NULL THEN "                                \
	"FOR i IN SELECT oid, relname, relkind FROM pg_class WHERE oid = part OR oid " \
	"IN (SELECT indexrelid FROM pg_index WHERE indrelid = part) LOOP "             \
	"EXECUTE format('ALTER %%s %%s RENAME TO %%I', CASE i.relkind WHEN 'r' THEN "  \
	"'TABLE' ELSE 'INDEX' END, i.oid::regclass, left(i.relname, 50) || '_' || "    \
	"part::oid); END LOOP; END IF; "                                               \
	"EXECUTE format('ALTER TABLE %%s SET SCHEMA \"%s\"', part); END $$"

/* A partition that goes, and where to */
struct leaving {
	const char *name, *archive;
};

/* One aggregator at a time: if two drop the same partition at once, one may find it
 * without its parent, which Postgres reports as corruption (XX000). */
static int drop_one(struct pg *pg, void *arg, struct err *err)
{
	const struct leaving *l = arg;
	const char *a = l->archive;
	char sql[1536] = "SET LOCAL lock_timeout = '" LOCK_TIMEOUT "'; " LOCK "; ";
	size_t n = strlen(sql);

	int put = a && *a ? snprintf(sql + n, sizeof(sql) - n, ARCHIVE, l->name, a, a,
				     a, l->name, a)
			  : snprintf(sql + n, sizeof(sql) - n,
				     "DROP TABLE IF EXISTS %s", l->name);
	if (put < 0 || (size_t)put >= sizeof(sql) - n)
		return err_set(err, -E2BIG, "partition %s: its name is too long",
			       l->name);
	return pg_exec(pg, sql, NULL, err);
}

int partitions_clock(struct pg *pg, int64_t *ret_apart_s, struct err *err)
{
	static const struct pg_statement now = {
		"partitions_now", "SELECT extract(epoch FROM now())::bigint"};
	int64_t there;
	int rc = pg_run_s64(pg, &now, NULL, &there, err);

	if (rc == 0)
		*ret_apart_s = there - (int64_t)(clock_realtime_ns() / NSEC_PER_SEC);
	return rc;
}

static int compare_clocks(struct pg *pg, struct err *err)
{
	int64_t apart = 0; /* gcc 14 does not see that it is set if rc is 0 */
	int rc = partitions_clock(pg, &apart, err);

	if (rc < 0)
		return rc;
	if (apart > PARTITIONS_APART_S || apart < -PARTITIONS_APART_S)
		return err_set(err, -ERANGE,
			       "the clocks of the database and of this machine are "
			       "%lld s apart: nothing is dropped until they agree",
			       (long long)apart);
	return 0;
}

int partitions_drop(struct pg *pg, const struct partitions_plan *plan, struct err *err)
{
	struct pg_args args = PG_ARGS_INIT;
	auto_pgresult PGresult *r = NULL;
	int dropped = 0, rc = compare_clocks(pg, err);

	pg_arg_u64(&args, plan->interval_days);
	pg_arg_u64(&args, plan->hour_months);
	if (rc == 0)
		rc = pg_run(pg, &old, &args, &r, err);
	for (int i = 0; rc == 0 && i < PQntuples(r) && i < ROWS_MAX; i++) {
		struct leaving l = {PQgetvalue(r, i, 0), plan->archive};
		if (!is_partition_name(l.name))
			continue;
		rc = pg_transaction(pg, PG_READ_COMMITTED, 1, drop_one, &l, err);
		dropped += rc == 0;
	}
	return rc < 0 ? rc : dropped;
}

int partitions_vacuum(struct pg *pg, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	char sql[128];
	int rc = pg_run(pg, &unfrozen, NULL, &r, err);

	if (rc < 0 || PQntuples(r) == 0)
		return rc;
	const char *name = PQgetvalue(r, 0, 0);
	if (!is_partition_name(name))
		return 0;
	snprintf(sql, sizeof(sql), "VACUUM (FREEZE, ANALYZE) %s", name);
	rc = pg_exec(pg, sql, NULL, err);
	return rc < 0 ? rc : 1;
}

int partitions_look(struct pg *pg, const struct partitions_plan *plan,
		    struct partitions_state *ret, struct err *err)
{
	struct pg_args args = PG_ARGS_INIT;
	auto_pgresult PGresult *r = NULL, *n = NULL;
	struct partitions_state s;
	uint64_t intervals = 0, hours = 0;

	put_plan(plan, &args);
	int rc = pg_run(pg, &missing, &args, &r, err);
	if (rc == 0)
		rc = pg_run(pg, &count, NULL, &n, err);
	if (rc == 0)
		rc = pg_get_u64(n, 0, 0, &intervals);
	if (rc == 0)
		rc = pg_get_u64(n, 0, 1, &hours);
	if (rc < 0)
		return rc;
	s.missing = (uint32_t)PQntuples(r);
	s.intervals = (uint32_t)intervals;
	s.hours = (uint32_t)hours;
	*ret = s;
	return 0;
}
