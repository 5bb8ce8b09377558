/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregator/partitions.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "aggregator/retention.h"
#include "aggregator/schema.h"
#include "test/unit/pg_server.h"

static struct pg_server server;
static struct pg *pg;
static const struct partitions_plan plan = {
	.interval_days = 30, .hour_months = 12, .ahead_days = 3};
static const struct partitions_plan longer = {
	.interval_days = 40, .hour_months = 15, .ahead_days = 3};

static int64_t ahead_s; /* of this program's clock of the day */

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = __real_clock_gettime(id, ts);

	if (id == CLOCK_REALTIME)
		ts->tv_sec += ahead_s;
	return rc;
}

static int64_t number(const char *sql)
{
	auto_pgresult PGresult *r = NULL;
	struct err err = {""};
	int64_t v = -1;

	if (pg_exec(pg, sql, &r, &err) < 0)
		fail_msg("%s: %s", sql, err.text);
	assert_int_equal(pg_get_s64(r, 0, 0, &v), 0);
	return v;
}

static void must(const char *sql)
{
	struct err err = {""};

	if (pg_exec(pg, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.text);
}

#define INTERVALS                                                                      \
	"SELECT count(*) FROM pg_inherits WHERE inhparent = 'unit_interval'::regclass"
#define HOURS "SELECT count(*) FROM pg_inherits WHERE inhparent = 'unit_hour'::regclass"
#define INSERT                                                                         \
	"INSERT INTO unit_interval (instance, t0, ms, observed_ms) SELECT 1, now() "
#define MARK "INSERT INTO dirty (instance, hour) SELECT 1, date_trunc('day', now()) "

static int setup(void **state)
{
	const struct pg_params params = {.url = server.url};
	struct err err = {""};

	(void)state;
	assert_int_equal(pg_new(&params, &pg, &err), 0);
	must("DROP SCHEMA IF EXISTS mine CASCADE; CREATE SCHEMA mine; "
	     "SET search_path = mine");
	int rc =
		pg_migrate(pg, schema_migrations, schema_migration_count, "test", &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pg_free(pg);
	return 0;
}

static void made_ahead_and_as_far_back_as_is_kept(void **state)
{
	struct partitions_state s;
	struct err err = {""};

	(void)state;
	assert_int_equal(partitions_look(pg, &plan, &s, &err), 0);
	uint32_t missing = s.missing;
	assert_in_range(missing, 35 + 14, 35 + 15);
	assert_int_equal(partitions_make(pg, &plan, &err), missing);
	assert_int_equal(number(INTERVALS), 30 + 1 + 1 + 3);
	assert_in_range(number(HOURS), 14, 15);
	assert_int_equal(partitions_make(pg, &plan, &err), 0);
	assert_int_equal(partitions_look(pg, &plan, &s, &err), 0);
	assert_int_equal(s.missing, 0);
	assert_int_equal(s.intervals, 35);
	/* there is one for everything that the window admits, and its key is a key */
	must(INSERT "- interval '30 days', 1, 1");
	must(INSERT "+ interval '2 days', 1, 1");
	must("INSERT INTO unit_hour (unit, hour, node_ms, observed_ms) SELECT 1, "
	     "date_trunc('hour', now() - interval '1 year'), 1, 1");
	must("INSERT INTO unit_interval (instance, t0, ms, observed_ms) VALUES "
	     "(2, date_trunc('day', now()), 1, 1)");
	assert_int_equal(
		pg_exec(pg,
			"INSERT INTO unit_interval (instance, t0, ms, observed_ms) "
			"VALUES (2, date_trunc('day', now()), 1, 1)",
			NULL, &err),
		-EEXIST);
}

static void a_long_retention_begins_with_what_reports_need(void **state)
{
	const struct partitions_plan years = {
		.interval_days = 400, .hour_months = 30, .ahead_days = 3};
	struct partitions_state s;
	struct err err = {""};

	(void)state;
	int made = partitions_make_first(pg, &years, &err);
	assert_int_equal(made, number(INTERVALS) + number(HOURS));
	assert_int_equal(number(INTERVALS), 31 + 1 + 1 + 3);
	must(INSERT "- interval '31 days', 1, 1");
	assert_int_equal(partitions_look(pg, &years, &s, &err), 0);
	assert_in_range(s.missing, 400 - 31 + 30 - 14, 400 - 31 + 30 - 12);
	/* more than one transaction makes, none forgotten */
	assert_int_equal(partitions_make(pg, &years, &err), s.missing);
	assert_int_equal(number(INTERVALS), 400 + 1 + 1 + 3);
	must(INSERT "- interval '400 days', 1, 1");
	assert_int_equal(partitions_make_first(pg, &years, &err), 0);
}

static void old_ones_are_dropped_and_no_others(void **state)
{
	struct err err = {""};

	(void)state;
	assert_true(partitions_make(pg, &longer, &err) > 0);
	must(INSERT "- interval '39 days', 1, 1");
	must(INSERT "- interval '29 days', 1, 1");
	must(INSERT ", 1, 1");
	must("CREATE TABLE unit_interval_mine PARTITION OF unit_interval FOR VALUES "
	     "FROM ('2001-01-01') TO ('2001-01-02')");
	assert_int_equal(partitions_drop(pg, &plan, &err), 10 + 3);
	assert_int_equal(number(INTERVALS), 35 + 1);
	assert_int_equal(number("SELECT count(*) FROM unit_interval"), 2);
	assert_int_equal(partitions_drop(pg, &plan, &err), 0);
}

static void old_ones_go_to_the_archive_whole(void **state)
{
	struct partitions_plan archived = plan;
	struct err err = {""};

	(void)state;
	archived.archive = "ceems_archive";
	assert_true(partitions_make(pg, &longer, &err) > 0);
	must(INSERT "- interval '39 days', 1, 1");
	must(INSERT ", 1, 1");
	assert_int_equal(partitions_drop(pg, &archived, &err), 10 + 3);
	assert_int_equal(number(INTERVALS), 35);
	assert_int_equal(number("SELECT count(*) FROM pg_tables WHERE schemaname = "
				"'ceems_archive'"),
			 10 + 3);
	assert_int_equal(
		number("SELECT n_rows FROM (SELECT (xpath('/row/c/text()', "
		       "query_to_xml('SELECT count(*) AS c FROM ceems_archive.' "
		       "|| tablename, false, true, '')))[1]::text::int AS n_rows "
		       "FROM pg_tables WHERE schemaname = 'ceems_archive') t "
		       "ORDER BY 1 DESC LIMIT 1"),
		1);
	/* made again and too old again: beside the first */
	assert_true(partitions_make(pg, &longer, &err) > 0);
	assert_int_equal(partitions_drop(pg, &archived, &err), 10 + 3);
	assert_int_equal(number("SELECT count(*) FROM pg_tables WHERE schemaname = "
				"'ceems_archive'"),
			 2 * (10 + 3));
	assert_int_equal(partitions_drop(pg, &archived, &err), 0);
	must("DROP SCHEMA ceems_archive CASCADE");
	/* a word of SQL's is a name, too */
	archived.archive = "user";
	assert_true(partitions_make(pg, &longer, &err) > 0);
	assert_int_equal(partitions_drop(pg, &archived, &err), 10 + 3);
	assert_true(partitions_make(pg, &longer, &err) > 0);
	assert_int_equal(partitions_drop(pg, &archived, &err), 10 + 3);
	must("DROP SCHEMA \"user\" CASCADE");
	assert_int_equal(number("SELECT count(*) FROM unit_interval"), 1);
	assert_true(partitions_archive_ok("old_2026"));
	assert_false(partitions_archive_ok("public"));
	assert_false(partitions_archive_ok("pg_catalog"));
	assert_false(partitions_archive_ok("a; DROP"));
	assert_false(partitions_archive_ok("2026"));
}

static void what_the_roll_up_has_still_to_read_waits(void **state)
{
	struct err err = {""};

	(void)state;
	assert_true(partitions_make(pg, &longer, &err) > 0);
	must(MARK "- interval '33 days'");
	/* for a week, not for ever */
	must(MARK "- interval '40 days'");
	assert_int_equal(partitions_drop(pg, &plan, &err), 9 + 3);
	must("DELETE FROM dirty");
	assert_int_equal(partitions_drop(pg, &plan, &err), 1);
}

/* The clock of this test is right, and what is stored is old: as if the clock had
 * leapt. */
static void without_new_reports_nothing_gets_old(void **state)
{
	struct err err = {""};

	(void)state;
	assert_true(partitions_make(pg, &longer, &err) > 0);
	must(INSERT "- interval '39 days', 1, 1");
	assert_true(partitions_drop(pg, &plan, &err) >= 0);
	assert_int_equal(number(INTERVALS), 45);
	must(INSERT "- interval '9 days', 1, 1");
	assert_true(partitions_drop(pg, &plan, &err) >= 1);
	assert_int_equal(number(INTERVALS), 44);
	assert_int_equal(number("SELECT count(*) FROM unit_interval"), 2);
	must(INSERT ", 1, 1");
	assert_true(partitions_drop(pg, &plan, &err) >= 9);
	assert_int_equal(number(INTERVALS), 35);
	assert_int_equal(number("SELECT count(*) FROM unit_interval"), 2);
}

static void nothing_is_old_while_clocks_differ(void **state)
{
	struct err err = {""};
	int64_t apart;

	(void)state;
	assert_true(partitions_make(pg, &longer, &err) > 0);
	must(INSERT ", 1, 1");
	for (int days = -400; days <= 400; days += 800) {
		ahead_s = (int64_t)days * 86400;
		assert_int_equal(partitions_clock(pg, &apart, &err), 0);
		assert_in_range(apart + ahead_s + 5, 0, 10);
		assert_int_equal(partitions_drop(pg, &plan, &err), -ERANGE);
		assert_non_null(strstr(err.text, "s apart: nothing is dropped"));
	}
	ahead_s = 3600;
	assert_int_equal(partitions_drop(pg, &plan, &err), 10 + 3);
	ahead_s = 0;
}

struct keeper {
	pthread_t thread;
	struct pg *pg;
	int made, dropped, failed;
};

static void *keep(void *arg)
{
	const struct pg_params params = {.url = server.url};
	struct keeper *k = arg;
	struct err err = {""};

	if (pg_new(&params, &k->pg, &err) < 0 ||
	    pg_exec(k->pg, "SET search_path = mine", NULL, &err) < 0)
		k->failed++;
	for (int i = 0; i < 8 && !k->failed; i++) {
		/* whose options differ, for a while: what one makes the other drops */
		int made = partitions_make(k->pg, i % 2 ? &plan : &longer, &err);
		int dropped = partitions_drop(k->pg, &plan, &err);
		k->made += made > 0 ? made : 0;
		k->dropped += dropped > 0 ? dropped : 0;
		k->failed += made < 0 || (dropped < 0 && dropped != -EAGAIN);
	}
	if (k->failed)
		fprintf(stderr, "%s\n", err.text);
	pg_free(k->pg);
	return NULL;
}

static void several_aggregators_keep_the_ladder_at_once(void **state)
{
	struct keeper keepers[4] = {0};
	struct err err = {""};

	(void)state;
	assert_true(partitions_make(pg, &longer, &err) > 0);
	must(INSERT ", 1, 1");
	must(INSERT "- interval '20 days', 1, 1");
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&keepers[i].thread, NULL, keep, &keepers[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(keepers[i].thread, NULL);
		assert_int_equal(keepers[i].failed, 0);
	}
	assert_true(partitions_make(pg, &plan, &err) >= 0);
	assert_true(partitions_drop(pg, &plan, &err) >= 0);
	assert_int_equal(number(INTERVALS), 35);
	assert_int_equal(number("SELECT count(*) FROM unit_interval"), 2);
}

static void query_in_the_way_only_delays(void **state)
{
	const struct pg_params params = {.url = server.url};
	struct pg *other = NULL;
	struct err err = {""};

	(void)state;
	assert_true(partitions_make(pg, &longer, &err) > 0);
	assert_int_equal(pg_new(&params, &other, &err), 0);
	assert_int_equal(pg_exec(other,
				 "SET search_path = mine; BEGIN; "
				 "SELECT count(*) FROM unit_interval",
				 NULL, &err),
			 0);
	assert_int_equal(partitions_drop(pg, &plan, &err), -EAGAIN);
	assert_int_equal(pg_exec(other, "COMMIT", NULL, &err), 0);
	/* the three months that were dropped before are gone */
	assert_int_equal(partitions_drop(pg, &plan, &err), 10);
	/* and making waits for nobody */
	assert_int_equal(pg_exec(other,
				 "BEGIN; INSERT INTO unit_interval (instance, t0, ms, "
				 "observed_ms) VALUES (7, now(), 1, 1)",
				 NULL, &err),
			 0);
	assert_int_equal(partitions_make(pg, &longer, &err), 13);
	assert_int_equal(pg_exec(other, "COMMIT", NULL, &err), 0);
	pg_free(other);
}

static void past_day_is_vacuumed_once(void **state)
{
	struct err err = {""};

	(void)state;
	assert_true(partitions_make(pg, &plan, &err) > 0);
	must(INSERT "- interval '5 days', 1, 1");
	must(INSERT ", 1, 1");
	must("SELECT pg_stat_force_next_flush()");
	must("SELECT 1");
	assert_int_equal(partitions_vacuum(pg, &err), 1);
	must("SELECT pg_stat_force_next_flush()");
	must("SELECT 1");
	assert_int_equal(partitions_vacuum(pg, &err), 0);
	assert_int_equal(
		number("SELECT count(*) FROM pg_stat_user_tables WHERE schemaname = "
		       "'mine' AND relname LIKE 'unit_interval%' AND last_vacuum IS "
		       "NOT NULL"),
		1);
}

static void window_is_within_the_partitions(void **state)
{
	const struct options o = {
		.retention_intervals_ms = 30ull * 86400 * 1000,
		.retention_hours_ms = 365ull * 86400 * 1000,
		.partitions_ahead_ms = 3ull * 86400 * 1000,
	};
	uint64_t now_ns = 1700000000ull * 1000000000, oldest, newest;

	(void)state;
	retention_window(&o, now_ns, &oldest, &newest);
	assert_true(oldest == (1700000000ull / 86400 - 30) * 86400 * 1000000000);
	assert_true(newest == (1700000000ull / 86400 + 3) * 86400 * 1000000000);
	struct partitions_plan p = retention_plan(&o);
	assert_int_equal(p.interval_days, 30);
	assert_int_equal(p.hour_months, 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_ahead_and_as_far_back_as_is_kept),
		cmocka_unit_test(a_long_retention_begins_with_what_reports_need),
		cmocka_unit_test(old_ones_are_dropped_and_no_others),
		cmocka_unit_test(old_ones_go_to_the_archive_whole),
		cmocka_unit_test(what_the_roll_up_has_still_to_read_waits),
		cmocka_unit_test(without_new_reports_nothing_gets_old),
		cmocka_unit_test(nothing_is_old_while_clocks_differ),
		cmocka_unit_test(several_aggregators_keep_the_ladder_at_once),
		cmocka_unit_test(query_in_the_way_only_delays),
		cmocka_unit_test(past_day_is_vacuumed_once),
		cmocka_unit_test(window_is_within_the_partitions),
	};
	struct CMUnitTest each[sizeof(tests) / sizeof(tests[0])];

	if (!pg_server_start(&server, ""))
		return 0;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		each[i] = tests[i];
		each[i].setup_func = setup;
		each[i].teardown_func = teardown;
	}
	int rc = cmocka_run_group_tests(each, NULL, NULL);
	pg_server_stop(&server);
	return rc;
}
