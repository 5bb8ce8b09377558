/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rule by which an answer opens or refuses, how answers are read, what is
 * remembered. */
#include "lb/gate/ownership.h"

#include "lb/gate/lru.h"
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define MIN 60000ll
#define NOW 1700000000000ll
#define OPEN_END INT64_MAX

static const struct ownership_rules rules = {.ownership_ms = 60000,
					     .unknown_ms = 5000,
					     .linger_ms = 5 * MIN,
					     .skew_ms = OWNERSHIP_SKEW_MS};

struct when {
	int64_t age_ms, from_ms, to_ms;
};

static enum access_answer judge_runs(const struct ownership_run *runs, size_t n,
				     struct when w)
{
	const struct ownership_answer_time t = {
		.age_ms = w.age_ms, .as_of_ms = NOW - w.age_ms, .now_ms = NOW};

	return ownership_judge(&rules, runs, n, &t, w.from_ms, w.to_ms);
}

static void a_running_unit_of_mine_is_open_for_as_long_as_an_answer_holds(void **state)
{
	const struct ownership_run mine[] = {{NOW - 60 * MIN, OPEN_END, true}};

	(void)state;
	assert_int_equal(judge_runs(mine, 1, (struct when){0, NOW - MIN, NOW}),
			 ACCESS_OWN);
	assert_int_equal(judge_runs(mine, 1, (struct when){59999, NOW - MIN, NOW}),
			 ACCESS_OWN);
	assert_int_equal(judge_runs(mine, 1, (struct when){60000, NOW - MIN, NOW}),
			 ACCESS_UNASKED);
	/* a range wider than the unit */
	assert_int_equal(judge_runs(mine, 1, (struct when){0, 0, NOW + 9000 * MIN}),
			 ACCESS_OWN);
}

static void what_refuses_is_asked_again_soon(void **state)
{
	const struct ownership_run other[] = {{NOW - 60 * MIN, OPEN_END, false}};

	(void)state;
	assert_int_equal(judge_runs(NULL, 0, (struct when){4999, NOW, NOW}),
			 ACCESS_UNKNOWN);
	assert_int_equal(judge_runs(NULL, 0, (struct when){5000, NOW, NOW}),
			 ACCESS_UNASKED);
	assert_int_equal(judge_runs(other, 1, (struct when){4999, NOW, NOW}),
			 ACCESS_FOREIGN);
	assert_int_equal(judge_runs(other, 1, (struct when){5000, NOW, NOW}),
			 ACCESS_UNASKED);
	/* one that never was mine is not mine at any time */
	assert_int_equal(judge_runs(other, 1, (struct when){0, 0, NOW - 600 * MIN}),
			 ACCESS_FOREIGN);
}

static void a_number_that_is_used_again_is_told_apart_by_time(void **state)
{
	const struct ownership_run both[] = {
		{NOW - 9000 * MIN, NOW - 8000 * MIN, false},
		{NOW - 60 * MIN, OPEN_END, true},
	};

	(void)state;
	assert_int_equal(judge_runs(both, 2, (struct when){0, NOW - 60 * MIN, NOW}),
			 ACCESS_OWN);
	assert_int_equal(judge_runs(both, 2, (struct when){0, NOW - 8000 * MIN, NOW}),
			 ACCESS_FOREIGN);
	/* its series are there for the linger, and clocks differ */
	assert_int_equal(judge_runs(both, 2, (struct when){0, NOW - 7994 * MIN, NOW}),
			 ACCESS_FOREIGN);
	assert_int_equal(judge_runs(both, 2, (struct when){0, NOW - 7993 * MIN, NOW}),
			 ACCESS_OWN);
	assert_int_equal(
		judge_runs(both, 2,
			   (struct when){0, NOW - 99000 * MIN, NOW - 9001 * MIN}),
		ACCESS_FOREIGN);
	assert_int_equal(
		judge_runs(both, 2,
			   (struct when){0, NOW - 99000 * MIN, NOW - 9002 * MIN}),
		ACCESS_OWN);
}

/* The hole of a cache: "ended long ago, mine" says nothing of who has the number now.
 */
static void
an_answer_whose_runs_are_over_does_not_vouch_for_what_came_after(void **state)
{
	const struct ownership_run mine[] = {{NOW - 600 * MIN, NOW - 500 * MIN, true}};

	(void)state;
	/* time that the answer knows: it holds */
	assert_int_equal(
		judge_runs(mine, 1,
			   (struct when){59999, NOW - 600 * MIN, NOW - 400 * MIN}),
		ACCESS_OWN);
	assert_int_equal(
		judge_runs(mine, 1, (struct when){59999, NOW - 600 * MIN, NOW - 59999}),
		ACCESS_OWN);
	/* time after it: somebody may have the number since */
	assert_int_equal(
		judge_runs(mine, 1, (struct when){59999, NOW - 600 * MIN, NOW}),
		ACCESS_UNASKED);
	assert_int_equal(judge_runs(mine, 1, (struct when){5000, NOW - 600 * MIN, NOW}),
			 ACCESS_UNASKED);
	assert_int_equal(judge_runs(mine, 1, (struct when){4999, NOW - 600 * MIN, NOW}),
			 ACCESS_OWN);
	/* what is to come is not there yet: it is as good as now */
	assert_int_equal(judge_runs(mine, 1, (struct when){0, 0, NOW + 90000 * MIN}),
			 ACCESS_OWN);
	assert_int_equal(judge_runs(mine, 1, (struct when){6000, 0, NOW + 90000 * MIN}),
			 ACCESS_UNASKED);
}

static void many_runs_are_taken_together_and_never_open_more(void **state)
{
	struct ownership_run runs[100];

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		runs[i] = (struct ownership_run){(int64_t)i * MIN * 100,
						 (int64_t)i * MIN * 100 + MIN, true};
	assert_int_equal(ownership_fold(runs, 32), 32);
	assert_int_equal(ownership_fold(runs, 100), 1);
	assert_true(runs[0].own && runs[0].from_ms == 0);
	for (unsigned i = 0; i < 100; i++)
		runs[i] = (struct ownership_run){(int64_t)i * MIN * 100,
						 (int64_t)i * MIN * 100 + MIN, i != 50};
	size_t n = ownership_fold(runs, 100);
	assert_int_equal(n, 2);
	assert_int_equal(judge_runs(runs, n, (struct when){0, 0, 0}), ACCESS_FOREIGN);
	assert_int_equal(judge_runs(runs, n, (struct when){0, NOW - MIN, NOW}),
			 ACCESS_OWN);
	for (unsigned i = 0; i < 100; i++)
		runs[i] = (struct ownership_run){0, OPEN_END, false};
	assert_int_equal(ownership_fold(runs, 100), 1);
	assert_int_equal(judge_runs(runs, 1, (struct when){0, NOW, NOW}),
			 ACCESS_FOREIGN);
}

static void times_at_the_ends_of_numbers_do_no_harm(void **state)
{
	const struct ownership_run odd[] = {{INT64_MIN, INT64_MIN + 1, false},
					    {INT64_MAX, INT64_MAX, true}};

	(void)state;
	assert_int_equal(judge_runs(odd, 2, (struct when){0, INT64_MIN, INT64_MAX}),
			 ACCESS_FOREIGN);
	assert_int_equal(judge_runs(odd, 2, (struct when){0, INT64_MAX, INT64_MAX}),
			 ACCESS_OWN);
}

/* ---- answers --------------------------------------------------------------------- */

#define ROWS(rows)                                                                     \
	"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":[" rows "]}]}"

static const struct str asked[] = {{"1", 1}, {"12", 2}, {"a.b", 3}};

static int take_rows(const char *text, struct ownership_answer *a)
{
	auto_buf struct buf b = BUF_INIT;
	struct err err;

	buf_puts(&b, text);
	return ownership_answer_read(&b, asked, 3, "ann", a, &err);
}

static void rows_in_any_order_are_one_units(void **state)
{
	struct ownership_answer a = {.role = OWNERSHIP_USER};
	auto_buf struct buf list = BUF_INIT;

	(void)state;
	assert_int_equal(take_rows(ROWS("[\"12\",5,9,true],[\"1\",1,null,false],"
					"[\"12\",20,10,false],[\"12\",1,2,true]"),
				   &a),
			 0);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.units[0].count, 1);
	assert_true(a.units[0].runs[0].to_ms == INT64_MAX);
	assert_false(a.units[0].runs[0].own);
	assert_int_equal(a.units[1].count, 3);
	assert_int_equal(a.units[2].count, 0);
	for (size_t i = 0; i < 3; i++)
		assert_true(a.units[1].runs[i].from_ms <= a.units[1].runs[i].to_ms);
	ownership_answer_done(&a);
	/* however its id is written, and whatever else is there */
	buf_puts(&list, " {\"more\":{\"x\":[1.5e3,\"\\n\"]},\"data\":[{\"units\": ["
			"[\"b\",1,2,true], [\"a\",1,2,true,\"x\"],"
			"[\"\\u0062\",3,4,false]],\"role\":\"admin\"}],"
			"\"status\":\"success\"}\n");
	assert_int_equal(ownership_answer_read(&list, NULL, 0, NULL, &a, NULL), 0);
	assert_int_equal(a.role, OWNERSHIP_ADMIN);
	assert_int_equal(a.count, 2);
	assert_true(str_eq(a.units[1].id, "b"));
	assert_int_equal(a.units[1].count, 2);
	ownership_answer_done(&a);
}

static void what_is_not_exactly_an_answer_is_none(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"<html></html>",
		"[]",
		"{}",
		"null",
		"{\"status\":\"success\"}",
		"{\"status\":\"error\",\"data\":[{\"role\":\"user\",\"units\":[]}]}",
		"{\"status\":\"success\",\"data\":[]}",
		"{\"status\":\"success\",\"data\":null}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\"}]}",
		"{\"status\":\"success\",\"data\":[{\"units\":[]}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"root\",\"units\":[]}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":1,\"units\":[]}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":{}}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":[]},{}]"
		"}",
		ROWS("[\"1\",1,2]"),
		ROWS("[\"1\",1,2,1]"),
		ROWS("[\"1\",1,2,\"true\"]"),
		ROWS("[\"1\",\"1\",2,true]"),
		ROWS("[\"1\",1.5,2,true]"),
		ROWS("[1,1,2,true]"),
		ROWS("[\"1\",null,2,true]"),
		ROWS("{}"),
		ROWS("null"),
		ROWS("[\"2\",1,2,true]"), /* nobody asked for it */
		ROWS("[\"1\",1,2,true]") "x",
		ROWS("[\"1\",1,2,true],"),
		ROWS("[\"1\",01,2,true]"),
		ROWS("[\"1\",9223372036854775808,2,true]"),
		ROWS("[\"1\\u0000\",1,2,true]"),
		ROWS("[\"1\\ud800\",1,2,true]"),
		ROWS("[\"1\",1,2,true,[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]"),
		/* said twice */
		"{\"status\":\"success\",\"status\":\"success\",\"data\":[{"
		"\"role\":\"user\",\"units\":[]}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"role\":"
		"\"admin\",\"units\":[]}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":[],"
		"\"units\":[[\"1\",1,2,true]]}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":[]}]"
		",\"data\":[{\"role\":\"user\",\"units\":[]}]}",
		"{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":[["
		"\"1\",1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ownership_answer a = {.role = OWNERSHIP_USER};

		if (take_rows(bad[i], &a) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_null(a.units);
	}
}

/* ---- what is remembered ---------------------------------------------------------- */

static void the_cache_is_bounded_and_forgets_in_time(void **state)
{
	struct lru *l = NULL;
	auto_buf struct buf v = BUF_INIT;
	unsigned there = 0;

	(void)state;
	assert_int_equal(lru_new(160, 1 << 20, &l), 0);
	for (uint32_t i = 0; i < 10000; i++)
		lru_put(l, &i, sizeof(i), "value", 5, 1000);
	assert_true(lru_state(l).entries <= 176);
	for (uint32_t i = 0; i < 10000; i++)
		there += lru_get(l, &i, sizeof(i), 999, &v);
	assert_true(there > 100 && there <= 176);
	for (uint32_t i = 0; i < 10000; i++)
		assert_false(lru_get(l, &i, sizeof(i), 1000, &v));
	assert_int_equal(lru_state(l).entries, 0);
	lru_put(l, "a", 1, "1", 1, 9);
	lru_put(l, "a", 1, "2", 1, 9);
	assert_true(lru_get(l, "a", 1, 1, &v));
	assert_string_equal(v.data, "2");
	/* too large to be kept: then the old one is not either */
	lru_limit(l, 10, 100);
	lru_put(l, "a", 1, v.data, 1, 9);
	assert_false(lru_get(l, "a", 1, 1, &v));
	lru_clear(l);
	lru_free(l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_running_unit_of_mine_is_open_for_as_long_as_an_answer_holds),
		cmocka_unit_test(what_refuses_is_asked_again_soon),
		cmocka_unit_test(a_number_that_is_used_again_is_told_apart_by_time),
		cmocka_unit_test(
			an_answer_whose_runs_are_over_does_not_vouch_for_what_came_after),
		cmocka_unit_test(many_runs_are_taken_together_and_never_open_more),
		cmocka_unit_test(times_at_the_ends_of_numbers_do_no_harm),
		cmocka_unit_test(rows_in_any_order_are_one_units),
		cmocka_unit_test(what_is_not_exactly_an_answer_is_none),
		cmocka_unit_test(the_cache_is_bounded_and_forgets_in_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
