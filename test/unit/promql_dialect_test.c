/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each version of Prometheus takes and refuses, one row for each construct that is
 * not in all of them; written from the releases' parsers. */
#include "lb/promql.h"

#include <errno.h>
#include <string.h>

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
};

static bool takes(const struct row *r, int version, bool flags)
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

	if (!rc != takes(r, v[0] * 1000 + v[1], flags))
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
		{"holt_winters(foo[5m], 1, 1)", PROMQL_3, "no more since 3.0"},
		{"{\"foo\"}", PROMQL_2, "a quoted name in braces: "},
		{"foo[300]", PROMQL_2, "missing unit character"},
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
		cmocka_unit_test(versions_are_read_as_servers_say_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
