/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>

#include "lb/pyroscope/pyro_request.h"
#include "test/unit/pyro_lab.h"

#define RPC(name) "/querier.v1.QuerierService/" name
#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

/* querierv1connect of github.com/grafana/pyroscope/api v1.6.0 */
static const char *const rpcs[] = {
	"SelectMergeStacktraces",
	"SelectMergeSpanProfile",
	"SelectMergeProfile",
	"SelectSeries",
	"SelectHeatmap",
	"Diff",
	"LabelNames",
	"LabelValues",
	"Series",
	"ProfileTypes",
	"GetProfileStats",
	"AnalyzeQuery",
};
#define RPCS (sizeof(rpcs) / sizeof(rpcs[0]))
/* as the generated client sends them */
static const char *const forms[] = {
	"proto",    "proto-gzip", "json", "json-gzip",     "web",
	"web-gzip", "web-json",   "get",  "get-json-gzip",
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

static const char *const own[] = {"4711", "4712", NULL};
static const struct access_policy narrow = {
	.families = lab_families,
	.family_count = 1,
	.lookback_ms = 300000, /* of metrics: profiles have none */
	.narrow_max = 10,
};
static const struct access_policy strict = {
	.families = lab_families,
	.family_count = 1,
};
static const struct access_policy clusters = {
	.families = lab_families,
	.family_count = 1,
	.cluster_label = "cluster",
	.cluster = "c1",
	.inject_max = 10,
	.narrow_max = 10,
};

static void load(const char *call, const char *form, struct lab_record *r)
{
	char path[128];

	snprintf(path, sizeof(path), "test/fixture/pyroscope/%s.%s", call, form);
	lab_load(path, r);
}

/* A POST of JSON */
static void post(const char *rpc, const char *json, const struct access_policy *policy,
		 struct pyro_lab *l)
{
	char path[128];
	struct protocol_input in = {.post = true,
				    .path = path,
				    .body = json,
				    .body_len = strlen(json),
				    .content_type = "application/json",
				    .now_ms = NOW_MS};

	snprintf(path, sizeof(path), RPC("%s"), rpc);
	lab_run(&in, policy, own, l);
}

static void each_call_of_the_api_has_a_row_and_what_has_none_is_closed(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		enum protocol_verdict get, post;
	} rows[] = {
		{RPC("SelectMergeStacktraces"), PROTOCOL_PROVE, PROTOCOL_PROVE},
		{RPC("ProfileTypes"), PROTOCOL_PUBLIC, PROTOCOL_PUBLIC},
		{RPC("GetProfileStats"), PROTOCOL_ANSWER, PROTOCOL_ANSWER},
		{RPC("AnalyzeQuery"), PROTOCOL_ROLE, PROTOCOL_ROLE},
		{"/pyroscope/render", PROTOCOL_PROVE, PROTOCOL_CLOSED},
		{"/pyroscope/render-diff", PROTOCOL_PROVE, PROTOCOL_CLOSED},
		{"/pyroscope/label-values", PROTOCOL_ROLE, PROTOCOL_CLOSED},
		{"/api/v1/status/buildinfo", PROTOCOL_PUBLIC, PROTOCOL_CLOSED},
	};
	static const char *const closed[] = {
		"/",
		"",
		"/ingest",
		"/pyroscope/ingest",
		"/push.v1.PusherService/Push",
		"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
		"Export",
		"/v1development/profiles",
		"/settings.v1.SettingsService/Get",
		"/adhocprofiles.v1.AdHocProfileService/Upload",
		"/vcs.v1.VCSService/GetFile",
		"/ingester.v1.IngesterService/Push",
		"/storegateway.v1.StoreGatewayService/Series",
		"/metastore.v1.QueryService/QueryMetadata",
		"/query.v1.QueryFrontendService/Query",
		"/querier.v1.QuerierService/SelectSandwich",
		"/querier.v1.QuerierService/",
		"/querier.v1.QuerierService/Series/",
		"/querier.v1.QuerierService/series",
		"/querier.v1.QuerierService//Series",
		"/querier.v2.QuerierService/Series",
		"/x/querier.v1.QuerierService/Series",
		"/admin",
		"/ops/object-store/tenants",
		"/debug/pprof/profile",
		"/api/v1/tenant_limits",
		"/pyroscope/render/",
		"/pyroscope/",
		"/render",
		"/memberlist",
	};

	for (size_t i = 0; i < RPCS; i++) {
		char path[128];

		snprintf(path, sizeof(path), RPC("%s"), rpcs[i]);
		assert_int_not_equal(protocol_pyroscope.verdict(path, true),
				     PROTOCOL_CLOSED);
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(protocol_pyroscope.verdict(rows[i].path, false),
				 rows[i].get);
		assert_int_equal(protocol_pyroscope.verdict(rows[i].path, true),
				 rows[i].post);
	}
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
		struct protocol_input in = {.path = closed[i]};
		void *request;
		struct err err;

		assert_int_equal(protocol_pyroscope.verdict(closed[i], true),
				 PROTOCOL_CLOSED);
		assert_int_equal(protocol_pyroscope.verdict(closed[i], false),
				 PROTOCOL_CLOSED);
		assert_int_equal(protocol_pyroscope.read(&in, &request, &err), -EACCES);
	}
}

/* Nothing is to be changed in what the client asked for, so the bytes that go on are
 * those that Pyroscope's own code makes of it. */
static void each_call_is_written_as_the_real_client_writes_it(void **state)
{
	(void)state;
	static const struct {
		const char *form, *as, *type;
	} rows[] = {
		{"proto", "proto", "application/proto"},
		{"proto-gzip", "proto", "application/proto"},
		{"get", "proto", "application/proto"},
		{"web", "web", "application/grpc-web+proto"},
		{"web-gzip", "web", "application/grpc-web+proto"},
	};

	for (size_t c = 0; c < RPCS; c++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct lab_record r, want;
			struct pyro_lab l;

			load(rpcs[c], rows[i].form, &r);
			load(rpcs[c], rows[i].as, &want);
			lab_run(&r.in, &strict, own, &l);
			if (l.rc)
				fail_msg("%s.%s: %s", rpcs[c], rows[i].form,
					 l.err.text);
			assert_false(l.call.get);
			assert_string_equal(l.call.target.data, want.in.path);
			assert_string_equal(l.call.content_type, rows[i].type);
			assert_int_equal(l.call.body.len, want.in.body_len);
			if (want.in.body_len)
				assert_memory_equal(l.call.body.data, want.in.body,
						    want.in.body_len);
			lab_done(&l);
			lab_unload(&r);
			lab_unload(&want);
		}
}

/* The same of JSON, and of all forms among themselves: one message. */
static void all_forms_of_a_call_are_the_same_message(void **state)
{
	(void)state;
	for (size_t c = 0; c < RPCS; c++) {
		auto_buf struct buf first = BUF_INIT;

		for (size_t i = 0; i < FORMS; i++) {
			auto_buf struct buf text = BUF_INIT;
			struct pyro_request *q = NULL;
			struct lab_record r;
			struct err err = {0};

			load(rpcs[c], forms[i], &r);
			if (pyro_request_read(&r.in, &q, &err))
				fail_msg("%s.%s: %s", rpcs[c], forms[i], err.text);
			pyro_write_json(q->message, i ? &text : &first);
			if (i)
				assert_string_equal(text.data, first.data);
			assert_int_equal(q->form.json, strstr(forms[i], "json") != 0);
			pyro_request_free(q);
			lab_unload(&r);
		}
	}
}

static void each_selector_is_claimed_for_the_time_it_reads(void **state)
{
	(void)state;
#define DATA "1700000000000 1700003600000;"
#define DAY_AROUND "1699913600000 1700090000000;"
	static const struct {
		const char *rpc, *claims;
	} rows[] = {
		{"SelectMergeStacktraces", "4711 " DATA},
		{"SelectMergeSpanProfile", "4711 " DATA},
		{"SelectMergeProfile", "4711 " DATA},
		/* one step more, as the first point looks back */
		{"SelectSeries", "4711 1699999984750 1700003600000;"},
		{"SelectHeatmap", "4711 1699999999900 1700003600000;"},
		{"Diff", "4711 " DATA "4712 " DATA},
		/* labels are kept with blocks of hours */
		{"LabelNames", "4711 " DAY_AROUND "4712 " DAY_AROUND},
		{"LabelValues", "4711 " DAY_AROUND "4712 " DAY_AROUND},
		{"Series", "4711 " DAY_AROUND "4712 " DAY_AROUND},
		{"ProfileTypes", ""},
		{"GetProfileStats", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lab_record r;
		struct pyro_lab l;

		load(rows[i].rpc, "json", &r);
		lab_run(&r.in, &narrow, own, &l);
		assert_int_equal(l.rc, 0);
		assert_string_equal(l.claims, rows[i].claims);
		lab_done(&l);
		lab_unload(&r);
	}
}

/* Refused with -EACCES and words that tell what to change */
static void what_is_not_proved_is_refused(void **state)
{
	(void)state;
#define Q(selector)                                                                    \
	"{\"profileTypeID\":\"" CPU "\",\"labelSelector\":\"" selector                 \
	"\",\"start\":1700000000000,\"end\":1700003600000,\"step\":15}"
#define M(matchers)                                                                    \
	"{\"matchers\":[" matchers "],\"start\":1700000000000,\"end\":1700003600000}"
#define SIDE(selector) Q(selector)
	static const struct {
		const char *rpc, *json, *why;
	} rows[] = {
		{"SelectSeries", Q("{service_name=\\\"4713\\\"}"), "4713 is not yours"},
		{"SelectSeries", Q("{service_name=~\\\"4711|4713\\\"}"),
		 "4713 is not yours"},
		{"SelectSeries", Q("{service_name=~\\\".+\\\"}"), "service_name="},
		{"SelectSeries", Q("{service_name=~\\\"471.\\\"}"), "service_name="},
		{"SelectSeries", Q("{service_name!=\\\"4713\\\",a=\\\"b\\\"}"),
		 "service_name="},
		{"SelectSeries", Q("{service_name=\\\"\\\",a=\\\"b\\\"}"),
		 "service_name="},
		{"SelectSeries", Q("{a=\\\"b\\\"}"), "service_name="},
		{"SelectSeries", Q("{}"), "service_name="},
		{"SelectSeries", Q(""), "service_name="},
		{"SelectSeries", Q("{uuid=\\\"4711\\\"}"), "service_name="},
		{"SelectSeries", Q("{a=\\\"service_name=\\\\\\\"4711\\\\\\\"\\\"}"),
		 "service_name="},
		{"SelectMergeStacktraces", Q("process_cpu"), "service_name="},
		{"SelectMergeProfile", Q("{service_name=\\\"4713\\\"}"), "4713"},
		{"SelectMergeSpanProfile", Q("{service_name=\\\"4713\\\"}"), "4713"},
		{"SelectHeatmap", Q("{service_name=\\\"4713\\\"}"), "4713"},
		/* a union is as good as its worst member */
		{"Series",
		 M("\"{service_name=\\\"4711\\\"}\",\"{service_name=\\\"4713\\\"}\""),
		 "4713"},
		{"Series", M("\"{service_name=\\\"4711\\\"}\",\"{a=~\\\".+\\\"}\""),
		 "service_name="},
		{"LabelNames", M("\"{service_name=\\\"4711\\\"}\",\"{}\""),
		 "service_name="},
		{"LabelValues", M("\"{service_name=\\\"4711\\\"}\",\"\""),
		 "service_name="},
		{"Series", M(""), "service_name="},
		{"LabelNames", "{}", "service_name="},
		{"Diff",
		 "{\"left\":" SIDE("{service_name=\\\"4711\\\"}") ",\"right\":" SIDE(
			 "{service_name=\\\"4713\\\"}") "}",
		 "4713"},
		{"Diff",
		 "{\"left\":" SIDE("{service_name=\\\"4713\\\"}") ",\"right\":" SIDE(
			 "{service_name=\\\"4711\\\"}") "}",
		 "4713"},
		{"Diff",
		 "{\"left\":" SIDE("{service_name=\\\"4711\\\"}") ",\"right\":" SIDE(
			 "{}") "}",
		 "service_name="},
		/* it would be answered with what somebody else asked for */
		{"SelectMergeStacktraces",
		 "{\"profileTypeID\":\"" CPU
		 "\",\"labelSelector\":\"{service_name=\\\"4711\\\"}\",\"async\":{"
		 "\"requestId\":\"x\",\"type\":\"ASYNC_QUERY_TYPE_FORCE\"}}",
		 "request_id"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pyro_lab l;

		post(rows[i].rpc, rows[i].json, &strict, &l);
		if (l.rc != -EACCES || !strstr(l.err.text, rows[i].why))
			fail_msg("%s %s: %d %s", rows[i].rpc, rows[i].json, l.rc,
				 l.err.text);
		lab_done(&l);
	}
}

static void
what_asks_for_labels_of_all_is_narrowed_and_profiles_only_by_hand(void **state)
{
	(void)state;
#define SPAN ",\"start\":1700000000000,\"end\":1700003600000}"
#define MINE "{service_name=~\\\"4711|4712\\\"}"
#define SENT "\"],\"start\":\"1700000000000\",\"end\":\"1700003600000\"}"
	static const struct {
		const struct access_policy *policy;
		const char *rpc, *json, *sent;
	} rows[] = {
		{&narrow, "LabelNames", "{}", "{\"matchers\":[\"" MINE "\"]}"},
		{&narrow, "LabelNames", "{\"start\":\"1700000000000\"" SPAN + 0, NULL},
		{&narrow, "LabelNames", "{\"matchers\":[]" SPAN,
		 "{\"matchers\":[\"" MINE SENT},
		{&narrow, "LabelNames", "{\"matchers\":[\"{ }\"]" SPAN,
		 "{\"matchers\":[\"" MINE SENT},
		{&narrow, "LabelValues",
		 "{\"name\":\"hostname\",\"matchers\":null" SPAN,
		 "{\"name\":\"hostname\",\"matchers\":[\"" MINE SENT},
		{&narrow, "Series",
		 "{\"matchers\":[\"\",\"{service_name=\\\"4711\\\"}\"]" SPAN,
		 "{\"matchers\":[\"" MINE "\",\"{service_name=\\\"4711\\\"}" SENT},
		/* the cluster's matcher on each */
		{&clusters, "Series",
		 "{\"matchers\":[\"{service_name=\\\"4711\\\"}\",\"{a=\\\"b\\\"}"
		 "\"]" SPAN,
		 "{\"matchers\":[\"{service_name=\\\"4711\\\",cluster=\\\"c1\\\"}\",\"{"
		 "a=\\\"b\\\",service_name=~\\\"4711|4712\\\",cluster="
		 "\\\"c1\\\"}" SENT},
		{&clusters, "SelectMergeProfile",
		 "{\"profile_typeID\":\"" CPU "\"" SPAN,
		 "{\"profileTypeID\":\"" CPU "\",\"labelSelector\":\"{service_name=~"
		 "\\\"4711|4712\\\",cluster=\\\"c1"
		 "\\\"}\",\"start\":\"1700000000000\",\"end\":\"1700003600000\"}"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pyro_lab l;

		post(rows[i].rpc, rows[i].json, rows[i].policy, &l);
		if (!rows[i].sent) { /* "start" twice */
			assert_int_equal(l.rc, -EINVAL);
		} else {
			if (l.rc)
				fail_msg("%s: %s", rows[i].json, l.err.text);
			assert_string_equal(l.call.body.data, rows[i].sent);
		}
		lab_done(&l);
	}
}

static void profiles_without_a_unit_are_not_narrowed_as_labels_are(void **state)
{
	(void)state;
	struct pyro_lab l;

	post("SelectMergeProfile", "{\"profile_typeID\":\"" CPU "\"" SPAN, &narrow, &l);
	assert_int_equal(l.rc, -EACCES);
	lab_done(&l);
	post("Series", "{\"matchers\":[\"{a=\\\"b\\\"}\"]" SPAN, &narrow, &l);
	assert_int_equal(l.rc, -EACCES);
	lab_done(&l);
}

static void families_are_by_type_of_profile(void **state)
{
	(void)state;
	static const struct access_family two[] = {{"node:*", NULL, false},
						   {"memory:*", "uuid", false},
						   {"*", "service_name", false}};
	static const struct access_policy policy = {
		.families = two, .family_count = 3, .narrow_max = 10};
#define T(type, selector)                                                              \
	"{\"profileTypeID\":\"" type "\",\"labelSelector\":\"" selector "\"" SPAN
	static const struct {
		const char *rpc, *json;
		int rc;
		const char *claims;
	} rows[] = {
		{"SelectMergeProfile", T("memory:a:b:c:d", "{uuid=\\\"1\\\"}"), -EACCES,
		 "1 " DATA},
		{"SelectMergeProfile", T("memory:a:b:c:d", "{uuid=\\\"4711\\\"}"), 0,
		 "4711 " DATA},
		{"SelectMergeProfile",
		 T("memory:a:b:c:d", "{service_name=\\\"4711\\\"}"), -EACCES, ""},
		{"SelectMergeProfile", T(CPU, "{service_name=\\\"4711\\\"}"), 0,
		 "4711 " DATA},
		{"SelectMergeProfile", T("node:a:b:c:d", "{}"), 0, ""},
		/* of any type: there is no one label */
		{"Series", "{\"matchers\":[\"{service_name=\\\"4711\\\"}\"]" SPAN,
		 -EACCES, ""},
		{"Series", "{}", -EACCES, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pyro_lab l;

		post(rows[i].rpc, rows[i].json, &policy, &l);
		if (l.rc != rows[i].rc || strcmp(l.claims, rows[i].claims) != 0)
			fail_msg("%s: %d %s (%s)", rows[i].json, l.rc, l.err.text,
				 l.claims);
		lab_done(&l);
	}
}

static void what_makes_no_sense_is_a_bad_request(void **state)
{
	(void)state;
	static const struct {
		const char *rpc, *json, *why;
	} rows[] = {
		{"SelectSeries", "{}", "step"},
		{"SelectMergeProfile", "{}", "profile type"},
		{"SelectMergeProfile", "{\"profileTypeID\":\"a:b\"}", "profile type"},
		{"SelectMergeProfile", "{\"profileTypeID\":\"a:b:c:d:e:f:g\"}",
		 "profile type"},
		{"SelectMergeProfile", "{\"profileTypeID\":\"a:b:c:d:e{x}\"}",
		 "profile type"},
		{"SelectMergeProfile", "{\"profileTypeID\":\"a:b:c:d:e\\\"\"}",
		 "profile type"},
		{"SelectMergeProfile", T(CPU, "sum(x)"), "parse error"},
		{"SelectMergeProfile", T(CPU, "{service_name=\\\"4711\\\"} or {}"),
		 "parse error"},
		{"SelectMergeProfile", T(CPU, "{service_name=\\\"4711\\\"}[5m]"),
		 "parse error"},
		{"SelectMergeProfile", T(CPU, "{}{}"), "parse error"},
		{"SelectMergeProfile", T(CPU, "}{"), "parse error"},
		{"SelectMergeProfile", T(CPU, "{} # all"), "non-empty"},
		{"SelectMergeProfile", T(CPU, "{a=~\\\"(\\\"}"), "missing"},
		{"SelectMergeProfile",
		 "{\"profileTypeID\":\"" CPU "\",\"start\":5,\"end\":4}", "before"},
		{"SelectMergeProfile",
		 "{\"profileTypeID\":\"" CPU "\",\"start\":-5,\"end\":4}", "1970"},
		{"SelectMergeProfile",
		 "{\"profileTypeID\":\"" CPU "\",\"end\":9223372036854775807}", "1970"},
		{"LabelNames", "{\"start\":1,\"end\":253402300799001}", "1970"},
		{"SelectSeries",
		 "{\"profileTypeID\":\"" CPU "\",\"step\":-1,\"labelSelector\":\"{}\"}",
		 "step"},
		{"SelectSeries", "{\"profileTypeID\":\"" CPU "\",\"step\":1e300}",
		 "step"},
		{"Diff", "{}", "left and a right"},
		{"Diff", "{\"left\":" T(CPU, "{}") "}", "left and a right"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pyro_lab l;

		post(rows[i].rpc, rows[i].json, &clusters, &l);
		if (l.rc != -EINVAL || !strstr(l.err.text, rows[i].why))
			fail_msg("%s %s: %d %s", rows[i].rpc, rows[i].json, l.rc,
				 l.err.text);
		lab_done(&l);
	}
}

static void the_cluster_is_what_the_selectors_name(void **state)
{
	(void)state;
#define CLUSTER(a, b)                                                                  \
	"{\"matchers\":[\"{service_name=\\\"4711\\\"" a                                \
	"}\",\"{service_name=\\\"4711\\\"" b "}\"]}"
	static const struct {
		const char *json;
		int rc;
		const char *name;
	} rows[] = {
		{CLUSTER("", ""), 0, NULL},
		{CLUSTER("", ",cluster=\\\"c1\\\""), 1, "c1"},
		{CLUSTER(",cluster=\\\"c1\\\"", ",cluster=\\\"c1\\\""), 1, "c1"},
		{CLUSTER(",cluster=\\\"c1\\\"", ",cluster=\\\"c2\\\""), -EINVAL, NULL},
		{CLUSTER(",cluster=\\\"c1\\\",cluster=\\\"c2\\\"", ""), -EINVAL, NULL},
		{CLUSTER(",cluster=~\\\"c1\\\"", ",ceems_id=\\\"c1\\\""), 0, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct protocol_input in = {.post = true,
					    .path = RPC("Series"),
					    .body = rows[i].json,
					    .body_len = strlen(rows[i].json),
					    .content_type = "application/json"};
		const char *name = NULL;
		struct err err = {0};
		void *r;

		assert_int_equal(protocol_pyroscope.read(&in, &r, &err), 0);
		assert_int_equal(protocol_pyroscope.cluster(r, "cluster", &name, &err),
				 rows[i].rc);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
		protocol_pyroscope.free(r);
	}
}

static void a_backend_is_chosen_by_the_time_touched(void **state)
{
	(void)state;
	struct pyro_lab l;

	post("SelectSeries", Q("{service_name=\\\"4711\\\"}"), &strict, &l);
	assert_int_equal(l.call.from_ms, 1699999985000);
	assert_int_equal(l.call.to_ms, 1700003600000);
	lab_done(&l);
	post("LabelNames", "{}", &narrow, &l);
	assert_int_equal(l.call.from_ms, INT64_MIN);
	assert_int_equal(l.call.to_ms, INT64_MAX);
	lab_done(&l);
	post("ProfileTypes", "{}", &strict, &l);
	assert_int_equal(l.call.from_ms, INT64_MIN);
	lab_done(&l);
}

static void statistics_are_answered_without_asking(void **state)
{
	(void)state;
	static const struct {
		const char *form, *type, *body;
		size_t len;
	} rows[] = {
		{"json", "application/json",
		 "{\"dataIngested\":true,\"newestProfileTime\":\"1700003600500\"}", 0},
		{"proto", "application/proto", "\x08\x01\x18\xf4\xb0\xf1\x80\xbd\x31",
		 9},
		{"web", "application/grpc-web+proto",
		 "\0\0\0\0\x09\x08\x01\x18\xf4\xb0\xf1\x80\xbd\x31\x80\0\0\0\x10"
		 "grpc-status: 0\r\n",
		 35},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_buf struct buf out = BUF_INIT;
		const char *type = NULL;
		struct lab_record r;
		struct err err = {0};
		void *q;

		load("GetProfileStats", rows[i].form, &r);
		assert_int_equal(protocol_pyroscope.read(&r.in, &q, &err), 0);
		assert_int_equal(protocol_pyroscope.answer(q, &out, &type, &err), 0);
		assert_string_equal(type, rows[i].type);
		assert_int_equal(out.len, rows[i].len ?: strlen(rows[i].body));
		assert_memory_equal(out.data, rows[i].body, out.len);
		protocol_pyroscope.free(q);
		lab_unload(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			each_call_of_the_api_has_a_row_and_what_has_none_is_closed),
		cmocka_unit_test(each_call_is_written_as_the_real_client_writes_it),
		cmocka_unit_test(all_forms_of_a_call_are_the_same_message),
		cmocka_unit_test(each_selector_is_claimed_for_the_time_it_reads),
		cmocka_unit_test(what_is_not_proved_is_refused),
		cmocka_unit_test(
			what_asks_for_labels_of_all_is_narrowed_and_profiles_only_by_hand),
		cmocka_unit_test(
			profiles_without_a_unit_are_not_narrowed_as_labels_are),
		cmocka_unit_test(families_are_by_type_of_profile),
		cmocka_unit_test(what_makes_no_sense_is_a_bad_request),
		cmocka_unit_test(the_cluster_is_what_the_selectors_name),
		cmocka_unit_test(a_backend_is_chosen_by_the_time_touched),
		cmocka_unit_test(statistics_are_answered_without_asking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
