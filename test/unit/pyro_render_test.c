/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>

#include "lb/pyroscope/pyro_request.h"
#include "test/unit/pyro_lab.h"

#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define CPU_SENT "process_cpu%3Acpu%3Ananoseconds%3Acpu%3Ananoseconds"
#define CPU_MINE CPU_SENT "%7Bservice_name%3D%224711%22%7D"
#define RENDER "/pyroscope/render"
#define DIFF "/pyroscope/render-diff"

static const char *const own[] = {"4711", "4712", NULL};
static const struct access_policy strict = {.families = lab_families,
					    .family_count = 1};
static const struct access_policy filled = {.families = lab_families,
					    .family_count = 1,
					    .cluster_label = "cluster",
					    .cluster = "c1",
					    .inject_max = 10};

static void get(const char *path, const char *query, const struct access_policy *policy,
		struct pyro_lab *l)
{
	const struct protocol_input in = {
		.path = path, .query = query, .now_ms = NOW_MS};

	lab_run(&in, policy, own, l);
}

static void forms_are_made_anew_with_times_in_seconds(void **state)
{
	(void)state;
#define Q "?query=" CPU_MINE
#define LATEST "&from=1700000000&until=1700003600"
	static const struct {
		const char *path, *query, *target, *claims;
	} rows[] = {
		{RENDER, "query=" CPU "{service_name=%224711%22}", RENDER Q LATEST,
		 "4711 1699999933000 1700003600999;"},
		{RENDER, "query=off_cpu:off_cpu:nanoseconds::{service_name=%224711%22}",
		 RENDER "?query=off_cpu%3Aoff_cpu%3Ananoseconds%3A%3A%7Bservice_name%3D"
			"%224711%22%7D" LATEST,
		 "4711 1699999933000 1700003600999;"},
		{RENDER, "until=now&query=" CPU_MINE "&from=now-1h", RENDER Q LATEST,
		 "4711 1699999933000 1700003600999;"},
		{RENDER, "query=" CPU_MINE "&from=1700000000&until=1700003600",
		 RENDER Q LATEST, "4711 1699999933000 1700003600999;"},
		{RENDER, "query=" CPU_MINE "&from=1700000000000&until=1700003600000000",
		 RENDER Q LATEST, "4711 1699999933000 1700003600999;"},
		{RENDER, "query=" CPU_MINE "&from=now-60m&until=1700003600000000000",
		 RENDER Q LATEST, "4711 1699999933000 1700003600999;"},
		{RENDER, "query=" CPU_MINE "&from=0&until=now-1d",
		 RENDER Q "&from=0&until=1699917200",
		 "4711 -3399894000 1699917200999;"},
		{RENDER,
		 "query=" CPU_MINE "&format=dot&maxNodes=100&max-nodes=7&x=y&"
		 "aggregation=avg&groupBy=a&groupBy=b&limit=5&name=z" LATEST,
		 RENDER Q LATEST "&format=dot&aggregation=avg&max-nodes=7&maxNodes=100&"
				 "limit=5&groupBy=a&groupBy=b",
		 "4711 1699999933000 1700003600999;"},
		{RENDER, "query=" CPU_MINE "&format=secret&aggregation=max" LATEST,
		 RENDER Q LATEST, "4711 1699999933000 1700003600999;"},
		{DIFF,
		 "leftQuery=" CPU_MINE "&rightQuery=" CPU
		 "%7Bservice_name=%224712%22%7D&rightFrom=now-30m&leftUntil=now-1h",
		 DIFF "?leftQuery=" CPU_MINE "&rightQuery=" CPU_SENT
		      "%7Bservice_name%3D%224712%22%7D&leftFrom=1700000000&"
		      "leftUntil=1700000000&rightFrom=1700001800&rightUntil=1700003600",
		 "4711 1699999940000 1700000000999;4712 1700001737000 1700003600999;"},
		{"/api/v1/status/buildinfo", "x=y", "/api/v1/status/buildinfo", ""},
		{"/pyroscope/label-values", "label=a&x=y",
		 "/pyroscope/label-values?label=a", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pyro_lab l;

		get(rows[i].path, rows[i].query, &strict, &l);
		if (l.rc)
			fail_msg("%s?%s: %s", rows[i].path, rows[i].query, l.err.text);
		assert_true(l.call.get);
		assert_null(l.call.content_type);
		assert_int_equal(l.call.body.len, 0);
		assert_string_equal(l.call.target.data, rows[i].target);
		assert_string_equal(l.claims, rows[i].claims);
		lab_done(&l);
	}
}

static void only_fixed_times_are_of_no_time(void **state)
{
	(void)state;
	static const struct {
		const char *query;
		bool timeless;
	} rows[] = {
		{"query=" CPU_MINE LATEST, true},
		{"query=" CPU_MINE "&from=1700000000", false},
		{"query=" CPU_MINE "&from=now-1h&until=1700003600", false},
	};

	for (size_t i = 0; i < 3; i++) {
		struct pyro_lab l;

		get(RENDER, rows[i].query, &strict, &l);
		assert_int_equal(l.rc, 0);
		assert_int_equal(l.call.timeless, rows[i].timeless);
		lab_done(&l);
	}
}

static void what_is_not_proved_or_makes_no_sense_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *path, *query;
		int rc;
		const char *why;
	} rows[] = {
		{RENDER, "query=" CPU "{service_name=%224713%22}", -EACCES, "4713"},
		{RENDER, "query=" CPU "{}", -EACCES, "service_name="},
		{RENDER, "query=" CPU, -EACCES, "service_name="},
		{DIFF, "leftQuery=" CPU_MINE "&rightQuery=" CPU, -EACCES,
		 "service_name="},
		{DIFF, "rightQuery=" CPU_MINE "&leftQuery=" CPU, -EACCES,
		 "service_name="},
		{DIFF, "leftQuery=" CPU_MINE, -EINVAL, "\"rightQuery\" is missing"},
		{DIFF, "query=" CPU_MINE, -EINVAL, "\"leftQuery\" is missing"},
		{RENDER, "", -EINVAL, "\"query\" is missing"},
		{RENDER, NULL, -EINVAL, "\"query\" is missing"},
		{RENDER, "query=", -EINVAL, "the profile type"},
		{RENDER, "query=%7B%7D", -EINVAL, "the profile type"},
		{RENDER, "query=%7B__name__=%22" CPU "%22%7D", -EINVAL,
		 "the profile type"},
		{RENDER, "query=" CPU "%7B__name__=%22a:b:c:d:e%22%7D", -EINVAL,
		 "set twice"},
		{RENDER, "query=process_cpu", -EINVAL, "profile type"},
		{RENDER, "query=" CPU_MINE "&query=" CPU_MINE, -EINVAL,
		 "appears twice"},
		{RENDER, "query=" CPU_MINE "&from=1&from=2", -EINVAL, "appears twice"},
		/* a date to one reader, a time to another, now to a third */
		{RENDER, "query=" CPU_MINE "&from=20231114", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=2023_1114", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=16000000000000", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=0016000000", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=yesterday", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=now%2B1h", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=now-1", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=now-1h2m", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=now-99y", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&from=-5", -EINVAL, "\"from\""},
		{RENDER, "query=" CPU_MINE "&until=now-2h", -EINVAL, "before"},
		{RENDER, "query=" CPU_MINE "&maxNodes=-1", -EINVAL, "maxNodes"},
		{RENDER, "query=" CPU_MINE "&limit=1e3", -EINVAL, "limit"},
		{RENDER, "query=" CPU_MINE "&groupBy=%FF", -EINVAL, "groupBy"},
		{RENDER, "query=" CPU_MINE "%00", -EINVAL, "NUL"},
		{"/pyroscope/label-values", "", -EINVAL, "label"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pyro_lab l;

		get(rows[i].path, rows[i].query, &strict, &l);
		if (l.rc != rows[i].rc || !strstr(l.err.text, rows[i].why))
			fail_msg("%s?%s: %d %s", rows[i].path, rows[i].query, l.rc,
				 l.err.text);
		lab_done(&l);
	}
}

static void a_query_is_narrowed_where_the_site_says_so(void **state)
{
	(void)state;
	struct pyro_lab l;

	get(RENDER, "query=" CPU LATEST, &filled, &l);
	assert_int_equal(l.rc, 0);
	assert_string_equal(l.call.target.data, RENDER
			    "?query=" CPU_SENT "%7Bservice_name%3D~%224711%7C4712%22%2C"
			    "cluster%3D%22c1%22%7D" LATEST);
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_are_made_anew_with_times_in_seconds),
		cmocka_unit_test(only_fixed_times_are_of_no_time),
		cmocka_unit_test(what_is_not_proved_or_makes_no_sense_is_refused),
		cmocka_unit_test(a_query_is_narrowed_where_the_site_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
