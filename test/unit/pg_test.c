/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/pg/pg.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>

#include "lib/clock.h"
#include "lib/pg/pg_copy.h"
#include "lib/pg/pg_impl.h"
#include "test/unit/pg_server.h"

static struct pg_server server;

static struct pg *open_pg(void)
{
	const struct pg_params params = {.url = server.url};
	struct pg *pg = NULL;
	struct err err = {""};

	assert_int_equal(pg_new(&params, &pg, &err), 0);
	return pg;
}

static void must(struct pg *pg, const char *sql)
{
	struct err err = {""};

	if (pg_exec(pg, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.text);
}

static int64_t number(struct pg *pg, const char *sql)
{
	auto_pgresult PGresult *r = NULL;
	struct err err = {""};
	int64_t v = -1;

	if (pg_exec(pg, sql, &r, &err) < 0)
		fail_msg("%s: %s", sql, err.text);
	assert_int_equal(pg_get_s64(r, 0, 0, &v), 0);
	return v;
}

static void url_that_is_none_is_refused_without_its_password(void **state)
{
	static const char *const bad[] = {"postgresql://u:planted@host/db?nosuch=1",
					  "u:planted@host", "password=planted host",
					  "postgresql://u:planted@[::1/db"};
	struct pg *pg = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct pg_params params = {.url = bad[i]};
		struct err err = {""};
		assert_int_equal(pg_new(&params, &pg, &err), -EINVAL);
		assert_null(strstr(err.text, "planted"));
		assert_non_null(strstr(err.text, "Postgres"));
	}
}

static void values_come_back_as_they_went(void **state)
{
	static const struct pg_statement echo = {
		"echo",
		"SELECT $1::text, $2::bigint, $3::numeric, $4::float8, $5::bool, "
		"$6::text, ($7::timestamptz = to_timestamp(1700000000.123456)), "
		"$8::float8"};
	auto_pg struct pg *pg = open_pg();
	auto_pgresult PGresult *r = NULL;
	struct pg_args a = PG_ARGS_INIT;
	struct err err = {""};
	int64_t s;
	uint64_t u;
	double f;
	bool b;

	(void)state;
	pg_arg_text(&a, "O'Brien \\ \"; DROP TABLE x; --");
	pg_arg_s64(&a, INT64_MIN);
	pg_arg_u64(&a, UINT64_MAX);
	pg_arg_f64(&a, 0.1);
	pg_arg_bool(&a, true);
	pg_arg_null(&a);
	pg_arg_time(&a, 1700000000123456789);
	pg_arg_f64(&a, -INFINITY);
	if (pg_run(pg, &echo, &a, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(pg_get_text(r, 0, 0), "O'Brien \\ \"; DROP TABLE x; --");
	assert_int_equal(pg_get_s64(r, 0, 1, &s), 0);
	assert_true(s == INT64_MIN);
	assert_int_equal(pg_get_u64(r, 0, 2, &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(pg_get_f64(r, 0, 3, &f), 0);
	assert_true(f == 0.1);
	assert_int_equal(pg_get_bool(r, 0, 4, &b), 0);
	assert_true(b);
	assert_null(pg_get_text(r, 0, 5));
	assert_int_equal(pg_get_s64(r, 0, 5, &s), -ENODATA);
	assert_int_equal(pg_get_bool(r, 0, 6, &b), 0);
	assert_true(b);
	assert_int_equal(pg_get_f64(r, 0, 7, &f), 0);
	assert_true(isinf(f) && f < 0);
	/* what is no number is none */
	assert_int_equal(pg_get_s64(r, 0, 0, &s), -EBADMSG);
	assert_int_equal(pg_get_u64(r, 0, 1, &u), -EBADMSG);
	assert_int_equal(pg_get_bool(r, 0, 3, &b), -EBADMSG);
}

static int64_t kept(struct pg *pg, const char *sql, int64_t value)
{
	auto_pgresult PGresult *r = NULL;
	struct pg_args a = PG_ARGS_INIT;
	struct err err = {""};
	int64_t v = -1;

	pg_arg_s64(&a, value);
	if (pg_query_kept(pg, sql, &a, false, &r, &err) < 0)
		fail_msg("%s: %s", sql, err.text);
	assert_int_equal(pg_get_s64(r, 0, 0, &v), 0);
	return v;
}

static void texts_that_come_again_are_prepared_once_each(void **state)
{
	static const char count[] = "SELECT count(*) FROM pg_prepared_statements "
				    "WHERE name LIKE 'kept%'";
	auto_pg struct pg *pg = open_pg();
	struct err err = {""};
	char sql[64];

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(kept(pg, "SELECT $1::bigint + 1", i), i + 1);
		assert_int_equal(kept(pg, "SELECT $1::bigint + 2", i), i + 2);
	}
	assert_int_equal(number(pg, count), 2);
	/* there are as many as there is room for, the rest is asked all the same */
	for (int i = 0; i < 200; i++) {
		snprintf(sql, sizeof(sql), "SELECT $1::bigint + %d", i);
		assert_int_equal(kept(pg, sql, 7), 7 + i);
	}
	assert_int_equal(number(pg, count), PG_KEPT_MAX);
	/* a session that has lost them, one that is new, and one that is no SQL */
	must(pg, "DEALLOCATE ALL");
	assert_int_equal(kept(pg, "SELECT $1::bigint + 1", 1), 2);
	assert_int_equal(kept(pg, "SELECT $1::bigint + 1", 1), 2);
	pg_disconnect(pg);
	assert_int_equal(kept(pg, "SELECT $1::bigint + 2", 1), 3);
	assert_int_equal(number(pg, count), 1);
	assert_true(pg_query_kept(pg, "SELEC", NULL, false, NULL, &err) < 0);
	assert_int_equal(kept(pg, "SELECT $1::bigint + 2", 2), 4);
}

static void binary_results_are_the_same_values(void **state)
{
	auto_pg struct pg *pg = open_pg();
	auto_pgresult PGresult *r = NULL;
	struct pg_args a = PG_ARGS_INIT;
	struct err err = {""};
	int64_t us = 1;
	bool b = false;

	(void)state;
	pg_arg_time(&a, 1700000000123456789);
	if (pg_query_kept(pg,
			  "SELECT $1::timestamptz, '1969-12-31 23:59:59.999999Z'::"
			  "timestamptz, 'infinity'::timestamptz, NULL::timestamptz, "
			  "true, false, 'text'",
			  &a, true, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pg_binary_time(r, 0, 0, &us), 0);
	assert_true(us == 1700000000123456);
	assert_int_equal(pg_binary_time(r, 0, 1, &us), 0);
	assert_true(us == -1);
	assert_int_equal(pg_binary_time(r, 0, 2, &us), -EBADMSG);
	assert_int_equal(pg_binary_time(r, 0, 3, &us), -ENODATA);
	assert_int_equal(pg_binary_time(r, 0, 4, &us), -EBADMSG);
	assert_int_equal(pg_binary_bool(r, 0, 4, &b), 0);
	assert_true(b);
	assert_int_equal(pg_binary_bool(r, 0, 5, &b), 0);
	assert_false(b);
	assert_int_equal(pg_binary_bool(r, 0, 3, &b), -ENODATA);
	assert_int_equal(pg_binary_bool(r, 0, 6, &b), -EBADMSG);
	assert_string_equal(pg_get_text(r, 0, 6), "text");
	PQclear(r);
	r = NULL;
	/* text is not taken for it */
	assert_int_equal(
		pg_query(pg, "SELECT 'trueness'::text, 't'::\"char\"", NULL, &r, &err),
		0);
	assert_int_equal(pg_binary_time(r, 0, 0, &us), -EBADMSG);
	assert_int_equal(pg_binary_bool(r, 0, 1, &b), -EBADMSG);
	assert_true(us == -1);
}

static void too_many_values_are_an_error(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct pg_args a = PG_ARGS_INIT;
	struct err err = {""};

	(void)state;
	for (int i = 0; i <= PG_ARGS_MAX; i++)
		pg_arg_s64(&a, i);
	assert_int_equal(pg_query(pg, "SELECT 1", &a, NULL, &err), -EINVAL);
}

static void failures_say_what_to_do(void **state)
{
	static const struct {
		const char *sql;
		int rc;
		const char *sqlstate;
	} cases[] = {
		{"SELEC 1", -EIO, "42601"},
		{"SELECT 1/0", -EINVAL, "22012"},
		{"INSERT INTO one VALUES (1)", -EEXIST, "23505"},
		{"INSERT INTO one VALUES (NULL)", -EINVAL, "23502"},
		{"SELECT * FROM pg_authid", -EACCES, "42501"},
		{"DO $$ BEGIN RAISE SQLSTATE '40001'; END $$", -EAGAIN, "40001"},
		{"DO $$ BEGIN RAISE SQLSTATE '53100'; END $$", -ENOSPC, "53100"},
		{"SELECT '\xff'", -EINVAL, "22021"},
	};
	auto_pg struct pg *pg = open_pg();

	(void)state;
	must(pg, "CREATE TABLE one (a int PRIMARY KEY); INSERT INTO one VALUES (1)");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {""};
		int rc = pg_exec(pg, cases[i].sql, NULL, &err);
		if (rc != cases[i].rc)
			fail_msg("%s: %d %s", cases[i].sql, rc, err.text);
		assert_string_equal(pg_sqlstate(pg), cases[i].sqlstate);
		assert_non_null(strstr(err.text, cases[i].sqlstate));
	}
	assert_int_equal(number(pg, "SELECT 7"), 7);
}

static void slow_statement_is_cancelled(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct err err = {""};

	(void)state;
	pg_statement_timeout(pg, 50);
	assert_int_equal(pg_exec(pg, "SELECT pg_sleep(30)", NULL, &err), -ETIMEDOUT);
	pg_statement_timeout(pg, 0);
	assert_int_equal(number(pg, "SELECT 7"), 7);
}

static void *interrupt_soon(void *arg)
{
	static const char runs[] =
		"SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND "
		"query = 'SELECT pg_sleep(30)'";
	auto_pg struct pg *other = open_pg();

	while (number(other, runs) != 1)
		usleep(10000);
	pg_interrupt(arg);
	return NULL;
}

static void another_thread_ends_a_statement(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct err err = {""};
	pthread_t t;

	(void)state;
	assert_int_equal(pg_connect(pg, &err), 0);
	assert_int_equal(pthread_create(&t, NULL, interrupt_soon, pg), 0);
	assert_int_equal(pg_exec(pg, "SELECT pg_sleep(30)", NULL, &err), -ETIMEDOUT);
	pthread_join(t, NULL);
	assert_int_equal(pg_exec(pg, "SELECT 1", NULL, &err), -ECANCELED);
}

struct count {
	int runs, lose, fail_first;
};

static int insert_body(struct pg *pg, void *arg, struct err *err)
{
	struct count *c = arg;

	c->runs++;
	int rc = pg_exec(pg, "INSERT INTO tx SELECT coalesce(max(a), 0) + 1 FROM tx",
			 NULL, err);
	if (rc == 0 && c->runs <= c->fail_first)
		rc = pg_exec(pg, "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$", NULL,
			     err);
	if (rc == 0 && c->runs <= c->lose)
		rc = pg_exec(pg, "SELECT pg_terminate_backend(pg_backend_pid())", NULL,
			     err);
	return rc;
}

static void transaction_is_run_again_where_that_helps(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct count c = {.fail_first = 2};
	struct err err = {""};

	(void)state;
	must(pg, "CREATE TABLE tx (a int PRIMARY KEY)");
	assert_int_equal(pg_transaction(pg, PG_SERIALIZABLE, 0, insert_body, &c, &err),
			 0);
	assert_int_equal(c.runs, 3);
	assert_int_equal(number(pg, "SELECT count(*) FROM tx"), 1);
	/* the connection goes in the middle: all of it happens in another, once */
	c = (struct count){.lose = 1};
	assert_int_equal(
		pg_transaction(pg, PG_READ_COMMITTED, 0, insert_body, &c, &err), 0);
	assert_int_equal(c.runs, 2);
	assert_int_equal(number(pg, "SELECT count(*) FROM tx"), 2);
	/* and not for ever */
	c = (struct count){.fail_first = 100};
	assert_int_equal(
		pg_transaction(pg, PG_READ_COMMITTED, 3, insert_body, &c, &err),
		-EAGAIN);
	assert_int_equal(c.runs, 3);
	assert_int_equal(number(pg, "SELECT count(*) FROM tx"), 2);
}

static int careless_body(struct pg *pg, void *arg, struct err *err)
{
	(void)arg;
	(void)pg_exec(pg, "SELECT 1/0", NULL, err);
	(void)pg_exec(pg, "INSERT INTO tx VALUES (1000)", NULL, err);
	return 0;
}

static int lost_body(struct pg *pg, void *arg, struct err *err)
{
	int *runs = arg;

	(*runs)++;
	(void)pg_exec(pg, "SELECT pg_terminate_backend(pg_backend_pid())", NULL, err);
	/* must not happen alone, in a new connection */
	return pg_exec(pg, "INSERT INTO tx VALUES (2000)", NULL, err);
}

static void half_a_transaction_is_never_committed(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct err err = {""};
	int runs = 0;

	(void)state;
	must(pg, "CREATE TABLE IF NOT EXISTS tx (a int PRIMARY KEY)");
	assert_int_equal(
		pg_transaction(pg, PG_READ_COMMITTED, 0, careless_body, NULL, &err),
		-EIO);
	assert_int_equal(
		pg_transaction(pg, PG_READ_COMMITTED, 3, lost_body, &runs, &err),
		-EHOSTDOWN);
	assert_int_equal(runs, 3);
	assert_int_equal(number(pg, "SELECT count(*) FROM tx WHERE a >= 1000"), 0);
}

static void server_that_is_away_is_left_alone_and_found_again(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct err err = {""};

	(void)state;
	assert_int_equal(number(pg, "SELECT 7"), 7);
	assert_int_equal(pg_server_do(&server, "kill", ""), 0);
	assert_int_equal(pg_exec(pg, "SELECT 1", NULL, &err), -EHOSTDOWN);
	assert_int_equal(pg_connect(pg, &err), -EHOSTDOWN);
	uint64_t next_ns = pg->next_try_ns;
	assert_true(next_ns > clock_boottime_ns());
	assert_int_equal(pg_connect(pg, &err), -EHOSTDOWN);
	assert_true(pg->next_try_ns == next_ns); /* it was not asked */
	assert_non_null(strstr(err.text, "no connection to the database"));
	assert_int_equal(pg_server_do(&server, "up", ""), 0);
	pg_connect_now(pg);
	assert_int_equal(number(pg, "SELECT 7"), 7);
}

static void server_that_hangs_is_given_up(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct err err = {""};

	(void)state;
	int64_t pid = number(pg, "SELECT pg_backend_pid()");
	pg_statement_timeout(pg, 500);
	must(pg, "SELECT 1");
	assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
	assert_int_equal(pg_exec(pg, "SELECT 1", NULL, &err), -EHOSTDOWN);
	assert_int_equal(kill((pid_t)pid, SIGKILL), 0); /* all sessions end */
	pg_statement_timeout(pg, 0);
	for (int i = 0; i < 1200; i++) {
		pg_connect_now(pg);
		if (pg_connect(pg, &err) == 0)
			break;
		usleep(50000);
	}
	assert_int_equal(number(pg, "SELECT 7"), 7);
}

static void rows_are_copied_as_they_are(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct err err = {""};
	struct pg_copy c;
	const int32_t all[64] = {0};
	uint64_t rows = 0;

	(void)state;
	must(pg, "CREATE TABLE copied (a bigint, b int, c smallint, d real, e float8, "
		 "f bool, g text, h timestamptz, i date, j bytea, k text, l int[], m "
		 "int[])");
	assert_int_equal(pg_copy_begin(&c, pg, "COPY copied FROM STDIN (FORMAT binary)",
				       13, &err),
			 0);
	for (int i = 0; i < 20000; i++) {
		pg_copy_row(&c);
		pg_copy_s64(&c, INT64_MIN + i);
		pg_copy_s32(&c, -7);
		pg_copy_s16(&c, -3);
		pg_copy_f32(&c, 0.5f);
		pg_copy_f64(&c, 0.1);
		pg_copy_bool(&c, true);
		pg_copy_text(&c, "\xc3\xa4\tb\n", 5);
		pg_copy_time(&c, 1700000000123456789);
		pg_copy_date(&c, 0);
		pg_copy_text(&c, "\0\1", 2);
		pg_copy_null(&c);
		pg_copy_s32s(&c, (const int32_t[]){-1, 0, 3}, 5, 3);
		pg_copy_s32s(&c, all, UINT64_MAX, 64);
	}
	if (pg_copy_end(&c, &rows, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(rows, 20000);
	assert_int_equal(
		number(pg, "SELECT count(*) FROM copied WHERE b = -7 AND c = -3 AND "
			   "d = 0.5 AND e = 0.1 AND f AND g = E'\u00e4\tb\n' AND "
			   "h = to_timestamp(1700000000.123456) AND i = '1970-01-01' "
			   "AND j = '\\x0001' AND k IS NULL AND "
			   "l = '{-1, NULL, 3}' AND m = array_fill(0, '{64}')"),
		20000);
	assert_int_equal(number(pg, "SELECT count(DISTINCT a) FROM copied"), 20000);
}

static void copy_that_fails_leaves_nothing(void **state)
{
	auto_pg struct pg *pg = open_pg();
	struct err err = {""};
	struct pg_copy c;

	(void)state;
	must(pg, "CREATE TABLE small (a int PRIMARY KEY, b text)");
	static const char sql[] = "COPY small FROM STDIN (FORMAT binary)";
	/* the server refuses */
	assert_int_equal(pg_copy_begin(&c, pg, sql, 2, &err), 0);
	for (int i = 0; i < 2; i++) {
		pg_copy_row(&c);
		pg_copy_s32(&c, 1);
		pg_copy_text(&c, "x", 1);
	}
	assert_int_equal(pg_copy_end(&c, NULL, &err), -EEXIST);
	/* a row with too few values */
	assert_int_equal(pg_copy_begin(&c, pg, sql, 2, &err), 0);
	pg_copy_row(&c);
	pg_copy_s32(&c, 1);
	assert_int_equal(pg_copy_end(&c, NULL, &err), -EINVAL);
	/* given up */
	assert_int_equal(pg_copy_begin(&c, pg, sql, 2, &err), 0);
	pg_copy_row(&c);
	pg_copy_s32(&c, 1);
	pg_copy_text(&c, "x", 1);
	pg_copy_abort(&c);
	/* the connection is cut below it */
	assert_int_equal(pg_copy_begin(&c, pg, sql, 2, &err), 0);
	assert_int_equal(kill(PQbackendPID(pg->conn), SIGTERM), 0);
	for (int i = 0; i < 200000; i++) {
		pg_copy_row(&c);
		pg_copy_s32(&c, i);
		pg_copy_text(&c, "xxxxxxxxxxxxxxxx", 16);
	}
	assert_int_equal(pg_copy_end(&c, NULL, &err), -EHOSTDOWN);
	assert_int_equal(number(pg, "SELECT count(*) FROM small"), 0);
}

/* What the guard of pg_server.h is for: the test is killed, as by timeout(1). */
static void server_of_a_test_that_is_killed_ends(void **state)
{
	struct pg_server other;
	char path[128], line[256];
	int status, told[2];

	(void)state;
	assert_int_equal(pipe(told), 0);
	(void)fflush(stdout);
	pid_t test = fork();
	assert_true(test >= 0);
	if (test == 0) {
		if (pg_server_start(&other, ""))
			(void)!write(told[1], &other, sizeof(other));
		(void)pause();
		_exit(0);
	}
	(void)close(told[1]);
	assert_int_equal(read(told[0], &other, sizeof(other)), sizeof(other));
	(void)close(told[0]);
	(void)snprintf(path, sizeof(path), "%s/pg/data/postmaster.pid", other.dir);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	(void)fclose(f);
	assert_int_equal(kill(test, SIGKILL), 0);
	assert_int_equal(waitpid(test, &status, 0), test);
	for (int i = 0; i < 1200 && access(other.dir, F_OK) == 0; i++)
		(void)usleep(50000);
	assert_int_equal(access(other.dir, F_OK), -1);
	/* the number may be another process's by now, its words are not */
	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", atoi(line));
	f = fopen(path, "re");
	size_t n = f ? fread(line, 1, sizeof(line), f) : 0;
	assert_null(memmem(line, n, other.dir, strlen(other.dir)));
	if (f)
		(void)fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(url_that_is_none_is_refused_without_its_password),
		cmocka_unit_test(values_come_back_as_they_went),
		cmocka_unit_test(texts_that_come_again_are_prepared_once_each),
		cmocka_unit_test(binary_results_are_the_same_values),
		cmocka_unit_test(too_many_values_are_an_error),
		cmocka_unit_test(failures_say_what_to_do),
		cmocka_unit_test(slow_statement_is_cancelled),
		cmocka_unit_test(another_thread_ends_a_statement),
		cmocka_unit_test(transaction_is_run_again_where_that_helps),
		cmocka_unit_test(half_a_transaction_is_never_committed),
		cmocka_unit_test(rows_are_copied_as_they_are),
		cmocka_unit_test(copy_that_fails_leaves_nothing),
		cmocka_unit_test(server_that_is_away_is_left_alone_and_found_again),
		cmocka_unit_test(server_that_hangs_is_given_up),
		cmocka_unit_test(server_of_a_test_that_is_killed_ends),
	};

	if (!pg_server_start(&server, ""))
		return 0;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	pg_server_stop(&server);
	return rc;
}
