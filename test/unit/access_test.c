/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/promql/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/promql_random.h"
#include "test/unit/promql_world.h"
#include "test/unit/unit.h"

#define MINUTE_MS 60000ll
#define LOOKBACK_MS (5 * MINUTE_MS)
#define NOW_MS 1700000000000ll

static const struct access_family families[] = {
	{"ceems_emissions_*", NULL, false}, {"ceems_node_*", NULL, true},
	{"ceems_*", "uuid", false},         {"uuid:*", "uuid", false},
	{"DCGM_*", "hpc_job", false},       {"up", NULL, false},
};
static const struct access_policy policy = {
	.families = families,
	.family_count = sizeof(families) / sizeof(families[0]),
	.cluster_label = "cluster",
	.cluster = "alpha",
	.lookback_ms = LOOKBACK_MS,
};

/* ---- who owns what in these tests ------------------------------------------------ */

struct run {
	const char *id, *cluster, *owner;
	int64_t from_ms, to_ms;
};

static struct run runs[] = {
	{"1", "alpha", "ann", NOW_MS - 60 * MINUTE_MS, NOW_MS},
	{"2", "alpha", "ann", NOW_MS - 600 * MINUTE_MS, NOW_MS - 300 * MINUTE_MS},
	{"3", "alpha", "bob", NOW_MS - 60 * MINUTE_MS, NOW_MS},
	/* the id of a job of ann's was bob's last year */
	{"4", "alpha", "bob", NOW_MS - 500000 * MINUTE_MS, NOW_MS - 499000 * MINUTE_MS},
	{"4", "alpha", "ann", NOW_MS - 60 * MINUTE_MS, NOW_MS},
	{"1", "beta", "bob", NOW_MS - 60 * MINUTE_MS, NOW_MS},
	{"5", "beta", "ann", NOW_MS - 60 * MINUTE_MS, NOW_MS},
	{"a.b-c", "alpha", "ann", NOW_MS - 60 * MINUTE_MS, NOW_MS},
	{"6", "alpha", "bob", NOW_MS - 30 * MINUTE_MS, NOW_MS - 29 * MINUTE_MS},
	{"11", "alpha", "bob", NOW_MS - 60 * MINUTE_MS, NOW_MS},
};
#define RUNS (sizeof(runs) / sizeof(runs[0]))

static bool meets(const struct run *r, int64_t from_ms, int64_t to_ms)
{
	return r->from_ms <= to_ms && r->to_ms >= from_ms;
}

static void answer(struct access_claim *c, const char *user, const char *cluster)
{
	c->answer = ACCESS_UNKNOWN;
	for (size_t i = 0; i < RUNS; i++) {
		const struct run *r = &runs[i];

		if (!str_eq(c->id, r->id) || strcmp(r->cluster, cluster))
			continue;
		if (c->answer == ACCESS_UNKNOWN)
			c->answer = ACCESS_OWN;
		if (meets(r, c->from_ms, c->to_ms) && strcmp(r->owner, user))
			c->answer = ACCESS_FOREIGN;
	}
}

static int fill(struct access_plan *p, const struct access_policy *how,
		const char *user)
{
	for (struct access_unconstrained *g = access_unconstrained_first(p); g;
	     g = g->next) {
		struct str ids[RUNS];
		size_t n = 0;
		int rc;

		for (size_t i = 0; i < RUNS; i++) {
			struct access_claim c = {
				.id = {runs[i].id, (uint32_t)strlen(runs[i].id)},
				.from_ms = g->from_ms,
				.to_ms = g->to_ms};

			answer(&c, user, how->cluster);
			if (!strcmp(runs[i].owner, user) && c.answer == ACCESS_OWN &&
			    meets(&runs[i], g->from_ms, g->to_ms))
				ids[n++] = c.id;
		}
		rc = access_fill(g, ids, n, NULL);
		if (rc)
			return rc;
	}
	return 0;
}

#define STEP_MS (20 * MINUTE_MS)

/* 0 and the text to be sent, or the refusal */
static int ask_in(enum promql_dialect d, const struct access_policy *how,
		  const char *text, const char *user, int64_t start_ms, int64_t end_ms,
		  struct buf *out, struct err *err)
{
	auto_promql struct promql *q = NULL;
	struct access_plan *p = NULL;
	struct access_claim *claims;
	size_t n;
	int rc = promql_parse(text, strlen(text), d, NULL, &q, err)
			 ?: promql_fix_durations(q, end_ms - start_ms, STEP_MS, err);

	if (rc)
		return rc;
	assert_int_equal(access_plan_new(how, &p), 0);
	rc = access_plan_add(p, q, start_ms, end_ms, err);
	if (!rc) {
		claims = access_claims(p, &n);
		for (size_t i = 0; i < n; i++)
			answer(&claims[i], user, how->cluster);
		rc = fill(p, how, user);
	}
	rc = rc ? rc : access_decide(p, err);
	if (!rc) {
		buf_reset(out);
		promql_print(q, out);
	}
	access_plan_free(p);
	return rc;
}

static int ask_as(const struct access_policy *how, const char *text, const char *user,
		  int64_t start_ms, int64_t end_ms, struct buf *out, struct err *err)
{
	return ask_in(PROMQL_2, how, text, user, start_ms, end_ms, out, err);
}

static void may(const char *text, const char *sent)
{
	auto_buf struct buf out = BUF_INIT;
	struct err err = {0};

	if (ask_as(&policy, text, "ann", NOW_MS - MINUTE_MS, NOW_MS, &out, &err))
		fail_msg("%s: %s", text, err.text);
	if (sent)
		assert_string_equal(out.data, sent);
}

static void may_not(const char *text, const char *why)
{
	auto_buf struct buf out = BUF_INIT;
	struct err err = {0};

	if (ask_as(&policy, text, "ann", NOW_MS - MINUTE_MS, NOW_MS, &out, &err) !=
	    -EACCES)
		fail_msg("not refused: %s %s", text, err.text);
	if (why && !strstr(err.text, why))
		fail_msg("%s: %s", text, err.text);
}

/* What a query of the last hour claims, in minutes from its start and its end; step_ms
 * -1: for a Prometheus, 0: an instant query */
static void claims_time(const char *text, int64_t step_ms, int64_t from_minutes,
			int64_t to_minutes)
{
	const int64_t start_ms = NOW_MS - 60 * MINUTE_MS;
	auto_promql struct promql *q = NULL;
	struct access_plan *p = NULL;
	struct err err = {0};
	size_t n;

	assert_int_equal(promql_parse(text, strlen(text), PROMQL_2, NULL, &q, &err), 0);
	assert_int_equal(access_plan_new(&policy, &p), 0);
	if (step_ms >= 0)
		access_plan_widen(p, step_ms > 0, step_ms);
	assert_int_equal(access_plan_add(p, q, start_ms, NOW_MS, &err), 0);
	const struct access_claim *c = access_claims(p, &n);
	assert_int_equal(n, 1);
	/* and a millisecond or two of rounded offsets */
	assert_in_range(start_ms + from_minutes * MINUTE_MS - c->from_ms, 1, 2);
	assert_in_range(c->to_ms - NOW_MS - to_minutes * MINUTE_MS, 1, 2);
	access_plan_free(p);
}

/* ---- tests ----------------------------------------------------------------------- */

static void what_others_than_prometheus_read_more_is_proved(void **state)
{
	static const char plain[] = "ceems_x{uuid=\"1\"}";
	static const char stamped[] = "timestamp(ceems_x{uuid=\"1\"})";
	static const char range[] = "rate(ceems_x{uuid=\"1\"}[10m])";
	static const char inner[] = "max_over_time(ceems_x{uuid=\"1\"}[30m:10m])";
	static const char its_step[] = "max_over_time(ceems_x{uuid=\"1\"}[30m:])";

	(void)state;
	claims_time(plain, -1, -5, 0);
	claims_time(range, -1, -10, 0);
	/* 5 minutes, or a step if that is longer, and 5 more: from a step earlier on */
	claims_time(plain, 0, -5 - 5, 0);
	claims_time(plain, MINUTE_MS, -1 - 5 - 5, 1);
	claims_time(plain, 30 * MINUTE_MS, -30 - 30 - 5, 30);
	claims_time(stamped, 30 * MINUTE_MS, -30 - 30 - 5, 30);
	claims_time(range, MINUTE_MS, -1 - 10 - 5, 1);
	claims_time(range, 30 * MINUTE_MS, -30 - 30 - 5, 30);
	/* the same of a subquery, and of the selector in it at its steps */
	claims_time(inner, -1, -30 - 5, 0);
	claims_time(inner, 0, -(30 + 20 + 5) - (10 + 5), 20);
	claims_time(inner, MINUTE_MS, -1 - (30 + 20 + 5) - (10 + 5), 1 + 20);
	claims_time(its_step, 20 * MINUTE_MS, -20 - (30 + 40 + 5) - (20 + 5), 20 + 40);
}

/* Whether a query that is evaluated at once, NOW, claims a moment so many minutes
 * earlier */
static bool claims_moment(const char *text, bool wide, int64_t minutes)
{
	const int64_t ms = NOW_MS - minutes * MINUTE_MS;
	auto_promql struct promql *q = NULL;
	struct access_plan *p = NULL;
	struct err err = {0};
	size_t n, met = 0;

	assert_int_equal(promql_parse(text, strlen(text), PROMQL_2, NULL, &q, &err), 0);
	assert_int_equal(access_plan_new(&policy, &p), 0);
	if (wide)
		access_plan_widen(p, false, 0);
	if (access_plan_add(p, q, NOW_MS, NOW_MS, &err))
		fail_msg("%s: %s", text, err.text);
	const struct access_claim *c = access_claims(p, &n);
	for (size_t i = 0; i < n; i++)
		met += c[i].from_ms <= ms && ms <= c[i].to_ms;
	access_plan_free(p);
	return met > 0;
}

static void an_at_that_others_ignore_or_move_is_proved_with_it_and_without(void **state)
{
	/* of a whole query; of one whose start() and end() are those around it */
	static const char *const ignored[] = {
		"ceems_x{uuid=\"1\"}[2m] @ 1000",
		"(ceems_x{uuid=\"1\"}[2m:1m] @ 1000)",
		"sum(ceems_x{uuid=\"1\"})[2m:1m] offset 1s @ 1000",
	};
	static const char *const moved[] = {
		"max_over_time((ceems_x{uuid=\"1\"} @ start())[1h:1m])",
		"max_over_time(timestamp(ceems_x{uuid=\"1\"} @ end())[1m:1m] offset "
		"1h)",
		"sum_over_time(rate(ceems_x{uuid=\"1\"}[1m] @ end())[1h:1m])",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		assert_false(claims_moment(ignored[i], false, 0));
		assert_true(claims_moment(ignored[i], true, 0));
		assert_true(claims_moment(ignored[i], true, NOW_MS / MINUTE_MS - 16));
	}
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		assert_false(claims_moment(moved[i], false, 60));
		assert_true(claims_moment(moved[i], true, 60));
		assert_true(claims_moment(moved[i], true, 0));
	}
}

static void parts_that_are_walked_twice_take_their_work(void **state)
{
	auto_buf struct buf text = BUF_INIT;
	auto_promql struct promql *q = NULL;
	struct access_plan *p = NULL;
	struct err err = {0};

	(void)state;
	for (int i = 0; i < 16; i++) {
		auto_buf struct buf more = BUF_INIT;

		buf_printf(&more, "max_over_time((%s)[5m:1m] @ 1)",
			   i ? text.data : "vector(1)");
		buf_reset(&text);
		buf_puts(&text, more.data);
	}
	assert_int_equal(
		promql_parse(text.data, strlen(text.data), PROMQL_2, NULL, &q, &err),
		0);
	assert_int_equal(access_plan_new(&policy, &p), 0);
	access_plan_widen(p, false, 0);
	assert_int_equal(access_plan_add(p, q, NOW_MS, NOW_MS, &err), -E2BIG);
	access_plan_free(p);
}

/* How far before a range of so many days labels are proved */
static int64_t days_around(bool wide, int64_t days, bool *ret_remembered)
{
	static const char text[] = "ceems_x{uuid=\"1\"}";
	const int64_t day_ms = 1440 * MINUTE_MS, from_ms = NOW_MS - days * day_ms;
	auto_promql struct promql *q = NULL;
	struct access_plan *p = NULL;
	struct err err = {0};
	size_t n;

	assert_int_equal(promql_parse(text, strlen(text), PROMQL_2, NULL, &q, &err), 0);
	assert_int_equal(access_plan_new(&policy, &p), 0);
	if (wide)
		access_plan_widen(p, false, 0);
	assert_int_equal(
		access_plan_add_selectors(p, q, from_ms, NOW_MS, 31 * day_ms, &err), 0);
	const struct access_claim *c = access_claims(p, &n);
	assert_int_equal(n, 1);
	int64_t around = (from_ms - c->from_ms) / day_ms;
	*ret_remembered = access_time_ranges(p)->count <= ACCESS_TIME_RANGES_MAX;
	access_plan_free(p);
	return around;
}

static void
labels_of_long_ranges_are_of_all_time_where_the_server_has_them_so(void **state)
{
	bool remembered;

	(void)state;
	assert_int_equal(days_around(false, 30, &remembered), 31);
	assert_true(remembered);
	assert_int_equal(days_around(false, 50, &remembered), 31);
	assert_int_equal(days_around(true, 30, &remembered), 31);
	/* another length another time */
	assert_false(remembered);
	assert_true(days_around(true, 41, &remembered) > 100 * 365);
}

static void units_that_are_named_and_own_are_read(void **state)
{
	(void)state;
	may("ceems_x{uuid=\"1\"}", "ceems_x{uuid=\"1\",cluster=\"alpha\"}");
	may("ceems_x{uuid=~\"1|2\"}", NULL);
	may("ceems_x{uuid=~\"(1|2|a\\\\.b-c)\"}", NULL);
	may("{__name__=\"ceems_x\",uuid=~\"^1$\"}", NULL);
	may("{__name__=~\"ceems_x|uuid:y\",uuid='1'}", NULL);
	may("DCGM_FI_X{hpc_job=`1`}", NULL);
	may("sum by (uuid) (rate(ceems_x{uuid=\"1\"}[5m])) / ceems_y{uuid=\"2\"}",
	    NULL);
	may("max_over_time(ceems_x{uuid=\"1\"}[30d])", NULL); /* wider than the job */
	may("ceems_x{uuid=\"1\",uuid=~\".+\",uuid!=\"\"}", NULL);
}

static void what_tells_nothing_of_others_is_read(void **state)
{
	(void)state;
	may("1 + 1", "1 + 1");
	may("time()", NULL);
	may("\"text\"", NULL);
	may("ceems_emissions_gCo2_kWh{provider=\"owid\"}",
	    "ceems_emissions_gCo2_kWh{provider=\"owid\",cluster=\"alpha\"}");
	may("up", NULL);
	may("{__name__=~\"up|ceems_emissions_x\"}", NULL);
}

static void what_is_not_named_is_refused_and_told_how(void **state)
{
	(void)state;
	may_not("ceems_x", "this query selects units without naming them: add uuid=");
	may_not("DCGM_FI_X", "add hpc_job=");
	may_not("ceems_x{uuid!=\"3\"}", NULL);
	may_not("ceems_x{uuid=~\".+\"}", NULL);
	may_not("ceems_x{uuid=~\"1.\"}", NULL);
	may_not("ceems_x{uuid=~\"1|3.*\"}", NULL);
	may_not("ceems_x{uuid=\"\"}", NULL);
	may_not("ceems_x{uuid=~\"1|\"}", NULL);
	may_not("ceems_x{uuid!~\"3\"}", NULL);
	may_not("ceems_x{UUID=\"1\"}", NULL);
	may_not("DCGM_FI_X{uuid=\"1\"}", NULL); /* not the label of that family */
	may_not("{uuid=\"1\"}", "this names no metric: write its name before");
	may_not("{__name__=~\"ceems_.*\",uuid=\"1\"}", NULL);
	may_not("{__name__=~\"ceems_x|DCGM_y\",uuid=\"1\"}", "different labels");
	may_not("{__name__!=\"x\",uuid=\"1\"}", NULL);
	may_not("node_load1", "this metric may not be read");
	may_not("ceems_node_x", "ceems_node_x: this metric is of a whole node or "
				"service, not of a unit: operators may read it");
	may_not("ceems_node_x{uuid=\"1\"}", "operators may read it");
	may_not("{__name__=~\"ceems_x|ceems_node_x\",uuid=\"1\"}",
		"operators may read it");
	may_not("ceems_x{uuid=\"1\"} / on () group_left () ceems_node_x",
		"ceems_node_x: this metric is of a whole node");
	may_not("up_x", NULL);
	may_not("upx{uuid=\"1\"}", NULL);
}

static void what_is_of_others_is_refused(void **state)
{
	(void)state;
	may_not("ceems_x{uuid=\"3\"}", "unit 3 is not yours");
	may_not("ceems_x{uuid=~\"1|3\"}", "unit 3 is not yours");
	may_not("ceems_x{uuid=\"99\"}", "unit 99 is not known yet");
	may_not("ceems_x{uuid=\"5\"}", "not known"); /* ann's, but on beta */
}

/* ceems-server.md 2.3: each hole of a load balancer that looks for patterns in text */
static void no_part_of_a_query_hides_a_selector(void **state)
{
	(void)state;
	static const char *const holes[] = {
		"ceems_x{uuid=\"1\"} or ceems_x{uuid=\"3\"}",
		"ceems_x{uuid=\"3\"} or ceems_x{uuid=\"1\"}",
		"node_load1 or ceems_x{uuid=\"1\"}",
		"{__name__=~\".+\"} or ceems_x{uuid=\"1\"}",
		"ceems_x{uuid=\"1\"} or ceems_x{uuid=~\".+\"}",
		"ceems_x{uuid=\"1\"} or ceems_x{uuid=~\"vic.im\"}",
		"ceems_x{uuid=\"1\"} or ceems_x{uuid!=\"x\"}",
		"ceems_x{uuid=\"1\"} or ceems_x{uuid!~\"\"}",
		"{__name__=~\".+\"} # ,uuid=\"1\"",
		"ceems_x{uuid = \"3\"}",
		"ceems_x{uuid='3'}",
		"ceems_x{uuid=`3`}",
		"ceems_x{uuid=\"\\x33\"}",
		"ceems_x{uuid=\"1\"} * on (instance) group_right () ceems_y",
		"label_replace(ceems_x, \"uuid\", \"1\", \"\", \"\")",
		"label_join(ceems_x{a=\"1\"}, \"uuid\", \"\", \"a\")",
		"count_values(\"uuid\", ceems_x)",
		"count_values(\"uuid\", ceems_x{uuid=~\"1|3\"})",
		"topk(scalar(ceems_x), ceems_x{uuid=\"1\"})",
		"quantile_over_time(scalar(ceems_x{uuid=\"3\"}), "
		"ceems_x{uuid=\"1\"}[5m])",
		"absent(ceems_x{uuid=\"3\"})",
		"max_over_time(ceems_x{uuid=\"3\"}[1h:5m])",
		"max_over_time((ceems_x{uuid=\"1\"} or -ceems_x)[1h:5m])",
		"-ceems_x",
		"(ceems_x)",
		"vector(scalar(ceems_x))",
		"ceems_x{uuid=\"1\"} unless ceems_x",
		"ceems_x{uuid=\"1\"} > bool ceems_y",
		"sum without (uuid) (ceems_x)",
		"ceems_x{uuid=\"1\"} and on () ceems_y{uuid=\"3\"}",
		"histogram_quantile(0.9, ceems_x_bucket)",
		"round(ceems_x{uuid=\"1\"}, scalar(ceems_y))",
		"clamp(ceems_x{uuid=\"1\"}, scalar(ceems_y{uuid=\"3\"}), 1)",
		"ceems_x{uuid=~\"(?i)1\"}",
		"ceems_x{uuid=~\"\\\\Q1\\\\E|.*\"}",
		"ceems_x{uuid=~\"1|3|\"}",
		"ceems_x{uuid=~\"[13]\"}",
		"ceems_x{uuid=~\"1?\"}",
		"ceems_x{uuid=~\"^|1$\"}",
	};

	for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++)
		may_not(holes[i], NULL);
}

static void ids_that_come_again_are_told_apart_by_time(void **state)
{
	(void)state;
	may("ceems_x{uuid=\"4\"}", NULL);
	may("rate(ceems_x{uuid=\"4\"}[1h])", NULL);
	may_not("ceems_x{uuid=\"4\"} offset 499500m", "not yours");
	may_not("max_over_time(ceems_x{uuid=\"4\"}[2y])", "not yours");
	may_not("max_over_time(ceems_x{uuid=\"4\"}[1h:1m] offset 499200m)", NULL);
	may_not("max_over_time((ceems_x{uuid=\"4\"} offset 200d)[300d:1h])", NULL);
	may_not("ceems_x{uuid=\"4\"} @ 1670000000", NULL);
	may_not("ceems_x{uuid=\"4\"} @ start() offset 347d", NULL);
	/* an @ inside a subquery takes no part of its range */
	may("max_over_time((ceems_x{uuid=\"4\"} @ end())[2y:1d])", NULL);
	may("ceems_x{uuid=\"4\"} offset -1h", NULL);
	/* what an engine may read besides: timestamp() forgets the offset */
	may_not("timestamp(ceems_x{uuid=\"4\"} @ 1670000000 offset -347d)", NULL);
	may_not("-timestamp((ceems_x{uuid=\"4\"} @ 1670000000 offset -347d))", NULL);
	may("timestamp(ceems_x{uuid=\"4\"} @ end() offset 5m)", NULL);
	/* 499000 minutes ago it ended: seen for the lookback, then no more */
	may_not("ceems_x{uuid=\"4\"} offset 498998m", NULL);
	may("ceems_x{uuid=\"4\"} offset 498990m", NULL);
}

/* Engines reckon with nanoseconds of 64 bits: so far away @ and offset are not one time
 * for all. */
static void times_that_are_centuries_away_are_refused(void **state)
{
	static const char *const far[] = {
		"ceems_x{uuid=\"1\"} @ -99999999999",
		"ceems_x{uuid=\"1\"} @ 9e9",
		"ceems_x{uuid=\"1\"} offset 280y",
		"ceems_x{uuid=\"1\"} offset -200y",
		"max_over_time(ceems_x{uuid=\"1\"}[1h:1m] @ 1e10)",
		"max_over_time((ceems_x{uuid=\"1\"} offset 100y)[100y:1y])",
	};
	auto_buf struct buf out = BUF_INIT;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
		assert_int_equal(
			ask_as(&policy, far[i], "ann", NOW_MS, NOW_MS, &out, &err),
			-ERANGE);
	assert_int_equal(ask_as(&policy, "ceems_x{uuid=\"1\"}", "ann", 9000000000000,
				9000000000000, &out, &err),
			 -ERANGE);
	may("max_over_time(ceems_x{uuid=\"1\"}[290y])", NULL);
	may("ceems_x{uuid=\"1\"} @ 0", NULL);
	may("ceems_x{uuid=\"1\"} offset 100y", NULL);
}

static void clusters_are_told_apart(void **state)
{
	(void)state;
	struct access_policy beta = policy;
	auto_buf struct buf out = BUF_INIT;
	struct err err;

	beta.cluster = "beta";
	assert_int_equal(
		ask_as(&beta, "ceems_x{uuid=\"5\"}", "ann", NOW_MS, NOW_MS, &out, &err),
		0);
	assert_string_equal(out.data, "ceems_x{uuid=\"5\",cluster=\"beta\"}");
	assert_int_equal(
		ask_as(&beta, "ceems_x{uuid=\"1\"}", "ann", NOW_MS, NOW_MS, &out, &err),
		-EACCES);
	/* a matcher of one's own does not replace it */
	may("ceems_x{uuid=\"1\",cluster=\"beta\"}",
	    "ceems_x{uuid=\"1\",cluster=\"beta\",cluster=\"alpha\"}");
}

static void what_is_not_named_can_be_narrowed(void **state)
{
	(void)state;
	struct access_policy inject = policy;
	auto_buf struct buf out = BUF_INIT;
	struct err err;

	inject.inject_max = 10;
	assert_int_equal(ask_as(&inject, "sum(ceems_x) + ceems_y{uuid=\"1\"}", "ann",
				NOW_MS, NOW_MS, &out, &err),
			 0);
	assert_string_equal(out.data,
			    "sum(ceems_x{uuid=~\"1|4|a\\\\.b-c\",cluster=\"alpha\"}) + "
			    "ceems_y{uuid=\"1\",cluster=\"alpha\"}");
	assert_int_equal(ask_as(&inject, "ceems_x", "eve", NOW_MS, NOW_MS, &out, &err),
			 0);
	assert_string_equal(out.data, "ceems_x{uuid=\"-\",cluster=\"alpha\"}");
	assert_int_equal(
		ask_as(&inject, "node_load1", "ann", NOW_MS, NOW_MS, &out, &err),
		-EACCES);
	inject.inject_max = 2;
	assert_int_equal(ask_as(&inject, "ceems_x", "ann", NOW_MS, NOW_MS, &out, &err),
			 -E2BIG);
}

/* 8 bytes of text make 12 KiB that a backend is sent: no more than so many */
static void what_is_filled_in_has_a_bound_for_all_of_a_request(void **state)
{
	static char name[400][32];
	struct access_policy inject = policy;
	struct access_plan *p = NULL;
	auto_promql struct promql *q = NULL;
	auto_buf struct buf text = BUF_INIT;
	static struct str ids[400];
	struct err err = {0};
	size_t filled = 0;
	int rc = 0;

	(void)state;
	inject.inject_max = 1000;
	for (size_t i = 0; i < 400; i++) {
		snprintf(name[i], sizeof(name[i]), "%031zu", i);
		ids[i] = (struct str){name[i], 31};
	}
	for (size_t i = 0; i < 100; i++)
		buf_puts(&text, i ? "+ceems_x" : "ceems_x");
	assert_int_equal(promql_parse(text.data, text.len, PROMQL_2, NULL, &q, &err),
			 0);
	assert_int_equal(access_plan_new(&inject, &p), 0);
	assert_int_equal(access_plan_add(p, q, NOW_MS, NOW_MS, &err), 0);
	for (struct access_unconstrained *g = access_unconstrained_first(p); g && !rc;
	     g = g->next) {
		rc = access_fill(g, ids, 400, &err);
		filled += !rc;
	}
	assert_int_equal(rc, -E2BIG);
	assert_non_null(strstr(err.text, "1024 KiB"));
	assert_int_equal(filled, 81); /* of 12864 bytes each */
	access_plan_free(p);
}

static void what_was_not_asked_is_refused(void **state)
{
	(void)state;
	struct access_policy inject = policy;
	static const char *const texts[] = {"ceems_x{uuid=\"1\"}", "ceems_x"};

	inject.inject_max = 10;
	for (size_t i = 0; i < 2; i++) {
		auto_promql struct promql *q = NULL;
		struct access_plan *p = NULL;
		struct err err;

		assert_int_equal(promql_parse(texts[i], strlen(texts[i]), PROMQL_2,
					      NULL, &q, &err),
				 0);
		assert_int_equal(access_plan_new(&inject, &p), 0);
		assert_int_equal(access_plan_add(p, q, NOW_MS, NOW_MS, &err), 0);
		assert_int_equal(access_decide(p, &err), -EACCES);
		access_plan_free(p);
	}
}

static void many_units_are_one_question(void **state)
{
	(void)state;
	auto_buf struct buf text = BUF_INIT;
	struct err err;

	for (unsigned n = ACCESS_CLAIMS_MAX; n <= ACCESS_CLAIMS_MAX + 1; n++) {
		auto_promql struct promql *q = NULL;
		struct access_plan *p = NULL;
		size_t count;
		int rc;

		buf_reset(&text);
		buf_puts(&text, "ceems_x{uuid=~\"0");
		for (unsigned i = 1; i < n; i++)
			buf_printf(&text, "|%x", i);
		buf_puts(&text, "\"} + ceems_y{uuid=\"1\"}"); /* is there already */
		assert_int_equal(
			promql_parse(text.data, text.len, PROMQL_2, NULL, &q, &err), 0);
		assert_int_equal(access_plan_new(&policy, &p), 0);
		rc = access_plan_add(p, q, NOW_MS, NOW_MS, &err);
		access_claims(p, &count);
		assert_int_equal(rc, n > ACCESS_CLAIMS_MAX ? -E2BIG : 0);
		assert_int_equal(count, ACCESS_CLAIMS_MAX);
		access_plan_free(p);
	}
}

static void info_is_refused(void **state)
{
	(void)state;
	static const char text[] = "info(ceems_x{uuid=\"1\"})";
	auto_promql struct promql *q = NULL;
	struct access_plan *p = NULL;
	struct err err;

	assert_int_equal(promql_parse(text, strlen(text), PROMQL_3, NULL, &q, &err), 0);
	assert_int_equal(access_plan_new(&policy, &p), 0);
	assert_int_equal(access_plan_add(p, q, NOW_MS, NOW_MS, &err), -EACCES);
	access_plan_free(p);
}

/* ---- queries by chance against a reference --------------------------------------- */

/* What is read is worked out here in another way: the query that would be sent is
 * evaluated at each of its steps, subqueries at each of theirs, and each selector looks
 * at each series of the world. */
struct reads {
	struct world world;
	const char *user, *leak;
	unsigned own; /* series of the user's own that were read */
};

static void read_series(struct world *world, const struct promql_node *n,
			int64_t from_ms, int64_t to_ms)
{
	struct reads *w = (struct reads *)world;
	static const struct {
		const char *name, *label;
	} kinds[] = {{"ceems_x", "uuid"}, {"ceems_y", "uuid"}, {"DCGM_z", "hpc_job"}};

	for (size_t i = 0; i < RUNS; i++) {
		if (!meets(&runs[i], from_ms, to_ms))
			continue;
		for (size_t k = 0; k < 3; k++) {
			bool hit = !n->name.len || str_eq(n->name, kinds[k].name);

			for (const struct promql_matcher *m = n->matchers; m && hit;
			     m = m->next) {
				const char *v = "";

				if (str_eq(m->name, "__name__"))
					v = kinds[k].name;
				else if (str_eq(m->name, kinds[k].label))
					v = runs[i].id;
				else if (str_eq(m->name, "cluster"))
					v = runs[i].cluster;
				hit = world_match(m, v);
			}
			if (!hit)
				continue;
			if (strcmp(runs[i].owner, w->user))
				w->leak = runs[i].id;
			else
				w->own++;
		}
	}
}

static void any_selector(void *arg, struct promql_random *r, struct buf *out)
{
	static const char *const names[] = {
		"ceems_x",           "ceems_y",    "DCGM_z", "up",
		"ceems_emissions_q", "node_load1", ""};
	static const char *const matchers[] = {
		"uuid=\"1\"",
		"uuid=\"1\"",
		"uuid=\"2\"",
		"uuid=~\"1|2\"",
		"uuid=\"4\"",
		"uuid='4'",
		"uuid=\"3\"",
		"uuid=~\"1|3\"",
		"uuid=~\"(1|4)\"",
		"uuid=~\".+\"",
		"uuid!=\"3\"",
		"uuid=~\"1.*\"",
		"hpc_job=\"1\"",
		"hpc_job=\"3\"",
		"hpc_job=~\"1|2\"",
		"cluster=\"beta\"",
		"uuid=~\"1|\"",
		"uuid=\"\"",
		"uuid=~\"[12]\"",
		"uuid!~\"3|4\"",
		"__name__=\"ceems_x\"",
		"__name__=~\"ceems_.*\"",
		"__name__=~\"ceems_x|ceems_y\"",
		"uuid=~\"a\\\\.b-c\"",
		"uuid=~\"a.b-c\"",
		"cluster=~\".*\"",
		"uuid=\"6\"",
		"uuid=~\"^1|2$\"",
		"uuid=~\"1?\"",
		"uuid=\"5\"",
		"hpc_job=\"4\"",
		"cluster!=\"alpha\"",
	};
	uint32_t n = random_below(r, 4);
	const char *name = names[random_below(r, 7)];

	(void)arg;
	buf_puts(out, name);
	if (!n && name[0])
		return;
	buf_putc(out, '{');
	for (uint32_t i = 0; i < (n ? n : 1); i++)
		buf_printf(out, "%s%s", i ? "," : "", matchers[random_below(r, 32)]);
	buf_putc(out, '}');
}

static void own_selector(void *arg, struct promql_random *r, struct buf *out)
{
	static const char *const own[] = {
		"ceems_x{uuid=\"1\"}",
		"ceems_y{uuid=~\"1|2\"}",
		"DCGM_z{hpc_job='2'}",
		"uuid:x{uuid=~\"(1|2|a\\\\.b-c)\"}",
		"{__name__=\"ceems_x\",uuid=\"1\"}",
		"ceems_emissions_q",
		"ceems_x{uuid=\"1\",uuid=~\".*\"}",
		"up{job=~\".*\"}",
	};

	(void)arg;
	buf_puts(out, own[random_below(r, 8)]);
}

static void ask_by_chance(enum promql_dialect d, unsigned count)
{
	struct promql_random r = {
		.state = 4711, .dialect = d, .clean = true, .selector = any_selector};
	auto_buf struct buf text = BUF_INIT, out = BUF_INIT;
	unsigned asked = 0, allowed = 0, reads = 0;

	while (asked < count) {
		struct reads w = {
			.user = random_below(&r, 2) ? "ann" : "bob",
			.world = {.read = read_series, .lookback_ms = LOOKBACK_MS}};
		struct world *times = &w.world;
		auto_promql struct promql *sent = NULL;
		struct access_policy how = policy;
		struct err err;
		int rc;

		how.inject_max = random_below(&r, 4) ? 0 : 20;
		if (!random_below(&r, 4))
			how.cluster = "beta";
		times->end_ms = NOW_MS - (int64_t)random_below(&r, 600000) * MINUTE_MS *
						 (random_below(&r, 4) == 0);
		times->start_ms =
			times->end_ms - (int64_t)random_below(&r, 3) * 40 * MINUTE_MS;
		promql_random(&r, &text);
		rc = ask_in(d, &how, text.data, w.user, times->start_ms, times->end_ms,
			    &out, &err);
		if (rc == -EINVAL)
			continue; /* no query */
		asked++;
		if (rc)
			continue;
		allowed++;
		assert_int_equal(promql_parse(out.data, out.len, d, NULL, &sent, &err),
				 0);
		for (int64_t t = times->start_ms; t <= times->end_ms; t += STEP_MS)
			world_evaluate(times, promql_root(sent), t);
		if (w.leak)
			fail_msg("%s may read unit %s: %s\n sent as %s", w.user, w.leak,
				 text.data, out.data);
		reads += w.own;
	}
	assert_true(allowed > count / 20 && reads > count / 100);
}

static void no_random_query_reads_what_is_of_others(void **state)
{
	(void)state;
	ask_by_chance(PROMQL_2, 100000);
	ask_by_chance(PROMQL_NEWEST, 40000);
}

static void no_random_query_of_own_units_is_refused(void **state)
{
	(void)state;
	struct promql_random r = {
		.state = 815, .clean = true, .selector = own_selector};
	auto_buf struct buf text = BUF_INIT, out = BUF_INIT;
	unsigned asked = 0;

	while (asked < 20000) {
		struct err err;
		int rc;

		promql_random(&r, &text);
		rc = ask_as(&policy, text.data, "ann", NOW_MS - 60 * MINUTE_MS, NOW_MS,
			    &out, &err);
		if (rc == -EINVAL)
			continue;
		asked++;
		if (rc)
			fail_msg("refused: %s: %s", text.data, err.text);
	}
}

static void labels_that_are_hidden_are_not_copied_into_others(void **state)
{
	static const char *const hidden[] = {"instance", "hostname"};
	static const char *const bad[] = {
		"label_replace(ceems_x{uuid=\"1\"}, \"a\", \"$1\", \"instance\", "
		"\"(.*)\")",
		"sum(label_join(ceems_x{uuid=\"1\"}, \"a\", \"-\", \"uuid\", "
		"\"host\\x6eame\"))",
		"label_replace(ceems_x{uuid=\"1\"}, \"a\", \"$1\", 'hostname', "
		"\"(.*)\") * 0",
		"max_over_time(label_replace(ceems_x{uuid=\"1\"}, \"a\", \"$1\", "
		"`instance`, \"(.*)\")[5m:1m])",
	};
	static const char *const good[] = {
		"label_replace(ceems_x{uuid=\"1\"}, \"instance\", \"$1\", \"uuid\", "
		"\"(.*)\")",
		"label_join(ceems_x{uuid=\"1\"}, \"a\", \"instance\", \"uuid\")",
		"sum by (instance) (ceems_x{uuid=\"1\"})",
	};
	struct access_policy p = policy;

	(void)state;
	p.hidden = hidden;
	p.hidden_count = 2;
	for (size_t k = 0; k < 7; k++) {
		const char *text = k < 4 ? bad[k] : good[k - 4];
		struct access_plan *plan = NULL;
		auto_promql struct promql *q = NULL;
		struct err err = {""};

		assert_int_equal(
			promql_parse(text, strlen(text), PROMQL_2, NULL, &q, &err), 0);
		assert_int_equal(access_plan_new(&p, &plan), 0);
		int rc = access_plan_add(plan, q, NOW_MS, NOW_MS, &err);
		assert_int_equal(rc, k < 4 ? -EACCES : 0);
		if (rc < 0)
			assert_non_null(strstr(err.text, "hidden here"));
		access_plan_free(plan);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_others_than_prometheus_read_more_is_proved),
		cmocka_unit_test(
			an_at_that_others_ignore_or_move_is_proved_with_it_and_without),
		cmocka_unit_test(parts_that_are_walked_twice_take_their_work),
		cmocka_unit_test(
			labels_of_long_ranges_are_of_all_time_where_the_server_has_them_so),
		cmocka_unit_test(labels_that_are_hidden_are_not_copied_into_others),
		cmocka_unit_test(units_that_are_named_and_own_are_read),
		cmocka_unit_test(what_tells_nothing_of_others_is_read),
		cmocka_unit_test(what_is_not_named_is_refused_and_told_how),
		cmocka_unit_test(what_is_of_others_is_refused),
		cmocka_unit_test(no_part_of_a_query_hides_a_selector),
		cmocka_unit_test(ids_that_come_again_are_told_apart_by_time),
		cmocka_unit_test(times_that_are_centuries_away_are_refused),
		cmocka_unit_test(clusters_are_told_apart),
		cmocka_unit_test(what_is_not_named_can_be_narrowed),
		cmocka_unit_test(what_is_filled_in_has_a_bound_for_all_of_a_request),
		cmocka_unit_test(what_was_not_asked_is_refused),
		cmocka_unit_test(many_units_are_one_question),
		cmocka_unit_test(info_is_refused),
		cmocka_unit_test(no_random_query_reads_what_is_of_others),
		cmocka_unit_test(no_random_query_of_own_units_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
