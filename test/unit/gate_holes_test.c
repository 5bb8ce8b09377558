/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An attacker's list. Each point that the load balancer of CEEMS 0.10 was found open
 * (or wrongly closed) at is a row or a test here, by its number in that list
 * (doc/lb.md, "Holes"), and as many of our own: whole requests through the gate, what
 * is refused and what is sent on. Ann owns 1, 2 and a.b_c on alpha and 5 on beta; bob
 * owns 3 (the victim) on alpha and 1 on beta; 4 was bob's a year ago and is ann's now.
 */
#include "lb/gate/gate.h"

#include "test/unit/gate_lab.h"

#define HOUR_MS (60 * LAB_MINUTE_MS)
#define NOW LAB_NOW_MS

static const struct lab_run runs[] = {
	{"1", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
	{"2", "alpha", "ann", NOW - 10 * HOUR_MS, NOW - 5 * HOUR_MS},
	{"3", "alpha", "bob", NOW - HOUR_MS, INT64_MAX},
	{"4", "alpha", "bob", NOW - 9000 * HOUR_MS, NOW - 8999 * HOUR_MS},
	{"4", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
	{"1", "beta", "bob", NOW - HOUR_MS, INT64_MAX},
	{"5", "beta", "ann", NOW - HOUR_MS, INT64_MAX},
	{"a.b_c", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
};
#define RUNS (sizeof(runs) / sizeof(runs[0]))

/* ---- A. text of queries ---------------------------------------------------------- */

static const struct {
	const char *hole, *query;
	unsigned status; /* 0: sent on */
} queries[] = {
	/* of the list */
	{"1", "a{uuid=\"1\"} or ceems_a{uuid=\"3\"}", 403},
	{"1", "ceems_a{uuid=\"1\"} or ceems_a{uuid=\"3\"}", 403},
	{"1", "ceems_a{uuid=\"3\"} or ceems_a{uuid=\"1\"}", 403},
	{"2", "node_load1 or ceems_a{uuid=\"1\"}", 403},
	{"2", "{__name__=~\".+\"} or ceems_a{uuid=\"1\"}", 403},
	{"3", "ceems_a{uuid=\"1\"} or ceems_a{uuid=~\".+\"}", 403},
	{"3", "ceems_a{uuid=\"1\"} or ceems_a{uuid=~\"[3]\"}", 403},
	{"3", "ceems_a{uuid=\"1\"} or ceems_a{uuid!=\"x\"}", 403},
	{"3", "ceems_a{uuid=\"1\"} or ceems_a{uuid!~\"\"}", 403},
	{"4", "{__name__=~\".+\"} # ,uuid=\"1\"", 403},
	{"4", "ceems_a # {uuid=\"1\"}", 403},
	{"6", "ceems_a{uuid = \"3\"}", 403},
	{"6", "ceems_a{uuid='3'}", 403},
	{"6", "ceems_a{uuid=`3`}", 403},
	{"6", "ceems_a{uuid=\"\\x33\"}", 403},
	{"6", "ceems_a{uuid=\"\\063\"}", 403},
	{"6", "ceems_a{uuid=\"\\u0033\"}", 403},
	{"8", "ceems_a{uuid=\"1\"} * on (instance) group_right () ceems_b", 403},
	{"8", "label_replace(ceems_a, \"uuid\", \"1\", \"uuid\", \".*\")", 403},
	{"8", "label_join(ceems_a, \"uuid\", \"\", \"x\")", 403},
	{"13", "count_values(\"uuid\", ceems_a)", 403},
	{"18", "ceems_a{uuid=\"4\"} offset 375d", 403},
	{"18", "max_over_time(ceems_a{uuid=\"4\"}[2y])", 403},
	{"18", "ceems_a{uuid=\"4\"} @ 1667600000", 403},
	{"20", "ceems_a{uuid=\"5\"}", 403}, /* ann's on beta, not on alpha */
	{"30", "1+1", 0},
	{"30", "ceems_emissions_gCo2_kWh{provider=\"owid\"}", 0},
	{"30", "ceems_a{uuid='1'}", 0},
	{"30", "ceems_a{uuid=\"a.b_c\"}", 0},
	{"30", "ceems_a{uuid=~\"a\\\\.b_c|1\"}", 0},
	{"30", "ceems_a{uuid=~\"(1|2)\",hostname=~\".*\"}", 0},
	{"30", "vector(1)", 0},
	{"30", "time()", 0},
	/* our own */
	{"own", "ceems_a{uuid=\"1\"} or (ceems_b{uuid=\"1\"} and -ceems_c)", 403},
	{"own", "topk(scalar(ceems_b), ceems_a{uuid=\"1\"})", 403},
	{"own",
	 "quantile_over_time(scalar(ceems_b{uuid=\"3\"}), ceems_a{uuid=\"1\"}[5m])",
	 403},
	{"own", "max_over_time((ceems_a{uuid=\"1\"} or ceems_b)[1h:5m])", 403},
	{"own", "max_over_time((ceems_a{uuid=\"4\"} offset 200d)[300d:1h])", 403},
	{"own", "absent(ceems_a{uuid=\"3\"})", 403},
	{"own", "ceems_a{uuid=\"1\"} unless ceems_b", 403},
	{"own", "ceems_a{uuid=\"1\"} > bool ceems_b{uuid=\"3\"}", 403},
	{"own", "ceems_a{uuid=\"1\"} and on () ceems_b{uuid=\"3\"}", 403},
	{"own", "sum without (uuid) (ceems_a)", 403},
	{"own", "ceems_a{uuid=\"\"}", 403},
	{"own", "ceems_a{uuid=~\"1|\"}", 403},
	{"own", "ceems_a{uuid=~\"^|1$\"}", 403},
	{"own", "ceems_a{uuid=~\"1?\"}", 403},
	{"own", "ceems_a{uuid=~\"(?i)1\"}", 403},
	{"own", "ceems_a{uuid=~\"1|3\"}", 403},
	{"own", "ceems_a{UUID=\"1\"}", 403},
	{"own", "{uuid=\"1\"}", 403},
	{"own", "{__name__=~\"ceems_.*\",uuid=\"1\"}", 403},
	{"own", "{__name__=~\"ceems_a|DCGM_b\",uuid=\"1\"}", 403},
	{"own", "DCGM_FI_DEV_GPU_UTIL{uuid=\"1\"}", 403}, /* not that family's label */
	{"own", "DCGM_FI_DEV_GPU_UTIL{hpc_job=\"1\"}", 0},
	{"own", "DCGM_FI_DEV_GPU_UTIL{hpc_job=\"3\"}", 403},
	{"own", "ceems_a{uuid=\"1\",cluster=\"beta\"}", 0}, /* selects nothing */
	{"own", "ceems_a{uuid=\"1\",uuid=\"3\"}", 0},       /* the same */
	{"own", "ceems_a{uuid=\"3\",uuid=\"1\"}", 403},
	{"own", "up_x{uuid=\"1\"}", 403},
	{"own", "ceems_a{uuid=\"1\nx\"}", 400},
	{"own", "ceems_a{uuid=\"1\\n3\"}", 403},
	{"own", "ceems_a{uuid=\"1\\x003\"}", 403},
	{"own", "ceems_a{uuid=\"\\xff\"}", 403},
	{"own", "ceems_a{uuid=\"1\"}[5m]", 0},
	{"own", "", 400},
	{"own", "ceems_a{uuid=\"1\"", 400},
};

static void no_text_of_a_query_reads_what_is_of_others(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	/* cold, then with all that is remembered */
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
			struct lab_asked a;
			unsigned status = lab_query(&l, "ann", queries[i].query, &a);

			if (status != queries[i].status)
				fail_msg("hole %s: %s: %u %s", queries[i].hole,
					 queries[i].query, status, a.text);
			if (!status && strstr(a.text, "uuid") &&
			    !strstr(a.text, "cluster%3D%22alpha%22"))
				fail_msg("not narrowed: %s", a.text);
		}
	lab_close(&l);
}

/* ---- B, C. parameters and paths -------------------------------------------------- */

#define OWN "ceems_a%7Buuid%3D%221%22%7D"
#define VICTIM "ceems_a%7Buuid%3D%223%22%7D"
#define ALL "%7B__name__%3D~%22.%2B%22%7D"

static const struct {
	const char *hole, *path, *query, *body; /* body: it is a POST */
	unsigned status;
} requests[] = {
	{"9", "/api/v1/query", "query=" ALL "&query=" OWN, NULL, 400},
	{"9", "/api/v1/query", "query=" OWN "&query=" ALL, NULL, 400},
	{"9", "/api/v1/query", "query=" OWN "&%71uery=" ALL, NULL, 400},
	{"9", "/api/v1/query", "query=" OWN "&time=1&time=2", NULL, 400},
	{"10", "/api/v1/query", "query=" OWN, "query=" VICTIM, 400},
	{"10", "/api/v1/query", "time=1", "query=" OWN, 400},
	{"11", "/api/v1/series", "match[]=" OWN "&match[]=" ALL, NULL, 403},
	{"11", "/api/v1/series", "match[]=" OWN "&match%5B%5D=" VICTIM, NULL, 403},
	{"11", "/api/v1/labels", "match[]=" OWN "&match[]=" ALL, NULL, 403},
	{"11", "/api/v1/label/uuid/values", "match[]=" OWN "&match[]=" VICTIM, NULL,
	 403},
	{"13", "/api/v1/label/uuid/values", "match[]=" ALL, NULL, 403},
	{"13", "/api/v1/label/username/values", "match[]=ceems_a", NULL, 403},
	{"14", "/federate", "match[]=" ALL, NULL, 403},
	{"14", "/federate/", "match[]=" ALL, NULL, 403},
	{"14", "/api/v1/admin/tsdb/delete_series", "match[]=" ALL, NULL, 403},
	{"14", "/api/v1/admin/tsdb/delete_series/", "match[]=" OWN, NULL, 403},
	{"14", "/api/v1/read/", NULL, NULL, 403},
	{"14", "/api/v1/read", "", "x=1", 403},
	{"14", "/api/v1/status/config/", NULL, NULL, 403},
	{"14", "/", NULL, NULL, 403},
	{"14", "/api/v1/query/", "query=" OWN, NULL, 403},
	{"14", "//api/v1/query", "query=" OWN, NULL, 403},
	{"14", "/x/api/v1/query", "query=" OWN, NULL, 403},
	{"14", "/graphite/metrics/find/", "query=*", NULL, 403},
	{"14", "/metrics/expand/", "query=*", NULL, 403},
	{"14", "/api/v1/label/../query/values", NULL, NULL, 403},
	{"14", "/api/v1/label/a/b/values", NULL, NULL, 403},
	{"16", "/api/v1/query_exemplars",
	 "query=" VICTIM "&start=1700000000&end=1700000001", NULL, 403},
	{"16", "/api/v1/query_exemplars",
	 "query=" OWN "&start=1700000000&end=1700000001", NULL, 0},
	/* the server reads exemplars of [start, end], whatever the query says: 4 was
	 * bob's then */
	{"own", "/api/v1/query_exemplars",
	 "query=ceems_a%7Buuid%3D%224%22%7D%20offset%20-375d&start=1667600000&end="
	 "1667603600",
	 NULL, 403},
	{"own", "/api/v1/query_exemplars",
	 "query=ceems_a%7Buuid%3D%224%22%7D%20%40%201700000000&start=1667600000&end="
	 "1667603600",
	 NULL, 403},
	{"own", "/api/v1/query_exemplars",
	 "query=max_over_time(ceems_a%7Buuid%3D%224%22%7D%5B1h%3A1m%5D%20%40%"
	 "201700000000)"
	 "&start=1667600000&end=1667603600",
	 NULL, 403},
	{"own", "/api/v1/query_exemplars",
	 "query=rate(ceems_a%7Buuid%3D%224%22%7D%5B2y%5D)&start=1699999000&end="
	 "1700000000",
	 NULL, 0}, /* no range is read */
	/* 4 was bob's a day before: in one block with what is asked for */
	{"own", "/api/v1/series",
	 "match[]=ceems_a%7Buuid%3D%224%22%7D&start=1667700000&end=1667703600", NULL,
	 403},
	{"own", "/api/v1/labels",
	 "match[]=ceems_a%7Buuid%3D%224%22%7D&start=1667700000&end=1667703600", NULL,
	 403},
	{"own", "/api/v1/label/hostname/values",
	 "match[]=ceems_a%7Buuid%3D%224%22%7D&start=1667500000&end=1667503600", NULL,
	 403},
	{"own", "/api/v1/query_range",
	 "query=ceems_a%7Buuid%3D%224%22%7D&start=1667700000&end=1667703600&step=60",
	 NULL, 0},
	{"own", "/api/v1/label/hostname/values",
	 "match[]=ceems_a%7Buuid%3D%224%22%7D&start=1671000000&end=1671003600", NULL,
	 0},
	/* times that are further from each other than 292 years */
	{"own", "/api/v1/query",
	 "query=ceems_a%7Buuid%3D%221%22%7D%20%40%20-99999999999&time=10923372036",
	 NULL, 400},
	{"16", "/api/v1/metadata", NULL, NULL, 403},
	{"16", "/api/v1/rules", NULL, NULL, 403},
	{"16", "/api/v1/alerts", NULL, NULL, 403},
	{"16", "/api/v1/targets", NULL, NULL, 403},
	{"16", "/api/v1/status/tsdb", NULL, NULL, 403},
	{"16", "/api/v1/write", "", "x=1", 403},
	{"16", "/-/quit", "", "x=1", 403},
	{"30", "/api/v1/status/buildinfo", NULL, NULL, 0},
	{"30", "/api/v1/query", "", "query=1%2B1", 0},
	/* our own */
	{"own", "/api/v1/query", "query=" OWN ";query=" ALL, NULL, 400},
	{"own", "/api/v1/query", "query=" OWN "%00" ALL, NULL, 400},
	{"own", "/api/v1/query", "query=" OWN "&lookback_delta=1000d", NULL, 400},
	{"own", "/api/v1/query", "query=%zz", NULL, 400},
	{"own", "/api/v1/query", "query=" OWN "&time=NaN", NULL, 400},
	{"own", "/api/v1/query", "query=" OWN "&time=1e300", NULL, 400},
	{"own", "/api/v1/query_range", "query=" OWN "&start=5&end=1&step=1", NULL, 400},
	{"own", "/api/v1/query_range", "query=" OWN "&start=1&end=5", NULL, 400},
	{"own", "/api/v1/query_range",
	 "query=ceems_a%7Buuid%3D%224%22%7D&start=1660000000&end=1700000000&step=3600",
	 NULL, 403},
	{"own", "/api/v1/query_range",
	 "query=ceems_a%7Buuid%3D%224%22%7D&start=1699990000&end=1700000000&step=60",
	 NULL, 0},
	{"own", "/api/v1/series", NULL, NULL, 400},
	{"own", "/api/v1/label/uuid/values", "", "match[]=" OWN, 403},
	{"own", "/api/v1/status/buildinfo", "", "x=1", 403},
	{"own", "/api/v1/format_query", "query=" ALL, NULL, 0}, /* reads nothing */
	{"own", "/api/v1/series", "match[]=" OWN "&match[]=" OWN, NULL, 0},
	{"own", "/API/V1/query", "query=" OWN, NULL, 403},
};

static void ask(struct lab *l, const char *user, size_t i, struct lab_asked *a)
{
	*a = (struct lab_asked){
		.r = {.input = {.path = requests[i].path,
				.query = requests[i].query,
				.post = requests[i].body != NULL,
				.body = requests[i].body,
				.body_len =
					requests[i].body ? strlen(requests[i].body) : 0,
				.content_type = requests[i].body
							? "application/"
							  "x-www-form-urlencoded"
							: NULL},
		      .cluster_headers = 1,
		      .cluster_header = "alpha"}};
	lab_user(a, user);
	lab_pass(l, a);
}

static void no_parameter_and_no_path_is_a_way_around(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
			struct lab_asked a;

			ask(&l, "ann", i, &a);
			if (a.r.status != requests[i].status)
				fail_msg("hole %s: %s?%s: %u %s", requests[i].hole,
					 requests[i].path,
					 requests[i].query ? requests[i].query : "",
					 a.r.status, a.text);
		}
	lab_close(&l);
}

/* Nobody, whoever it is, gets more than what is proved: users x requests. */
static void each_request_is_refused_to_whoever_does_not_own_it(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct lab_asked nobody, eve, ann;

		ask(&l, NULL, i, &nobody);
		assert_int_equal(nobody.r.status, 401);
		ask(&l, "ann", i, &ann);
		ask(&l, "eve", i, &eve);
		if (!eve.r.status && strstr(eve.text, "uuid") &&
		    !strstr(eve.text, "format_query"))
			fail_msg("eve: %s", eve.text);
		if (ann.r.status && ann.r.status != eve.r.status)
			fail_msg("%s: ann %u, eve %u", requests[i].path, ann.r.status,
				 eve.r.status);
	}
	lab_close(&l);
}

/* 13: what is asked for without match[] is narrowed to what is one's own. */
static void labels_without_match_are_narrowed_not_opened(void **state)
{
	static const char *const paths[] = {"/api/v1/labels",
					    "/api/v1/label/uuid/values",
					    "/api/v1/label/username/values"};
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	for (size_t i = 0; i < 3; i++) {
		struct lab_asked a;

		assert_int_equal(lab_get(&l, "ann", paths[i],
					 "start=1699999000&end=1700000000", &a),
				 0);
		/* 1, 4, a.b_c; never 3; each match[] has the cluster's matcher */
		assert_non_null(strstr(a.text, "uuid%3D~%221%7C4%7Ca"));
		assert_null(strstr(a.text, "3%22%7D"));
		for (const char *p = a.text; (p = strstr(p, "match%5B%5D="));) {
			const char *end = strchr(p, '&');
			const char *c = strstr(p, "cluster%3D%22alpha%22");

			assert_true(c && (!end || c < end));
			p += 12;
		}
		/* somebody without units sees no unit */
		assert_int_equal(lab_get(&l, "eve", paths[i],
					 "start=1699999000&end=1700000000", &a),
				 0);
		assert_non_null(strstr(a.text, "uuid%3D%22-%22"));
		/* 4 was bob's: in a time that has both it is nobody's */
		assert_int_equal(lab_get(&l, "ann", paths[i], NULL, &a), 0);
		assert_null(strstr(a.text, "7C4%7C"));
	}
	lab_close(&l);
}

/* Labels come from whole blocks: 7 was bob's in the days before. */
static void labels_of_a_number_that_was_anothers_lately_are_not_filled_in(void **state)
{
	static const struct lab_run lately[] = {
		{"1", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
		{"7", "alpha", "bob", NOW - 30 * 24 * HOUR_MS, NOW - 29 * 24 * HOUR_MS},
		{"7", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
		{"8", "alpha", "bob", NOW - 90 * 24 * HOUR_MS, NOW - 89 * 24 * HOUR_MS},
		{"8", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
	};
	static const char *const paths[] = {"/api/v1/labels",
					    "/api/v1/label/hostname/values"};
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, lately, 5);
	for (size_t i = 0; i < 4; i++) { /* asked for, then remembered */
		assert_int_equal(lab_get(&l, "ann", paths[i % 2],
					 "start=1699999000&end=1700000000", &a),
				 0);
		assert_non_null(strstr(a.text, "uuid%3D~%221%7C8%22"));
	}
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"7\"}", &a), 0);
	lab_close(&l);
}

/* ---- D. ownership ---------------------------------------------------------------- */

static unsigned with_clusters(struct lab *l, unsigned headers, const char *header,
			      const char *expr, struct lab_asked *a)
{
	char form[512];

	lab_form(expr, form, sizeof(form));
	*a = (struct lab_asked){.r = {.input = {.path = "/api/v1/query", .query = form},
				      .cluster_headers = headers,
				      .cluster_header = header}};
	lab_user(a, "ann");
	lab_pass(l, a);
	return a->r.status;
}

/* 19, 20, 21 */
static void clusters_are_one_at_a_time_and_never_mixed(void **state)
{
	static const struct {
		unsigned headers;
		const char *header, *query;
		unsigned status;
		const char *sent;
	} table[] = {
		{1, "alpha", "ceems_a{uuid=\"1\"}", 0, "cluster%3D%22alpha%22"},
		{1, "beta", "ceems_a{uuid=\"1\"}", 403, NULL}, /* bob's there */
		{1, "beta", "ceems_a{uuid=\"5\"}", 0, "cluster%3D%22beta%22"},
		{1, "gamma", "ceems_a{uuid=\"1\"}", 400, NULL},
		{1, "", "ceems_a{uuid=\"1\"}", 400, NULL},
		{0, NULL, "ceems_a{uuid=\"1\"}", 400, NULL}, /* which? */
		{2, "alpha", "ceems_a{uuid=\"1\"}", 400, NULL},
		{0, NULL, "ceems_a{uuid=\"5\",ceems_id=\"beta\"}", 0,
		 "cluster%3D%22beta%22"},
		{0, NULL, "ceems_a{uuid=\"1\",ceems_id=\"beta\"}", 403, NULL},
		/* a header that was checked is not overruled by the query */
		{1, "alpha", "ceems_a{uuid=\"5\",ceems_id=\"beta\"}", 400, NULL},
		{1, "alpha", "ceems_a{uuid=\"1\",ceems_id=\"alpha\"}", 0,
		 "cluster%3D%22alpha%22"},
		{1, "alpha", "ceems_a{uuid=\"1\",ceems_id=\"gamma\"}", 400, NULL},
		{0, NULL,
		 "ceems_a{uuid=\"1\",ceems_id=\"alpha\"} + "
		 "ceems_a{uuid=\"5\",ceems_id=\"beta\"}",
		 400, NULL},
		{0, NULL, "ceems_a{uuid=\"5\",ceems_id=~\"alpha|beta\"}", 400, NULL},
		{1, "alpha", "ceems_a{uuid=\"5\",ceems_id=~\"alpha|beta\"}", 403, NULL},
		{1, "alpha", "ceems_a{uuid=\"1\",ceems_id!=\"alpha\"}", 0,
		 "cluster%3D%22alpha%22"},
	};
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct lab_asked a;
		unsigned status = with_clusters(&l, table[i].headers, table[i].header,
						table[i].query, &a);

		if (status != table[i].status ||
		    (table[i].sent && !strstr(a.text, table[i].sent)))
			fail_msg("%s by %s: %u %s", table[i].query,
				 table[i].header ? table[i].header : "-", status,
				 a.text);
	}
	/* a site with one cluster need not name it */
	l.site.cluster_count = 1;
	gate_set_site(l.gate, &l.site);
	struct lab_asked a;
	assert_int_equal(with_clusters(&l, 0, NULL, "ceems_a{uuid=\"1\"}", &a), 0);
	lab_close(&l);
}

/* 22: rights end */
static void rights_that_were_taken_away_end_in_time(void **state)
{
	static const struct lab_run after[] = {
		{"1", "alpha", "bob", NOW - HOUR_MS, INT64_MAX},
	};
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 0);
	pthread_mutex_lock(&l.mutex);
	l.runs = after;
	l.run_count = 1;
	pthread_mutex_unlock(&l.mutex);
	lab_wait_ms(&l, 59999);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 0);
	lab_wait_ms(&l, 1);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 403);
	assert_int_equal(lab_query(&l, "bob", "ceems_a{uuid=\"1\"}", NULL), 0);
	lab_close(&l);
}

static void set_runs(struct lab *l, const struct lab_run *to, size_t count)
{
	pthread_mutex_lock(&l->mutex);
	l->runs = to;
	l->run_count = count;
	pthread_mutex_unlock(&l->mutex);
}

/* What is remembered of a request is worth no more than what is known of its units. */
static void a_request_that_came_before_does_not_outlive_its_right(void **state)
{
	static const struct lab_run after[] = {
		{"2", "alpha", "bob", NOW - 10 * HOUR_MS, NOW - 5 * HOUR_MS},
	};
	static const char *const path = "/api/v1/query",
				 *const again = "query=ceems_a%7Buuid%3D%222%22%7D"
						"&time=1699975000";
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(lab_query(&l, "ann", "ceems_b{uuid=\"2\"}", NULL), 0);
	lab_wait_ms(&l, 50000);
	assert_int_equal(lab_get(&l, "ann", path, again, NULL), 0);
	set_runs(&l, after, 1);
	lab_wait_ms(&l, 10000); /* what was known of 2 is over, the request is not */
	assert_int_equal(lab_query(&l, "ann", "ceems_b{uuid=\"2\"}", NULL), 403);
	assert_int_equal(lab_get(&l, "ann", path, again, &a), 403);
	assert_non_null(strstr(a.text, "not yours"));
	lab_close(&l);
}

/* What was filled in is asked for anew: a unit that began, one that is another's now */
static void what_was_filled_in_is_not_remembered_with_its_request(void **state)
{
	static const struct lab_run before[] = {
		{"1", "alpha", "ann", NOW - HOUR_MS, NOW - LAB_MINUTE_MS},
	};
	static const struct lab_run after[] = {
		{"1", "alpha", "bob", NOW - HOUR_MS, NOW - LAB_MINUTE_MS},
		{"6", "alpha", "ann", NOW + 1000, INT64_MAX},
	};
	static const struct lab_run more[] = {
		{"6", "alpha", "ann", NOW + 1000, INT64_MAX},
		{"9", "alpha", "ann", NOW + 6000, INT64_MAX},
	};
	static const char *const path = "/api/v1/labels",
				 *const query = "start=1699999000&end=1700000100";
	struct lab_asked a;
	struct lab l;

	(void)state;
	lab_open(&l, before, 1);
	assert_int_equal(lab_get(&l, "ann", path, query, &a), 0);
	assert_non_null(strstr(a.text, "uuid%3D~%221%22"));
	set_runs(&l, after, 2);
	lab_wait_ms(&l, 5000); /* limits.unknown */
	assert_int_equal(lab_get(&l, "ann", path, query, &a), 0);
	assert_non_null(strstr(a.text, "uuid%3D~%226%22"));
	assert_null(strstr(a.text, "uuid%3D~%221"));
	/* a new one beside one that runs on */
	set_runs(&l, more, 2);
	lab_wait_ms(&l, 5000);
	assert_int_equal(lab_get(&l, "ann", path, query, &a), 0);
	assert_non_null(strstr(a.text, "uuid%3D~%226%7C9%22"));
	lab_close(&l);
}

static void an_admin_who_is_none_any_more_is_none(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.role = "admin";
	l.role_of = "boss";
	assert_int_equal(lab_query(&l, "boss", "ceems_a", NULL), 0);
	assert_int_equal(lab_get(&l, "boss", "/api/v1/targets", NULL, NULL), 0);
	assert_int_equal(lab_query(&l, "ann", "ceems_a", NULL), 403);
	pthread_mutex_lock(&l.mutex);
	l.role = NULL;
	pthread_mutex_unlock(&l.mutex);
	lab_wait_ms(&l, 59999);
	assert_int_equal(lab_query(&l, "boss", "ceems_a", NULL), 0);
	lab_wait_ms(&l, 1);
	assert_int_equal(lab_query(&l, "boss", "ceems_a", NULL), 403);
	assert_int_equal(lab_get(&l, "boss", "/api/v1/targets", NULL, NULL), 403);
	lab_close(&l);
}

/* 23, 24: whose it is says the aggregator alone; a login is compared whole. */
static void names_are_whole_names(void **state)
{
	static const char *const names[] = {"an",    "annn", "Ann",
					    "ann@x", "ann.", "svc"};
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(lab_query(&l, names[i], "ceems_a{uuid=\"1\"}", NULL),
				 403);
	assert_int_equal(lab_query(&l, "ann\n", "ceems_a{uuid=\"1\"}", NULL), 400);
	assert_int_equal(lab_query(&l, "", "ceems_a{uuid=\"1\"}", NULL), 400);
	lab_close(&l);
}

/* ---- E. identity ----------------------------------------------------------------- */

/* 25 */
static void a_header_alone_is_never_enough(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	for (int i = 0; i < 5; i++) {
		struct lab_asked a = {
			.r = {.input = {.path = "/api/v1/query", .query = "query=1"},
			      .cluster_headers = 1,
			      .cluster_header = "alpha"}};

		lab_user(&a, i == 4 ? "ceems-int-svc" : "ann");
		if (i == 0)
			a.facts.password_user = NULL;
		if (i == 1)
			a.facts.password_user = "prometheus"; /* no front end */
		if (i == 2)
			a.facts.user[0].count = 2;
		if (i == 3)
			a.facts.authorizations = 2;
		lab_pass(&l, &a);
		assert_int_equal(a.r.status, i == 4 ? 0 : i < 2 ? 401 : 400);
	}
	/* the peer's own service name has no rights here */
	assert_int_equal(lab_query(&l, "ceems-int-svc", "ceems_a", NULL), 403);
	lab_close(&l);
}

/* 26, and all ways in which the aggregator may fail */
static void whatever_the_aggregator_does_nothing_opens(void **state)
{
	static const struct {
		int fail;
		const char *body;
	} ways[] = {
		{-EHOSTDOWN, NULL},
		{-ETIMEDOUT, NULL},
		{-EFBIG, NULL},
		{-EACCES, NULL},
		{0, ""},
		{0, "<html>"},
		{0, "{\"status\":\"success\",\"data\":[{\"role\":\"admin\""},
		{0, "{\"status\":\"success\",\"data\":[]}"},
		{0, "{\"status\":\"success\",\"data\":[{\"role\":\"admin\"}]}"},
		{0,
		 "{\"status\":\"error\",\"data\":[{\"role\":\"admin\",\"units\":[]}]}"},
		{0, "{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":"
		    "[[\"2\",0,null,true]]}]}"},
		{0, "{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":"
		    "[[\"3\",0,null]]}]}"},
		{0, "{\"status\":\"success\",\"data\":[{\"role\":\"user\",\"units\":"
		    "[[\"3\",0,null,\"true\"]]}]}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct lab l;
		struct lab_asked a;

		lab_open(&l, runs, RUNS);
		l.fail = ways[i].fail;
		l.body = ways[i].body;
		assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"3\"}", &a), 503);
		assert_non_null(strstr(a.text, "the aggregator does not answer"));
		assert_string_equal(a.r.retry_after, "5");
		assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", &a), 503);
		assert_int_equal(lab_query(&l, "ann", "ceems_a", &a), 403);
		assert_int_equal(lab_get(&l, "ann", "/federate", NULL, &a), 403);
		/* (one of them is a list of own units, as good as any) */
		assert_int_equal(lab_get(&l, "ann", "/api/v1/labels", NULL, &a),
				 ways[i].body && strstr(ways[i].body, "\"2\"") ? 0
									       : 503);
		/* what needs no answer is answered */
		assert_int_equal(lab_query(&l, "ann", "1+1", &a), 0);
		lab_close(&l);
	}
}

static void
what_is_remembered_outlives_the_aggregator_until_its_time_is_over(void **state)
{
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 0);
	pthread_mutex_lock(&l.mutex);
	l.fail = -EHOSTDOWN;
	pthread_mutex_unlock(&l.mutex);
	lab_wait_ms(&l, 59000);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 0);
	lab_wait_ms(&l, 1000);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 503);
	pthread_mutex_lock(&l.mutex);
	l.fail = 0;
	pthread_mutex_unlock(&l.mutex);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 0);
	lab_close(&l);
}

/* ---- G. 34, 35: limits of a user ------------------------------------------------- */

static void a_user_has_limits_of_their_own(void **state)
{
	struct lab l;
	struct lab_asked a;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.site.limits.user_rate = 2;
	l.site.limits.user_burst = 4;
	gate_set_site(l.gate, &l.site);
	for (int i = 0; i < 4; i++)
		assert_int_equal(lab_query(&l, "ann", "1+1", NULL), 0);
	assert_int_equal(lab_query(&l, "ann", "1+1", &a), 429);
	assert_string_equal(a.r.retry_after, "1");
	assert_int_equal(lab_query(&l, "bob", "1+1", NULL), 0);
	lab_wait_ms(&l, 500);
	assert_int_equal(lab_query(&l, "ann", "1+1", NULL), 0);
	assert_int_equal(lab_query(&l, "ann", "1+1", NULL), 429);
	lab_close(&l);
}

static void a_user_has_so_many_requests_at_a_time(void **state)
{
	struct lab l;
	struct lab_asked a[3];

	(void)state;
	lab_open(&l, runs, RUNS);
	l.site.limits.user_requests = 2;
	gate_set_site(l.gate, &l.site);
	for (int i = 0; i < 3; i++) {
		a[i] = (struct lab_asked){
			.r = {.input = {.path = "/api/v1/query", .query = "query=1"},
			      .facts = &a[i].facts,
			      .cluster_headers = 1,
			      .cluster_header = "alpha"}};
		lab_user(&a[i], "ann");
		assert_int_equal(gate_pass(l.gate, &a[i].r), GATE_DONE);
		assert_int_equal(a[i].r.status, i < 2 ? 0 : 429);
	}
	/* one that was refused does not count, nor one that is over */
	gate_end(l.gate, &a[2].r);
	assert_int_equal(lab_query(&l, "ann", "1", NULL), 429);
	gate_end(l.gate, &a[0].r);
	assert_int_equal(lab_query(&l, "ann", "1", NULL), 0);
	gate_end(l.gate, &a[1].r);
	lab_close(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_text_of_a_query_reads_what_is_of_others),
		cmocka_unit_test(no_parameter_and_no_path_is_a_way_around),
		cmocka_unit_test(each_request_is_refused_to_whoever_does_not_own_it),
		cmocka_unit_test(labels_without_match_are_narrowed_not_opened),
		cmocka_unit_test(
			labels_of_a_number_that_was_anothers_lately_are_not_filled_in),
		cmocka_unit_test(clusters_are_one_at_a_time_and_never_mixed),
		cmocka_unit_test(rights_that_were_taken_away_end_in_time),
		cmocka_unit_test(a_request_that_came_before_does_not_outlive_its_right),
		cmocka_unit_test(what_was_filled_in_is_not_remembered_with_its_request),
		cmocka_unit_test(an_admin_who_is_none_any_more_is_none),
		cmocka_unit_test(names_are_whole_names),
		cmocka_unit_test(a_header_alone_is_never_enough),
		cmocka_unit_test(whatever_the_aggregator_does_nothing_opens),
		cmocka_unit_test(
			what_is_remembered_outlives_the_aggregator_until_its_time_is_over),
		cmocka_unit_test(a_user_has_limits_of_their_own),
		cmocka_unit_test(a_user_has_so_many_requests_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
