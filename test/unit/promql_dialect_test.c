/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each version of Prometheus takes and refuses, one row for each construct that is
 * not in all of them; written from the releases' parsers. */
#include "lb/promql/promql.h"

#include <errno.h>
#include <string.h>

#include "test/promql_random.h"
#include "test/unit/unit.h"

static const int versions[][2] = {{2, 42}, {2, 46}, {2, 47}, {2, 49}, {2, 51}, {2, 53},
				  {2, 54}, {2, 55}, {3, 0},  {3, 3},  {3, 4},  {3, 5},
				  {3, 6},  {3, 7},  {3, 9},  {3, 10}, {3, 11}, {3, 12},
				  {3, 13}, {3, 14}, {3, 15}, {3, 16}};

/* major * 1000 + minor; until, flagged_until 0: for ever */
struct row {
	const char *text, *printed;
	int since, until;
	bool flagged;
	int flagged_until;
};

static const struct row rows[] = {
	{"histogram_stddev(foo)", NULL, 2047, 0, false, 0},
	{"histogram_stdvar(foo)", NULL, 2047, 0, false, 0},
	{"sort_by_label(foo, \"a\", \"b\")", NULL, 2049, 0, true, 0},
	{"sort_by_label_desc(foo, \"a\")", NULL, 2049, 0, true, 0},
	{"mad_over_time(foo[5m])", NULL, 2049, 0, true, 0},
	{"histogram_avg(foo)", NULL, 2051, 0, false, 0},
	{"{\"foo\", a=\"b\"}", "{__name__=\"foo\",a=\"b\"}", 2051, 0, false, 0},
	{"{\"a.b\"=\"c\"}", NULL, 2051, 0, false, 0},
	{"foo[300]", "foo[5m]", 2054, 0, false, 0},
	{"foo offset -1.5", "foo offset -1s500ms", 2054, 0, false, 0},
	{"foo @ 1m40s", "foo @ 100.000", 2054, 0, false, 0},
	{"foo > 5m", NULL, 2054, 0, false, 0},
	{"1_000", "1000", 2054, 0, false, 0},
	{"limitk(2, foo)", NULL, 2054, 0, true, 0},
	{"limit_ratio(-0.5, foo)", NULL, 2054, 0, true, 0},
	{"sum by (\"a\") (foo)", "sum by (a) (foo)", 2055, 0, false, 0},
	{"info(foo, {a=\"b\"})", NULL, 2055, 0, true, 0},
	{"sum by (\"a.b\") (foo)", NULL, 3000, 0, false, 0},
	{"holt_winters(foo[5m], 1, 1)", NULL, 2000, 3000, false, 0},
	{"double_exponential_smoothing(foo[5m], 1, 1)", NULL, 3000, 0, true, 0},
	{"foo[+5m]", "foo[5m]", 3004, 0, false, 0},
	{"ts_of_max_over_time(foo[5m])", NULL, 3005, 0, true, 0},
	{"first_over_time(foo[5m])", NULL, 3007, 0, true, 3014},
	{"ts_of_first_over_time(foo[5m])", NULL, 3007, 0, true, 0},
	{"histogram_quantiles(foo, \"q\", 0.5, 0.9)", NULL, 3011, 0, true, 0},
	{"start_timestamp(foo)", NULL, 3014, 0, true, 0},
	{"foo @ start()[5m]", "foo[5m] @ start()", 2000, 3015, false, 0},
	{"integral(foo[5m])", NULL, 3016, 0, true, 0},
	{"foo[5m + 1m]", NULL, 3004, 0, true, 3016},
	{"foo[-1m + 5m]", NULL, 3004, 0, true, 3016},
	{"foo[-2^2 * 3 % 5]", "foo[-2 ^ 2 * 3 % 5]", 3004, 0, true, 3016},
	{"foo[(5m):(1m)]", NULL, 3004, 0, true, 3016},
	{"foo offset (1h / 2)", "foo offset +(1h / 2)", 3004, 0, true, 3016},
	{"foo offset 5m * 2", NULL, 2042, 0, false, 0},
	{"foo[1h - 5m:3 * 10] @ 5", "foo[1h - 5m:3 * 10] @ 5.000", 3004, 0, true, 3016},
	{"foo[STEP()]", "foo[step()]", 3006, 0, true, 3016},
	{"foo offset -step() + 1", NULL, 3006, 0, true, 3016},
	{"rate(foo[5m] anchored)", NULL, 3007, 0, true, 3016},
	{"foo smoothed @ 5 offset 1m", "foo smoothed @ 5.000 offset 1m", 3007, 0, true,
	 3016},
	{"foo smoothed[5m]", "foo[5m] smoothed", 3007, 0, true, 3016},
	{"foo[range()]", NULL, 3010, 0, true, 3016},
	{"foo + fill (5) bar", NULL, 3010, 0, true, 0},
	{"foo + on (a) group_left () fill_right(-1) fill_left(2m) bar",
	 "foo + on (a) group_left () fill_left (2m) fill_right (-1) bar", 3010, 0, true,
	 0},
	{"foo </ 5", NULL, 3011, 0, false, 0},
	{"foo >/ on (a) bar", NULL, 3011, 0, false, 0},
	{"start() + end() - step() * range()", NULL, 3012, 0, true, 0},
	{"max_of(1, 2) + min_of(3, 4)", NULL, 3013, 0, true, 0},
	{"foo[min_of(step(), 5m)]", NULL, 3013, 0, true, 3016},
	{"foo offset -max_of(1m, 2)", NULL, 3013, 0, true, 3016},
	{"foo offset (1m) * 2 @ 5 % 3", "foo offset (1m) * 2 @ 5.000 % 3", 3004, 0,
	 true, 3016},
	{"foo @ 5 offset (1m) % 3", "foo offset (1m) % 3 @ 5.000", 3004, 0, true, 3016},
	{"foo offset (1m) * 2 smoothed % 3", NULL, 3007, 0, true, 3016},
	{"foo offset -(1m) % 3", NULL, 3004, 0, true, 3016},
	/* new words stay names */
	{"sum by (step, range, fill, smoothed, max_of) (anchored)", NULL, 2042, 0,
	 false, 0},
	{"step + range + min_of + fill + fill_left{smoothed=\"a\"}", NULL, 2042, 0,
	 false, 0},
};

static bool row_is_taken(const struct row *r, int version, bool flags)
{
	return version >= r->since && (!r->until || version < r->until) &&
	       (flags || !r->flagged ||
		(r->flagged_until && version >= r->flagged_until));
}

static void check_row(const struct row *r, const int v[2], bool flags)
{
	enum promql_dialect d = (enum promql_dialect)(PROMQL_VERSION(v[0], v[1]) |
						      (flags ? PROMQL_FLAGS : 0));
	auto_promql struct promql *q = NULL;
	auto_buf struct buf out = BUF_INIT;
	struct err err = {""};
	int rc = promql_parse(r->text, strlen(r->text), d, NULL, &q, &err);

	if (!rc != row_is_taken(r, v[0] * 1000 + v[1], flags))
		fail_msg("%s is %s for %d.%d%s: %s", r->text, rc ? "refused" : "taken",
			 v[0], v[1], flags ? " with flags" : "", err.text);
	if (rc)
		return;
	promql_print(q, &out);
	assert_string_equal(out.data, r->printed ? r->printed : r->text);
}

static void each_version_takes_what_it_knows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t k = 0; k < sizeof(versions) / sizeof(versions[0]); k++) {
			check_row(&rows[i], versions[k], false);
			check_row(&rows[i], versions[k], true);
		}
	}
}

static void what_is_not_known_is_refused_with_the_version_that_knows(void **state)
{
	static const struct {
		const char *text;
		int dialect;
		const char *part;
	} lines[] = {
		{"histogram_avg(foo)", PROMQL_2, "since 2.51, this is 2.42"},
		{"mad_over_time(foo[5m])", PROMQL_VERSION(3, 5),
		 "since 2.49 with --enable-feature=promql-experimental-functions"},
		{"holt_winters(foo[5m], 1, 1)", PROMQL_3, "removed in Prometheus 3.0"},
		{"{\"foo\"}", PROMQL_2, "a quoted name in braces: "},
		{"foo[300]", PROMQL_2,
		 "a number for a duration, or a duration for a number: Prometheus has "
		 "it since 2.54"},
		{"foo offset (1h)", PROMQL_2, "an expression: Prometheus has it since"},
		{"foo[5m + 1m]", PROMQL_2, "an expression: Prometheus has it since"},
		{"foo[5m * 2]", PROMQL_VERSION(3, 5),
		 "since 3.4 with --enable-feature=promql-duration-expr, this is 3.5"},
		{"rate(foo[5m] anchored)", PROMQL_2, "anchored and smoothed: "},
		{"foo + fill (0) bar", PROMQL_3, "fill: Prometheus has it since 3.10"},
		{"foo </ 5", PROMQL_3, "</ and >/: Prometheus has it since 3.11"},
		{"foo[step()]", PROMQL_3, "step(): Prometheus has it since 3.6"},
		{"max_of(1, 2)", PROMQL_3, "since 3.13"},
		{"limitk(1, foo)", PROMQL_VERSION(3, 0),
		 "limitk and limit_ratio: Prometheus has it since 2.54 with"},
		{"first_over_time(foo[5m])", PROMQL_VERSION(3, 7),
		 "since 3.7 with --enable-feature="},
		{"nosuch(foo)", PROMQL_3, "unknown function with name \"nosuch\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		auto_promql struct promql *q = NULL;
		struct err err = {""};
		enum promql_dialect d = (enum promql_dialect)lines[i].dialect;

		assert_int_equal(promql_parse(lines[i].text, strlen(lines[i].text), d,
					      NULL, &q, &err),
				 -EINVAL);
		if (!strstr(err.text, lines[i].part))
			fail_msg("%s: %s", lines[i].text, err.text);
	}
}

static void what_no_version_takes_is_refused(void **state)
{
	static const char *const bad[] = {
		"foo[5m / 0]",
		"foo[5m % 0]",
		"foo[0 - ]",
		"foo[step]",
		"foo[step(1)]",
		"foo[time()]",
		"foo[bar]",
		"foo[min_of(1)]",
		"foo[5m == 5m]",
		"foo[(5m]",
		"foo[5m)]",
		"foo[-5m]",
		"foo[:5m]",
		"foo[1e300]",
		"foo offset nan",
		"foo offset (nan)",
		"foo offset --5m",
		"foo offset (1m) + bar",
		"foo @ step()",
		"foo[5m:1m] anchored",
		"(foo) smoothed",
		"rate(foo[5m]) anchored",
		"foo anchored smoothed",
		"1 smoothed",
		"foo + fill (bar) bar",
		"foo + fill () bar",
		"foo + fill (1) fill_left (1) bar",
		"foo + fill_left (1) fill_left (1) bar",
		"foo + fill (1) 5",
		"foo and fill (1) bar",
		"1 + fill (1) 2",
		"fill (foo)",
		"foo </ bool 5",
		"foo < / 5",
		"\"a\" </ 5",
		"start(foo)",
		"max_of(foo, 1)",
		"histogram_quantiles(foo, \"q\")",
		"integral(foo)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_promql struct promql *q = NULL;
		struct err err = {""};

		if (promql_parse(bad[i], strlen(bad[i]), PROMQL_NEWEST, NULL, &q,
				 &err) != -EINVAL)
			fail_msg("%s is taken", bad[i]);
		assert_true(err.text[0]);
	}
}

static void check_fixed(const char *text, int64_t range_ms, int64_t step_ms,
			const char *want)
{
	auto_promql struct promql *q = NULL;
	auto_buf struct buf out = BUF_INIT;
	struct err err = {""};

	assert_int_equal(
		promql_parse(text, strlen(text), PROMQL_NEWEST, NULL, &q, &err), 0);
	int rc = promql_fix_durations(q, range_ms, step_ms, &err);
	if (rc && want)
		fail_msg("%s: %s", text, err.text);
	promql_print(q, &out);
	if (!rc)
		assert_string_equal(out.data, want ? want : "refused");
	else
		assert_int_equal(rc, -EINVAL);
}

static void durations_come_to_numbers_before_they_are_sent(void **state)
{
	(void)state;
	check_fixed("foo[5m + 1m]", 0, 0, "foo[6m]");
	check_fixed("foo[2 ^ 6]", 0, 0, "foo[1m4s]");
	check_fixed("foo[step() + 1]", 0, 15000, "foo[16s]");
	check_fixed("foo[range() / 2:step()]", 3600000, 15000, "foo[30m:15s]");
	check_fixed("foo offset -(step() * 2)", 0, 15000, "foo offset -30s");
	check_fixed("foo offset (step() * 0)", 0, 15000, "foo");
	check_fixed("foo[max_of(step(), 1m)] offset min_of(1h, range())", 60000, 15000,
		    "foo[1m] offset 1m");
	check_fixed("foo[7m % 4m]", 0, 0, "foo[3m]");
	check_fixed("foo[(0.0019 + 0)]", 0, 0, "foo[1ms]");
	check_fixed("sum(rate(a[1m * 2])) + max_over_time(b[3m:(1m)] offset (4m))", 0,
		    0, "sum(rate(a[2m])) + max_over_time(b[3m:1m] offset 4m)");
	/* nothing that is not a time */
	check_fixed("foo[step()]", 0, 0, NULL);
	check_fixed("foo[5m - 6m]", 0, 0, NULL);
	check_fixed("foo[1m / (1 - 1)]", 0, 0, NULL);
	check_fixed("foo[1m % (1 - 1)]", 0, 0, NULL);
	check_fixed("foo[10 ^ 10 * 1]", 0, 0, NULL);
	check_fixed("foo offset (0 - 10 ^ 300 * 10 ^ 300)", 0, 0, NULL);
	check_fixed("foo offset ((0 - 1) ^ 0.5)", 0, 0, NULL);
	check_fixed("foo[0.0001 + 0]", 0, 0, NULL);
}

/* What was read for an old server and reaches a new one, which came back meanwhile,
 * is the same query for it or none; a new one's is none for the old. */
static void a_query_of_an_old_version_is_the_same_for_a_new_one(void **state)
{
	static const int older[] = {PROMQL_2, PROMQL_VERSION(2, 55), PROMQL_3};
	auto_buf struct buf text = BUF_INIT, a = BUF_INIT, b = BUF_INIT;
	unsigned same = 0;

	(void)state;
	for (unsigned i = 0; i < 30000; i++) {
		enum promql_dialect d = (enum promql_dialect)older[i % 3];
		struct promql_random r = {.state = 4711 + i,
					  .dialect =
						  d == PROMQL_2 ? PROMQL_2 : PROMQL_3};
		auto_promql struct promql *p = NULL, *q = NULL;
		struct err err;

		promql_random(&r, &text);
		if (!text.len || promql_parse(text.data, text.len, d, NULL, &p, &err))
			continue;
		buf_reset(&a);
		promql_print(p, &a);
		if (promql_parse(a.data, a.len, PROMQL_NEWEST, NULL, &q, &err)) {
			assert_non_null(strstr(a.data, "holt_winters("));
			continue;
		}
		buf_reset(&b);
		promql_print(q, &b);
		assert_string_equal(a.data, b.data);
		same++;
	}
	assert_true(same > 10000);
}

static void versions_are_read_as_servers_say_them(void **state)
{
	(void)state;
	assert_int_equal(promql_dialect_of("2.42.0+ds"), PROMQL_VERSION(2, 42));
	assert_int_equal(promql_dialect_of("3.16.0-rc.1"), PROMQL_VERSION(3, 16));
	assert_int_equal(promql_dialect_of("3"), PROMQL_VERSION(3, 0));
	assert_int_equal(promql_dialect_of("v3.5"), -1);
	assert_int_equal(promql_dialect_of(""), -1);
	assert_int_equal(promql_dialect_of("99999999999999999999.1"), -1);
	assert_int_equal(promql_dialect_of("3.1000"), -1);
	assert_int_equal(promql_older(PROMQL_2, PROMQL_3), PROMQL_2);
	assert_int_equal(promql_older(PROMQL_3, PROMQL_VERSION(3, 16)),
			 PROMQL_VERSION(3, 5));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version_takes_what_it_knows),
		cmocka_unit_test(
			what_is_not_known_is_refused_with_the_version_that_knows),
		cmocka_unit_test(what_no_version_takes_is_refused),
		cmocka_unit_test(durations_come_to_numbers_before_they_are_sent),
		cmocka_unit_test(a_query_of_an_old_version_is_the_same_for_a_new_one),
		cmocka_unit_test(versions_are_read_as_servers_say_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
