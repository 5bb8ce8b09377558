/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked before anybody waits for it: a user's other units with the first, those
 * who wait together, and what is in use before it is too old. None of it opens what a
 * question of its own would not. */
#include "lb/gate/gate.h"
#include "lb/gate/gate_impl.h"
#include "lb/gate/ownership_impl.h"

#include <unistd.h>

#include "test/unit/gate_lab.h"

#define HOUR_MS (60 * LAB_MINUTE_MS)
#define NOW LAB_NOW_MS
#define MANY 300

static const struct lab_run runs[] = {
	{"1", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
	{"2", "alpha", "ann", NOW - 10 * HOUR_MS, NOW - 5 * HOUR_MS},
	{"3", "alpha", "bob", NOW - HOUR_MS, INT64_MAX},
	{"4", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
	{"7", "beta", "ann", NOW - HOUR_MS, INT64_MAX},
};
#define RUNS (sizeof(runs) / sizeof(runs[0]))

static unsigned asked_by(struct lab *l)
{
	pthread_mutex_lock(&l->mutex);
	unsigned n = l->asked;
	pthread_mutex_unlock(&l->mutex);
	return n;
}

static unsigned query_unit(struct lab *l, const char *user, const char *id,
			   struct lab_asked *ret)
{
	char expr[64];

	snprintf(expr, sizeof(expr), "ceems_a{uuid=\"%s\"}", id);
	return lab_query(l, user, expr, ret);
}

static void the_first_question_of_a_user_brings_the_other_units(void **state)
{
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.latest = true;
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	assert_int_equal(a.waits, 1);
	assert_int_equal(query_unit(&l, "ann", "2", &a), 0);
	assert_int_equal(query_unit(&l, "ann", "4", &a), 0);
	assert_int_equal(a.waits, 0);
	assert_int_equal(asked_by(&l), 1);
	/* of another cluster nothing was said */
	assert_int_equal(query_unit(&l, "ann", "7", &a), 403);
	assert_int_equal(asked_by(&l), 2);
	lab_close(&l);
}

static void what_one_user_is_told_is_nobody_elses(void **state)
{
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.latest = true;
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	assert_int_equal(query_unit(&l, "bob", "2", &a), 403);
	assert_int_equal(a.waits, 1);
	assert_int_equal(query_unit(&l, "ann", "3", &a), 403);
	assert_int_equal(query_unit(&l, "bob", "3", &a), 0);
	lab_close(&l);
	/* an answer that is about somebody else's brings nothing */
	lab_open(&l, runs, RUNS);
	l.latest = true;
	l.latest_user = "bob";
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	assert_int_equal(query_unit(&l, "ann", "3", &a), 403);
	assert_int_equal(a.waits, 1);
	lab_close(&l);
}

/* Ann's first unit, by a front end that says her number; NULL: it says none. */
static unsigned query_with_number(struct lab *l, const char *number)
{
	char form[64];
	struct lab_asked a = {.r = {.input = {.path = "/api/v1/query", .query = form},
				    .cluster_headers = 1,
				    .cluster_header = "alpha"}};

	lab_form("ceems_a{uuid=\"1\"}", form, sizeof(form));
	lab_user(&a, "ann");
	a.facts.uids = number ? 1 : 0;
	a.facts.uid = number;
	lab_pass(l, &a);
	return a.r.status;
}

static void a_login_with_another_number_is_somebody_else(void **state)
{
	static const char *const answers[] = {
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":[["
		"\"1\",0,null,false]]}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":[["
		"\"1\",0,null,true]]}]}"};
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.body = answers[1];
	assert_int_equal(query_with_number(&l, "1000"), 0);
	l.body = answers[0];
	assert_int_equal(query_with_number(&l, "2000"), 403);
	assert_int_equal(query_with_number(&l, NULL), 403);
	assert_int_equal(query_with_number(&l, "1000"), 0);
	lab_close(&l);
	/* nor is one refused for what the other one has not */
	lab_open(&l, runs, RUNS);
	l.body = answers[0];
	assert_int_equal(query_with_number(&l, "2000"), 403);
	l.body = answers[1];
	assert_int_equal(query_with_number(&l, "1000"), 0);
	lab_close(&l);
}

/* Another run of a number that is in the list closes its time all the same. */
static void a_run_of_somebody_else_closes_what_was_brought(void **state)
{
	static const char body[] =
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":[["
		"\"1\",0,"
		"null,true]],\"latest\":[[\"2\",0,1699999000000,true],[\"2\","
		"1699999900000,null,false],[\"\\\"{\",0,null,true]],\"user\":\"ann\"}]"
		"}";
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.body = body;
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	assert_int_equal(query_unit(&l, "ann", "2", &a), 403);
	assert_int_equal(a.waits, 0);
	assert_int_equal(lab_get(&l, "ann", "/api/v1/query",
				 "query=ceems_a%7Buuid%3D%222%22%7D&time=1699000000",
				 &a),
			 0);
	assert_int_equal(asked_by(&l), 1);
	lab_close(&l);
}

static struct lab_run *make_many(void)
{
	static char ids[MANY][8];
	struct lab_run *many = calloc(MANY, sizeof(*many));

	assert_non_null(many);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%u", 1000 + i);
		many[i] = (struct lab_run){ids[i], "alpha", "ann", NOW - HOUR_MS,
					   INT64_MAX};
	}
	return many;
}

static void who_has_many_units_is_told_of_more_step_by_step(void **state)
{
	struct lab_run *many = make_many();
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, many, MANY);
	l.latest = true;
	assert_int_equal(query_unit(&l, "ann", "1000", &a), 0);
	assert_int_equal(l.latest_asked, 64);
	assert_int_equal(query_unit(&l, "ann", "1063", &a), 0);
	assert_int_equal(asked_by(&l), 1);
	/* not among them: it is asked for by its name, and more with it */
	assert_int_equal(query_unit(&l, "ann", "1299", &a), 0);
	assert_int_equal(l.latest_asked, 256);
	assert_int_equal(query_unit(&l, "ann", "1255", &a), 0);
	assert_int_equal(asked_by(&l), 2);
	assert_int_equal(query_unit(&l, "ann", "1256", &a), 0);
	assert_int_equal(l.latest_asked, 1000);
	/* all are known now: what is not is not hers, and asked for alone */
	assert_int_equal(query_unit(&l, "ann", "1280", &a), 0);
	assert_int_equal(asked_by(&l), 3);
	assert_int_equal(query_unit(&l, "ann", "5", &a), 403);
	assert_int_equal(l.latest_asked, 0);
	lab_close(&l);
	free(many);
}

static void what_is_brought_is_bounded_with_the_rest(void **state)
{
	struct lab_run *many = make_many();
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, many, MANY);
	l.latest = true;
	l.site.limits.cache_entries = 256;
	gate_set_site(l.gate, &l.site);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(query_unit(&l, "ann", many[i].id, &a), 0);
		assert_true(l.latest_asked <= 4);
	}
	assert_true(lru_state(l.gate->ownership->units).entries <= 256 + 16);
	/* where there is no room nothing is asked besides */
	l.site.limits.cache_entries = 1;
	gate_set_site(l.gate, &l.site);
	assert_int_equal(query_unit(&l, "ann", "1000", &a), 0);
	assert_int_equal(l.latest_asked, 0);
	lab_close(&l);
	free(many);
}

/* ---- those who wait -------------------------------------------------------------- */

struct waiting {
	struct lab_asked a;
	atomic_uint woken;
};

static void note_woken(void *arg)
{
	struct waiting *w = arg;

	atomic_fetch_add(&w->woken, 1);
}

static void begin_query(struct lab *l, struct waiting *w, const char *user,
			const char *form)
{
	*w = (struct waiting){
		.a = {.r = {.input = {.path = "/api/v1/query", .query = form},
			    .facts = &w->a.facts,
			    .cluster_headers = 1,
			    .cluster_header = "alpha",
			    .wake = note_woken,
			    .arg = w}}};
	lab_user(&w->a, user);
	assert_int_equal(gate_pass(l->gate, &w->a.r), GATE_WAIT);
}

static void finish_query(struct lab *l, struct waiting *w, unsigned status)
{
	for (;;) {
		for (int i = 0; i < 60000 && !atomic_load(&w->woken); i++)
			usleep(1000);
		assert_int_equal(atomic_exchange(&w->woken, 0), 1);
		if (gate_pass(l->gate, &w->a.r) == GATE_DONE)
			break;
	}
	assert_int_equal(w->a.r.status, status);
	gate_end(l->gate, &w->a.r);
}

static void those_of_a_user_who_wait_are_asked_for_together(void **state)
{
	static const struct {
		const char *form;
		unsigned status;
	} all[] = {
		{"query=ceems_a%7Buuid%3D%221%22%7D", 0},
		{"query=ceems_a%7Buuid%3D%222%22%7D", 0},
		{"query=ceems_a%7Buuid%3D%223%22%7D", 403},
		{"query=ceems_a%7Buuid%3D%224%22%7D", 0},
		{"query=ceems_b%7Buuid%3D~%221%7C2%22%7D", 0},
		{"query=ceems_b%7Buuid%3D~%224%7C3%22%7D", 403},
		{"query=ceems_b%7Buuid%3D%225%22%7D", 403},
	};
	enum { ALL = sizeof(all) / sizeof(all[0]) };
	struct waiting w[ALL];
	struct lab l;

	(void)state;
	for (int latest = 0; latest < 2; latest++) {
		lab_open(&l, runs, RUNS);
		l.latest = latest;
		pthread_mutex_lock(&l.mutex); /* the aggregator takes its time */
		for (unsigned i = 0; i < ALL; i++)
			begin_query(&l, &w[i], "ann", all[i].form);
		pthread_mutex_unlock(&l.mutex);
		for (unsigned i = 0; i < ALL; i++)
			finish_query(&l, &w[i], all[i].status);
		/* one, if its thread was late; else the rest are a second */
		assert_true(asked_by(&l) <= 2);
		lab_close(&l);
	}
}

/* ---- before it is too old -------------------------------------------------------- */

static void wait_for_asked(struct lab *l, unsigned n)
{
	for (int i = 0; i < 60000 && asked_by(l) < n; i++)
		usleep(1000);
	assert_true(asked_by(l) >= n);
}

/* What was asked has been taken down. */
static void wait_until_idle(struct lab *l)
{
	struct ownership_cache *o = l->gate->ownership;
	bool idle = false;

	for (int i = 0; i < 60000 && !idle; i++) {
		pthread_mutex_lock(&o->mutex);
		idle = !o->asking;
		pthread_mutex_unlock(&o->mutex);
		usleep(1000);
	}
	assert_true(idle);
}

static void what_is_in_use_is_asked_for_again_before_it_is_too_old(void **state)
{
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	lab_wait_ms(&l, 44999);
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	assert_int_equal(asked_by(&l), 1);
	lab_wait_ms(&l, 1);
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	assert_int_equal(a.waits, 0);
	wait_for_asked(&l, 2);
	wait_until_idle(&l);
	/* the first answer's end is nobody's business any more */
	lab_wait_ms(&l, 15000);
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	assert_int_equal(a.waits, 0);
	lab_close(&l);
}

static void a_right_that_was_taken_away_ends_with_it(void **state)
{
	static const struct lab_run after[] = {
		{"1", "alpha", "bob", NOW - HOUR_MS, INT64_MAX},
	};
	unsigned status = 0;
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	pthread_mutex_lock(&l.mutex);
	l.runs = after;
	l.run_count = 1;
	pthread_mutex_unlock(&l.mutex);
	lab_wait_ms(&l, 50000);
	/* the answer is 10 seconds from its end */
	for (int i = 0; i < 60000 && status == 0; i++) {
		status = query_unit(&l, "ann", "1", &a);
		usleep(1000);
	}
	assert_int_equal(status, 403);
	lab_close(&l);
}

static void an_aggregator_that_is_away_is_not_asked_by_each_request(void **state)
{
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	pthread_mutex_lock(&l.mutex);
	l.fail = -EHOSTDOWN;
	pthread_mutex_unlock(&l.mutex);
	lab_wait_ms(&l, 50000);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(query_unit(&l, "ann", "1", &a), 0);
	gate_stop(l.gate);
	assert_true(asked_by(&l) <= 2);
	lab_close(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_question_of_a_user_brings_the_other_units),
		cmocka_unit_test(what_one_user_is_told_is_nobody_elses),
		cmocka_unit_test(a_login_with_another_number_is_somebody_else),
		cmocka_unit_test(a_run_of_somebody_else_closes_what_was_brought),
		cmocka_unit_test(who_has_many_units_is_told_of_more_step_by_step),
		cmocka_unit_test(what_is_brought_is_bounded_with_the_rest),
		cmocka_unit_test(those_of_a_user_who_wait_are_asked_for_together),
		cmocka_unit_test(
			what_is_in_use_is_asked_for_again_before_it_is_too_old),
		cmocka_unit_test(a_right_that_was_taken_away_ends_with_it),
		cmocka_unit_test(
			an_aggregator_that_is_away_is_not_asked_by_each_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
