/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/promql/prom_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lb/promql/form.h"
#include "test/unit/unit.h"

#define NOW_MS 1700000000000ll

static const struct access_family families[] = {
	{"ceems_emissions_*", NULL, false},
	{"ceems_*", "uuid", false},
	{"DCGM_X", "hpc_job", false},
	{"DCGM_*", "uuid", false},
	{"D*", NULL, false},
};
static struct access_policy policy = {
	.families = families,
	.family_count = sizeof(families) / sizeof(families[0]),
	.lookback_ms = 300000,
	.narrow_max = 10,
};

static int get(const char *path, const char *query, struct prom_request **ret,
	       struct err *err)
{
	return prom_request_read(path, query, NULL, 0, PROMQL_2, NOW_MS, ret, err);
}

/* The form that would be sent; "" and the error when it is refused */
static int form_of(const char *path, const char *query, struct buf *out,
		   struct err *err)
{
	struct prom_request *r = NULL;
	int rc = get(path, query, &r, err);

	buf_reset(out);
	if (!rc)
		prom_request_form(r, out);
	prom_request_free(r);
	return rc;
}

static void requests_are_made_anew(void **state)
{
	(void)state;
	static const struct {
		const char *path, *query, *form;
	} rows[] = {
		{"/api/v1/query", "query=up&time=1700000000.5",
		 "query=up&time=1700000000.500"},
		{"/api/v1/query", "time=2023-11-14T22%3a13%3A20.25Z&query=1%2b1",
		 "query=1%20%2B%201&time=1700000000.250"},
		{"/api/v1/query", "query=up", "query=up&time=1700000000.000"},
		{"/api/v1/query_range",
		 "query=sum(up)&start=1&end=3600&step=1m&timeout=5s&stats=all&x=y",
		 "query=sum%28up%29&start=1.000&end=3600.000&step=60.000&timeout=5.000&"
		 "stats=all"},
		{"/api/v1/query_exemplars", "query=up&start=1&end=2",
		 "query=up&start=1.000&end=2.000"},
		{"/api/v1/series", "match[]=up&match%5B%5D=%7Ba%3D%22b%22%7D&start=5",
		 "match%5B%5D=up&match%5B%5D=%7Ba%3D%22b%22%7D&start=5.000"},
		{"/api/v1/labels", "match[]=up&limit=10", "match%5B%5D=up&limit=10"},
		{"/api/v1/label/uuid/values", "match[]=up", "match%5B%5D=up"},
		{"/api/v1/format_query", "query=up%20%23x", "query=up"},
		{"/api/v1/status/buildinfo", "", ""},
		{"/api/v1/query", "&&query=up&", "query=up&time=1700000000.000"},
	};
	auto_buf struct buf out = BUF_INIT;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};

		if (form_of(rows[i].path, rows[i].query, &out, &err))
			fail_msg("%s?%s: %s", rows[i].path, rows[i].query, err.text);
		assert_string_equal(out.data ? out.data : "", rows[i].form);
	}
}

static void parameters_that_two_readers_could_read_in_two_ways_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *path, *query, *why;
	} rows[] = {
		{"/api/v1/query", "query=up&query=down", "appears twice"},
		{"/api/v1/query", "query=up&time=1&time=2", "appears twice"},
		{"/api/v1/query", "query=up&lookback_delta=1d", "lookback_delta"},
		{"/api/v1/query", "query=up%0", "broken"},
		{"/api/v1/query", "query=up%zz", "broken"},
		{"/api/v1/query", "query=up%00", "NUL"},
		{"/api/v1/query", "query=up;time=1", "%3B"},
		{"/api/v1/query", "=up", "no name"},
		{"/api/v1/query", "que%20ry=up", "not plain"},
		{"/api/v1/query", "", "missing"},
		{"/api/v1/query", "query=", "parse error"},
		{"/api/v1/query", "query=up&time=now", "invalid parameter \"time\""},
		{"/api/v1/query", "query=up&time=NaN", "invalid parameter \"time\""},
		{"/api/v1/query", "query=up&time=1e300", "invalid parameter \"time\""},
		{"/api/v1/query", "query=up&time=", "invalid parameter \"time\""},
		{"/api/v1/query", "query=up&timeout=-1",
		 "invalid parameter \"timeout\""},
		{"/api/v1/query_range", "query=up&start=1&end=2",
		 "\"step\" is missing"},
		{"/api/v1/query_range", "query=up&start=1&step=2",
		 "\"end\" is missing"},
		{"/api/v1/query_range", "query=up&start=5&end=2&step=1", "before"},
		{"/api/v1/query_range", "query=up&start=1&end=2&step=0",
		 "invalid parameter \"step\""},
		{"/api/v1/series", "start=1", "no match[]"},
		{"/api/v1/series", "match[]=up&match[]=sum(up)", "parse error"},
		{"/api/v1/labels", "match[]=up&limit=-1",
		 "invalid parameter \"limit\""},
	};
	auto_buf struct buf out = BUF_INIT;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};

		if (form_of(rows[i].path, rows[i].query, &out, &err) != -EINVAL ||
		    !strstr(err.text, rows[i].why))
			fail_msg("%s?%s: %s", rows[i].path, rows[i].query, err.text);
	}
}

static void parameters_are_in_the_url_or_in_the_body(void **state)
{
	(void)state;
	static const char body[] = "query=up";
	struct prom_request *r = NULL;
	struct err err;

	assert_int_equal(prom_request_read("/api/v1/query", NULL, body, 8, PROMQL_2,
					   NOW_MS, &r, &err),
			 0);
	prom_request_free(r);
	assert_int_equal(prom_request_read("/api/v1/query", "query=down", body, 8,
					   PROMQL_2, NOW_MS, &r, &err),
			 -EINVAL);
	assert_int_equal(prom_request_read("/api/v1/query", "time=1", body, 8, PROMQL_2,
					   NOW_MS, &r, &err),
			 -EINVAL);
	assert_int_equal(prom_request_read("/api/v1/query", "", body, 8, PROMQL_2,
					   NOW_MS, &r, &err),
			 0);
	prom_request_free(r);
}

static void only_paths_that_are_known_are_answered(void **state)
{
	(void)state;
	static const char *const others[] = {
		"/",
		"/api/v1/query/",
		"//api/v1/query",
		"/api/v1//query",
		"/api/v1/Query",
		"/federate",
		"/federate/",
		"/api/v1/read",
		"/api/v1/admin/tsdb/delete_series",
		"/api/v1/admin/tsdb/delete_series/",
		"/api/v1/status/config",
		"/api/v1/targets",
		"/api/v1/rules",
		"/api/v1/label//values",
		"/api/v1/label/a/b/values",
		"/api/v1/label/a/values/",
		"/api/v1/label/../query/values",
		"/api/v1/label/1a/values",
		"/api/v1/label/a%2fb/values",
		"/api/v1/series/query",
		"/x/api/v1/query",
		"/graphite/metrics/find/",
		"/api/v1/query?",
	};
	struct prom_request *r = NULL;
	struct err err;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_false(prom_request_knows(others[i]));
		if (get(others[i], "query=up", &r, &err) != -EACCES)
			fail_msg("%s", others[i]);
	}
	assert_true(prom_request_knows("/api/v1/label/__name__/values"));
}

static void what_is_too_much_is_refused(void **state)
{
	(void)state;
	auto_buf struct buf q = BUF_INIT, out = BUF_INIT;
	struct err err;

	for (unsigned i = 0; i <= PROM_MATCHES_MAX; i++)
		buf_puts(&q, "match[]=up&");
	assert_int_equal(form_of("/api/v1/series", q.data, &out, &err), -E2BIG);
	buf_reset(&q);
	for (unsigned i = 0; i <= FORM_FIELDS_MAX; i++)
		buf_puts(&q, "a=b&");
	assert_int_equal(form_of("/api/v1/query", q.data, &out, &err), -E2BIG);
	buf_reset(&q);
	buf_puts(&q, "query=");
	for (unsigned i = 0; i < PROM_BODY_MAX; i++)
		buf_putc(&q, 'a');
	assert_int_equal(form_of("/api/v1/query", q.data, &out, &err), -E2BIG);
}

/* Proves a request for a user who owns unit 1 alone; 0 and the form, or the refusal */
static int prove(const char *path, const char *query, struct buf *out, struct err *err)
{
	struct prom_request *r = NULL;
	struct access_plan *p = NULL;
	struct access_claim *claims;
	static const struct str own = {"1", 1};
	size_t n;
	int rc = get(path, query, &r, err);

	assert_int_equal(access_plan_new(&policy, &p), 0);
	rc = rc ? rc : prom_request_prove(r, &policy, p, err);
	if (!rc) {
		claims = access_claims(p, &n);
		for (size_t i = 0; i < n; i++)
			claims[i].answer =
				str_eq(claims[i].id, "1") ? ACCESS_OWN : ACCESS_FOREIGN;
		for (struct access_unconstrained *g = access_unconstrained_first(p);
		     g && !rc; g = g->next)
			rc = access_fill(g, &own, 1, err);
	}
	rc = rc ? rc : access_decide(p, err);
	buf_reset(out);
	if (!rc)
		prom_request_form(r, out);
	access_plan_free(p);
	prom_request_free(r);
	return rc;
}

static void each_match_of_a_union_is_proved(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	struct err err;

	assert_int_equal(
		prove("/api/v1/series", "match[]=ceems_x{uuid=\"1\"}", &out, &err), 0);
	assert_int_equal(
		prove("/api/v1/series",
		      "match[]=ceems_x{uuid=\"1\"}&match[]={__name__=~\".%2b\"}", &out,
		      &err),
		-EACCES);
	assert_int_equal(prove("/api/v1/label/uuid/values",
			       "match[]=ceems_x{uuid=\"1\"}&match[]=ceems_x", &out,
			       &err),
			 -EACCES);
	assert_int_equal(
		prove("/api/v1/labels", "match[]=ceems_x{uuid=\"2\"}", &out, &err),
		-EACCES);
}

static void without_match_series_are_narrowed_to_ones_own(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	auto_form struct form f = {0};
	struct err err;

	if (prove("/api/v1/label/uuid/values", "start=1&end=2", &out, &err))
		fail_msg("%s", err.text);
	assert_int_equal(form_read(out.data, out.len, &f, &err), 0);
	assert_int_equal(f.count, 5);
	assert_string_equal(f.fields[0].value.p, "{__name__=~\"ceems_emissions_.*\"}");
	assert_string_equal(f.fields[1].value.p,
			    "{__name__=~\"ceems_.*\",uuid=~\"1\"}");
	/* DCGM_* has a metric with another label in it, D* has units in it: left out */
	assert_string_equal(f.fields[2].value.p,
			    "{__name__=\"DCGM_X\",hpc_job=~\"1\"}");
	assert_string_equal(f.fields[3].name, "start");
	policy.narrow_max = 0;
	assert_int_equal(prove("/api/v1/labels", "", &out, &err), -EACCES);
	policy.narrow_max = 10;
}

static void the_time_that_is_proved_is_the_time_that_is_asked(void **state)
{
	(void)state;
	static const struct {
		const char *path, *query;
		int64_t start_ms, end_ms;
	} rows[] = {
		{"/api/v1/query", "query=up", NOW_MS, NOW_MS},
		{"/api/v1/query", "query=up&time=1.5", 1500, 1500},
		{"/api/v1/query_range", "query=up&start=1&end=9.001&step=5", 1000,
		 9001},
		{"/api/v1/series", "match[]=up", 0, 253402300799000ll},
		{"/api/v1/series", "match[]=up&start=7", 7000, 253402300799000ll},
		{"/api/v1/query", "query=up&time=2023-11-14T23:13:20%2B01:00", NOW_MS,
		 NOW_MS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prom_request *r = NULL;
		struct err err;

		assert_int_equal(get(rows[i].path, rows[i].query, &r, &err), 0);
		assert_true(r->when.start_ms == rows[i].start_ms);
		assert_true(r->when.end_ms == rows[i].end_ms);
		prom_request_free(r);
	}
}

static void a_computed_duration_is_sent_as_a_number(void **state)
{
	static const char ask[] = "query=rate(ceems_x{uuid=\"1\"}[step()%2Brange()])"
				  "&start=100&end=160&step=15";
	auto_buf struct buf form = BUF_INIT;
	struct prom_request *r = NULL;
	struct access_plan *p = NULL;
	struct err err = {""};
	size_t n = 0;

	(void)state;
	assert_int_equal(prom_request_read("/api/v1/query_range", ask, NULL, 0,
					   PROMQL_NEWEST, NOW_MS, &r, &err),
			 0);
	assert_int_equal(access_plan_new(&policy, &p), 0);
	assert_int_equal(prom_request_prove(r, &policy, p, &err), 0);
	const struct access_claim *c = access_claims(p, &n);
	assert_int_equal(n, 1);
	/* 75 seconds before the start, and no more than a moment more */
	assert_true(c->from_ms <= 25000 && c->from_ms > 24000);
	prom_request_form(r, &form);
	assert_non_null(strstr(form.data, "1m15s"));
	assert_null(strstr(form.data, "range"));
	access_plan_free(p);
	prom_request_free(r);
	/* at one time both are nothing */
	assert_int_equal(prom_request_read("/api/v1/query",
					   "query=rate(ceems_x{uuid=\"1\"}[step()])",
					   NULL, 0, PROMQL_NEWEST, NOW_MS, &r, &err),
			 0);
	assert_int_equal(access_plan_new(&policy, &p), 0);
	assert_int_equal(prom_request_prove(r, &policy, p, &err), -EINVAL);
	access_plan_free(p);
	prom_request_free(r);
}

/* The key and the times, or "-": it takes a whole reading */
static const char *split(const char *path, const char *form)
{
	static char ret[400];
	auto_buf struct buf key = BUF_INIT;
	char times[PROM_TIMES_BYTES];
	struct prom_times t;

	if (!prom_times_split(path, form, strlen(form), NOW_MS, &key, &t))
		return "-";
	assert_int_equal(buf_error(&key), 0);
	prom_times_text(&t, times);
	snprintf(ret, sizeof(ret), "%s %s", key.data, times);
	return ret;
}

static void times_are_told_apart_where_they_are_plain(void **state)
{
	(void)state;
	static const char range[] = "/api/v1/query_range", query[] = "/api/v1/query",
			  series[] = "/api/v1/series";
	static const struct {
		const char *path, *form, *split;
	} rows[] = {
		{range, "query=up&start=1&end=2.5&step=3",
		 "query=up&step=3&se &start=1.000&end=2.500"},
		{range, "end=2.05&query=a%2Bb&step=3&start=0",
		 "query=a%2Bb&step=3&se &start=0.000&end=2.050"},
		{range, "query=up&start=999999999999.999&end=999999999999.999&",
		 "query=up&se &start=999999999999.999&end=999999999999.999"},
		{query, "query=up&time=7", "query=up&-- &time=7.000"},
		{query, "query=up", "query=up&-- &time=1700000000.000"},
		/* what a call does not have is no time */
		{query, "query=up&start=x", "query=up&start=x&-- &time=1700000000.000"},
		{series, "match%5B%5D=up&start=5", "match%5B%5D=up&s- &start=5.000"},
		{series, "match[]=up&match[]=a&end=5",
		 "match[]=up&match[]=a&-e &end=5.000"},
		{"/api/v1/format_query", "query=a&time=1", "query=a&time=1&-- "},
		/* refused, or to be understood by others */
		{range, "query=up&start=2&end=1&step=3", "-"},
		{range, "query=up&start=2&step=3", "-"},
		{range, "query=up&start=1&start=1&end=2&step=3", "-"},
		{range, "query=up&start=1&end=2&step=3&%73tart=1", "-"},
		{range, "query=up&start=1&end=2&step=3&st+art=1", "-"},
		{range, "query=up&start=1&end=2&step=3&=1", "-"},
		{range, "query=up&start=-1&end=2&step=3", "-"},
		{range, "query=up&start=1e3&end=2000&step=3", "-"},
		{range, "query=up&start=1.0001&end=2&step=3", "-"},
		{range, "query=up&start=1..1&end=2&step=3", "-"},
		{range, "query=up&start=.5&end=2&step=3", "-"},
		{range, "query=up&&start=1&end=2&step=3", "-"},
		{range, "query=up&start=&end=2&step=3", "-"},
		{range, "query=up&start&end=2&step=3", "-"},
		{range, "query=up&start=1&end=1000000000000&step=3", "-"},
		{query, "query=up&time=2023-11-14T23:13:20Z", "-"},
		{"/api/v1/rules", "", "-"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(split(rows[i].path, rows[i].form), rows[i].split);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_made_anew),
		cmocka_unit_test(
			parameters_that_two_readers_could_read_in_two_ways_are_refused),
		cmocka_unit_test(parameters_are_in_the_url_or_in_the_body),
		cmocka_unit_test(only_paths_that_are_known_are_answered),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(each_match_of_a_union_is_proved),
		cmocka_unit_test(without_match_series_are_narrowed_to_ones_own),
		cmocka_unit_test(a_computed_duration_is_sent_as_a_number),
		cmocka_unit_test(the_time_that_is_proved_is_the_time_that_is_asked),
		cmocka_unit_test(times_are_told_apart_where_they_are_plain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
