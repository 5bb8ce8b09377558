/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/pg/pool.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "test/unit/pg_server.h"

static struct pg_server server;
static atomic_uint ups, downs;
static atomic_int up_result;

struct task {
	struct pg_job job;
	const char *sql;
	atomic_int done; /* 1 + times */
	int rc;
	struct err err;
};

static int run_sql(struct pg *pg, void *arg, struct err *err)
{
	struct task *t = arg;
	return pg_exec(pg, t->sql, NULL, err);
}

static void task_done(void *arg, int rc, const struct err *err)
{
	struct task *t = arg;

	t->rc = rc;
	t->err = *err;
	atomic_fetch_add(&t->done, 1);
}

static int on_up(struct pg *pg, void *arg, struct err *err)
{
	(void)pg;
	(void)arg;
	int rc = atomic_load(&up_result);
	return rc ? err_set(err, rc, "not this one") : 0;
}

static void on_change(void *arg, bool up, const char *text)
{
	(void)arg;
	(void)text;
	atomic_fetch_add(up ? &ups : &downs, 1);
}

static struct pg_pool *open_pool(unsigned threads, unsigned queue)
{
	const struct pg_pool_params params = {
		.pg = {.url = server.url},
		.threads = threads,
		.queue_max = queue,
		.on_up = on_up,
		.on_change = on_change,
	};
	struct pg_pool *p = NULL;
	struct err err = {""};

	assert_int_equal(pg_pool_new(&params, &p, &err), 0);
	return p;
}

static void close_pool(struct pg_pool *p)
{
	pg_pool_stop(p, 0);
	pg_pool_free(p);
}

static int submit(struct pg_pool *p, struct task *t, const char *sql, unsigned ms)
{
	struct err err = {""};

	*t = (struct task){.sql = sql};
	t->job = (struct pg_job){
		.run = run_sql, .done = task_done, .arg = t, .deadline_ms = ms};
	return pg_pool_submit(p, &t->job, &err);
}

static void wait_done(struct task *t)
{
	for (int i = 0; i < 6000 && !atomic_load(&t->done); i++)
		usleep(10000);
	assert_int_equal(atomic_load(&t->done), 1);
}

static void wait_state(struct pg_pool *p, bool up)
{
	struct pg_pool_state s = {.up = !up};

	for (int i = 0; i < 6000 && s.up != up; i++) {
		usleep(10000);
		pg_pool_get_state(p, &s);
	}
	assert_int_equal(s.up, up);
}

static void wait_queued(struct pg_pool *p, unsigned n)
{
	struct pg_pool_state s = {.queued = n + 1};

	for (int i = 0; i < 6000 && s.queued != n; i++) {
		usleep(10000);
		pg_pool_get_state(p, &s);
	}
	assert_int_equal(s.queued, n);
}

static void jobs_run_on_several_connections(void **state)
{
	struct pg_pool *p = open_pool(3, 0);
	struct task t[20];
	struct pg_pool_state s;

	(void)state;
	assert_true(pg_pool_wait(p, 60000));
	for (int i = 0; i < 20; i++)
		assert_int_equal(submit(p, &t[i], "SELECT pg_sleep(0.01)", 0), 0);
	for (int i = 0; i < 20; i++) {
		wait_done(&t[i]);
		assert_int_equal(t[i].rc, 0);
	}
	pg_pool_get_state(p, &s);
	assert_int_equal(s.jobs, 20);
	assert_int_equal(s.failed, 0);
	assert_int_equal(s.queued, 0);
	close_pool(p);
}

static void full_queue_is_said_at_once(void **state)
{
	struct pg_pool *p = open_pool(1, 2);
	struct task t[8];
	int taken = 0, refused = 0;

	(void)state;
	assert_true(pg_pool_wait(p, 60000));
	for (int i = 0; i < 8; i++) {
		int rc = submit(p, &t[i], "SELECT pg_sleep(60)", 0);
		if (rc == 0)
			taken++;
		else
			refused += rc == -EAGAIN;
	}
	assert_in_range(taken, 2, 3);
	assert_int_equal(taken + refused, 8);
	close_pool(p);
}

static void deadlines_are_kept(void **state)
{
	struct pg_pool *p = open_pool(1, 0);
	struct task slow, late;

	(void)state;
	assert_true(pg_pool_wait(p, 60000));
	assert_int_equal(submit(p, &slow, "SELECT pg_sleep(60)", 300), 0);
	assert_int_equal(submit(p, &late, "SELECT 1", 100), 0);
	wait_done(&slow);
	wait_done(&late);
	assert_int_equal(slow.rc, -ETIMEDOUT);
	assert_int_equal(late.rc, -ETIME);
	close_pool(p);
}

static void stop_ends_every_job_once(void **state)
{
	struct pg_pool *p = open_pool(1, 0);
	struct task t[5], after;

	(void)state;
	assert_true(pg_pool_wait(p, 60000));
	for (int i = 0; i < 5; i++)
		assert_int_equal(submit(p, &t[i], "SELECT pg_sleep(60)", 60000), 0);
	wait_queued(p, 4); /* the first is under way */
	pg_pool_stop(p, 50);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(atomic_load(&t[i].done), 1);
		assert_true(t[i].rc == (i ? -ECANCELED : -ETIMEDOUT));
	}
	assert_int_equal(submit(p, &after, "SELECT 1", 0), -ECANCELED);
	pg_pool_free(p);
}

static void jobs_fail_at_once_while_the_database_is_away(void **state)
{
	struct pg_pool *p = open_pool(2, 0);
	struct task t;
	struct pg_pool_state s;

	(void)state;
	assert_true(pg_pool_wait(p, 60000));
	atomic_store(&downs, 0);
	assert_int_equal(pg_server_do(&server, "kill", ""), 0);
	/* the job that finds out fails; then none is taken */
	assert_int_equal(submit(p, &t, "SELECT 1", 0), 0);
	wait_done(&t);
	assert_int_equal(t.rc, -EHOSTDOWN);
	wait_state(p, false);
	assert_int_equal(submit(p, &t, "SELECT 1", 0), -EHOSTDOWN);
	pg_pool_get_state(p, &s);
	assert_int_equal(s.losses, 1);
	assert_non_null(strstr(s.why.text, "database"));
	usleep(1500000);
	assert_in_range(atomic_load(&downs), 1, 2); /* not said over and over */
	assert_int_equal(pg_server_do(&server, "up", ""), 0);
	wait_state(p, true);
	assert_int_equal(submit(p, &t, "SELECT 1", 0), 0);
	wait_done(&t);
	assert_int_equal(t.rc, 0);
	close_pool(p);
}

static void one_cut_connection_is_not_the_end_of_all(void **state)
{
	struct pg_pool *p = open_pool(2, 0);
	struct task t;
	struct pg_pool_state s;

	(void)state;
	assert_true(pg_pool_wait(p, 60000));
	for (int i = 0; i < 4; i++) {
		assert_int_equal(submit(p, &t,
					"SELECT pg_terminate_backend(pg_backend_pid())",
					0),
				 0);
		wait_done(&t);
		assert_int_equal(t.rc, -EHOSTDOWN);
	}
	assert_int_equal(submit(p, &t, "SELECT 1", 0), 0);
	wait_done(&t);
	assert_int_equal(t.rc, 0);
	pg_pool_get_state(p, &s);
	assert_int_equal(s.losses, 0);
	close_pool(p);
}

static void database_that_is_refused_stays_down_with_the_reason(void **state)
{
	struct pg_pool_state s;
	struct task t;

	(void)state;
	atomic_store(&up_result, -EPROTO);
	struct pg_pool *p = open_pool(2, 0);
	assert_false(pg_pool_wait(p, 60000));
	pg_pool_get_state(p, &s);
	assert_int_equal(s.reason, -EPROTO);
	assert_string_equal(s.why.text, "not this one");
	assert_int_equal(submit(p, &t, "SELECT 1", 0), -EHOSTDOWN);
	atomic_store(&up_result, 0);
	wait_state(p, true);
	close_pool(p);
}

static void stop_all(int signal)
{
	char command[256];

	/* the postmaster and its children work in the database's folder */
	snprintf(command, sizeof(command),
		 "for p in /proc/[0-9]*; do [ \"$(readlink $p/cwd)\" = %s/pg/data ] && "
		 "kill -%d ${p#/proc/}; done; true",
		 server.dir, signal);
	assert_int_equal(system(command), 0);
}

static void server_that_hangs_is_away(void **state)
{
	struct pg_pool *p = open_pool(2, 0);
	struct task t;

	(void)state;
	assert_true(pg_pool_wait(p, 60000));
	stop_all(SIGSTOP);
	/* the job is not kept waiting, and the next ones are refused */
	assert_int_equal(submit(p, &t, "SELECT 1", 500), 0);
	wait_done(&t);
	assert_int_equal(t.rc, -EHOSTDOWN);
	wait_state(p, false);
	stop_all(SIGCONT);
	wait_state(p, true);
	assert_int_equal(submit(p, &t, "SELECT 1", 0), 0);
	wait_done(&t);
	assert_int_equal(t.rc, 0);
	close_pool(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_run_on_several_connections),
		cmocka_unit_test(full_queue_is_said_at_once),
		cmocka_unit_test(deadlines_are_kept),
		cmocka_unit_test(stop_ends_every_job_once),
		cmocka_unit_test(one_cut_connection_is_not_the_end_of_all),
		cmocka_unit_test(database_that_is_refused_stays_down_with_the_reason),
		cmocka_unit_test(jobs_fail_at_once_while_the_database_is_away),
		cmocka_unit_test(server_that_hangs_is_away),
	};

	if (!pg_server_start(&server, ""))
		return 0;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	pg_server_stop(&server);
	return rc;
}
