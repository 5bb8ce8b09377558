/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proof of what newer versions of PromQL have: modifiers that read more time,
 * durations that are expressions, what is filled in, selectors without a name. */
#include "lb/promql/access.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

#define MINUTE_MS 60000ll
#define LOOKBACK_MS (5 * MINUTE_MS)
#define START_MS 1700000000000ll
#define END_MS (START_MS + 60 * MINUTE_MS)
#define STEP_MS 30000ll

static const struct access_family families[] = {
	{"ceems_*", "uuid", false},
	{"up", NULL, false},
};
static const struct access_policy policy = {
	.families = families,
	.family_count = sizeof(families) / sizeof(families[0]),
	.lookback_ms = LOOKBACK_MS,
};

struct asked {
	struct promql *q;
	struct access_plan *plan;
	struct err err;
};

static int ask_newest(struct asked *a, const char *text)
{
	a->err.text[0] = '\0';
	if (promql_parse(text, strlen(text), PROMQL_NEWEST, NULL, &a->q, &a->err))
		fail_msg("%s: %s", text, a->err.text);
	assert_int_equal(access_plan_new(&policy, &a->plan), 0);
	return promql_fix_durations(a->q, END_MS - START_MS, STEP_MS, &a->err)
		       ?: access_plan_add(a->plan, a->q, START_MS, END_MS, &a->err);
}

static void drop_asked(struct asked *a)
{
	access_plan_free(a->plan);
	promql_free(a->q);
}

/* ids: those that must be own, each once */
static void claims_are(const char *text, const char *ids)
{
	struct asked a = {NULL};
	auto_buf struct buf got = BUF_INIT;
	size_t n = 0;

	if (ask_newest(&a, text))
		fail_msg("%s: %s", text, a.err.text);
	const struct access_claim *c = access_claims(a.plan, &n);
	buf_puts(&got, "");
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_putc(&got, ' ');
		buf_put(&got, c[i].id.p, c[i].id.len);
	}
	if (strcmp(n ? got.data : "", ids) != 0)
		fail_msg("%s claims %s", text, n ? got.data : "nothing");
	drop_asked(&a);
}

static void is_refused(const char *text, const char *why)
{
	struct asked a = {NULL};
	int rc = ask_newest(&a, text);

	if (rc != -EACCES && rc != -EINVAL && rc != -ERANGE)
		fail_msg("not refused: %s (%d)", text, rc);
	if (!strstr(a.err.text, why))
		fail_msg("%s: %s", text, a.err.text);
	drop_asked(&a);
}

/* What unit 1 is claimed for: at least [from, to], and a second more at most */
static void check_span(const char *text, int64_t from_ms, int64_t to_ms)
{
	struct asked a = {NULL};
	int64_t from, to;

	if (ask_newest(&a, text))
		fail_msg("%s: %s", text, a.err.text);
	assert_true(access_span(a.plan, &from, &to));
	if (from > from_ms || from < from_ms - 1000 || to < to_ms || to > to_ms + 1000)
		fail_msg("%s reads from start%+lld to end%+lld ms", text,
			 (long long)(from - START_MS), (long long)(to - END_MS));
	drop_asked(&a);
}

#define X "ceems_x{uuid=\"1\"}"

static void anchored_and_smoothed_read_the_lookback_too(void **state)
{
	(void)state;
	check_span("rate(" X "[10m])", START_MS - 10 * MINUTE_MS, END_MS);
	check_span("rate(" X "[10m] anchored)", START_MS - 15 * MINUTE_MS, END_MS);
	check_span("rate(" X "[10m] smoothed)", START_MS - 15 * MINUTE_MS,
		   END_MS + LOOKBACK_MS);
	check_span(X " smoothed", START_MS - 2 * LOOKBACK_MS, END_MS + LOOKBACK_MS);
	check_span(X " anchored", START_MS - 2 * LOOKBACK_MS, END_MS);
	check_span("rate(" X "[10m] smoothed offset 1h)", START_MS - 75 * MINUTE_MS,
		   END_MS - 55 * MINUTE_MS);
	check_span("rate(" X "[10m] smoothed @ end())", END_MS - 15 * MINUTE_MS,
		   END_MS + LOOKBACK_MS);
	check_span("max_over_time((" X " smoothed)[1h:1m])", START_MS - 70 * MINUTE_MS,
		   END_MS + LOOKBACK_MS);
	check_span("timestamp(" X " smoothed @ start())", START_MS - 2 * LOOKBACK_MS,
		   START_MS + LOOKBACK_MS);
}

static void start_timestamp_forgets_an_offset_as_timestamp_does(void **state)
{
	(void)state;
	check_span("start_timestamp(" X " @ start() offset 1h)",
		   START_MS - 65 * MINUTE_MS, START_MS);
	check_span("start_timestamp((" X " @ start() offset -1h))",
		   START_MS - 5 * MINUTE_MS, START_MS + 60 * MINUTE_MS);
}

static void a_computed_duration_reads_as_far_as_it_comes_to(void **state)
{
	(void)state;
	check_span("rate(" X "[step() + 10m])", START_MS - 10 * MINUTE_MS - STEP_MS,
		   END_MS);
	check_span("rate(" X "[range() * 2])", START_MS - 120 * MINUTE_MS, END_MS);
	check_span(X " offset (range() * 24)",
		   START_MS - 1440 * MINUTE_MS - LOOKBACK_MS,
		   END_MS - 1440 * MINUTE_MS);
	check_span(X " offset -range()", START_MS + 55 * MINUTE_MS,
		   END_MS + 60 * MINUTE_MS);
	check_span(X " offset max_of(1h, 2h)", START_MS - 125 * MINUTE_MS,
		   END_MS - 120 * MINUTE_MS);
	check_span("max_over_time(" X "[2 ^ 10 * 60:step()] offset (1h - 5m))",
		   START_MS - (1024 + 55 + 5) * MINUTE_MS, END_MS - 55 * MINUTE_MS);
	is_refused(X " offset (10 ^ 9 * 9)", "further than a century");
	is_refused("rate(" X "[10 ^ 10 * 1])", "out of range");
	is_refused("rate(" X "[1m - 2m])", "greater than 0");
}

static void a_duration_that_was_not_worked_out_is_refused(void **state)
{
	static const char *const texts[] = {
		"rate(" X "[5m + 0])",
		X " offset (0)",
		"max_over_time(" X "[(5m):1m])",
		"max_over_time(" X "[5m:(1m)])",
		"max_over_time(" X "[5m:1m] offset (0))",
		"rate(" X "[5m] offset (0))",
		"timestamp(" X " @ 5 offset (0))",
		"sum(1 + max_over_time(rate(" X "[step()])[5m:]))",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct asked a = {NULL};

		assert_int_equal(promql_parse(texts[i], strlen(texts[i]), PROMQL_NEWEST,
					      NULL, &a.q, &a.err),
				 0);
		assert_int_equal(access_plan_new(&policy, &a.plan), 0);
		assert_int_equal(access_plan_add(a.plan, a.q, START_MS, END_MS, &a.err),
				 -EACCES);
		drop_asked(&a);
	}
}

/* A proof for one time is none for another one where ranges follow from the times. */
static void what_depends_on_the_times_is_not_remembered(void **state)
{
	static const struct {
		const char *text;
		bool depends;
	} rows[] = {
		{"rate(" X "[5m])", false},
		{"rate(" X "[5m * 2])", false},
		{"rate(" X "[step()])", true},
		{X " offset range()", true},
		{"max_over_time(" X "[1h:min_of(1m, step())])", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct asked a = {NULL};

		assert_int_equal(ask_newest(&a, rows[i].text), 0);
		assert_int_equal(access_time_ranges(a.plan)->count >
					 ACCESS_TIME_RANGES_MAX,
				 rows[i].depends);
		drop_asked(&a);
	}
}

static void both_sides_of_new_operators_are_proved(void **state)
{
	(void)state;
	claims_are(X " + fill (0) ceems_y{uuid=\"2\"}", "1 2");
	claims_are(X " </ ceems_y{uuid=\"2\"}", "1 2");
	claims_are(X " + on () group_left () fill_right (5) ceems_y{uuid=\"2\"}",
		   "1 2");
	is_refused(X " + fill (0) ceems_y", "without naming them");
	is_refused("ceems_y >/ " X, "without naming them");
	is_refused(X " + on () fill_left (0) ceems_y{uuid=~\".*\"}",
		   "without naming them");
}

static void new_functions_hide_no_selector(void **state)
{
	static const char *const calls[] = {
		"histogram_quantiles(ceems_x, \"q\", 0.5)",
		"first_over_time(ceems_x[5m])",
		"integral(ceems_x[5m])",
		"sort_by_label(ceems_x, \"uuid\")",
		"limitk(1, ceems_x)",
		"limitk(scalar(ceems_x), up)",
		"limit_ratio(0.5, ceems_x)",
		"max_of(scalar(ceems_x), 1)",
		"start_timestamp(ceems_x @ 5)",
		"ts_of_first_over_time(ceems_x[5m] smoothed)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		is_refused(calls[i], "without naming them");
	claims_are("vector(start() + end() * step() - range())", "");
	claims_are("histogram_quantiles(" X ", \"q\", 0.5, 0.9)", "1");
	claims_are("min_of(scalar(" X "), scalar(ceems_y{uuid=\"2\"}))", "1 2");
}

static void info_brings_no_series_of_others(void **state)
{
	(void)state;
	is_refused("info(" X ")", "info() reads metrics");
	is_refused("info(" X ", {})", "info() reads metrics");
	is_refused("1 + sum(info(" X ", {__name__=\"ceems_y\",uuid=\"1\"}))",
		   "info() reads metrics");
}

static void a_selector_of_quoted_names_must_name_metric_and_units(void **state)
{
	(void)state;
	claims_are("{\"ceems_x\", \"uuid\"=\"1\"}", "1");
	is_refused("{\"ceems_x\"}", "without naming them");
	is_refused("{\"uuid\"=\"1\"}", "names no metric");
	is_refused("{\"ceems_x\", \"uuid\"!=\"1\"}", "without naming them");
	is_refused("{\"ceems_x\", \"uuid\"=~\"1|\"}", "without naming them");
	is_refused("{\"node_load1\", \"uuid\"=\"1\"}", "this metric may not be read");
	is_refused("{\"a b\"=\"c\", uuid=\"1\"}", "names no metric");
}

/* What the parser may learn one day and the proof does not know */
static void a_part_that_is_not_known_is_refused(void **state)
{
	struct promql_node other = {.kind = PROMQL_SELECTOR};
	struct asked a = {NULL}, b = {NULL}, c = {NULL};

	(void)state;
	assert_int_equal(ask_newest(&a, X), 0);
	promql_root(a.q)->kind = (enum promql_kind)99;
	assert_int_equal(access_plan_add(a.plan, a.q, START_MS, END_MS, &a.err),
			 -EACCES);
	promql_root(a.q)->kind = PROMQL_DURATION_CALL;
	assert_int_equal(access_plan_add(a.plan, a.q, START_MS, END_MS, &a.err),
			 -EACCES);
	assert_int_equal(ask_newest(&b, X), 0);
	promql_root(b.q)->extent = (enum promql_extent)99;
	assert_int_equal(access_plan_add(b.plan, b.q, START_MS, END_MS, &b.err),
			 -EACCES);
	assert_int_equal(ask_newest(&c, X " + " X), 0);
	promql_root(c.q)->fill_right = &other;
	assert_int_equal(access_plan_add(c.plan, c.q, START_MS, END_MS, &c.err),
			 -EACCES);
	drop_asked(&a);
	drop_asked(&b);
	drop_asked(&c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchored_and_smoothed_read_the_lookback_too),
		cmocka_unit_test(start_timestamp_forgets_an_offset_as_timestamp_does),
		cmocka_unit_test(a_computed_duration_reads_as_far_as_it_comes_to),
		cmocka_unit_test(a_duration_that_was_not_worked_out_is_refused),
		cmocka_unit_test(what_depends_on_the_times_is_not_remembered),
		cmocka_unit_test(both_sides_of_new_operators_are_proved),
		cmocka_unit_test(new_functions_hide_no_selector),
		cmocka_unit_test(info_brings_no_series_of_others),
		cmocka_unit_test(a_selector_of_quoted_names_must_name_metric_and_units),
		cmocka_unit_test(a_part_that_is_not_known_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
