/* SPDX-License-Identifier: GPL-2.0-or-later */
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
	{"a.b_c", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
};
#define RUNS (sizeof(runs) / sizeof(runs[0]))

static void own_units_are_read_once_asked_and_remembered(void **state)
{
	struct lab l;
	struct lab_asked a;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(lab_query(&l, "ann", "ceems_x{uuid=\"1\"}", &a), 0);
	assert_int_equal(a.waits, 1);
	assert_string_equal(a.text, "/api/v1/query query=ceems_x%7Buuid%3D%221%22%2C"
				    "cluster%3D%22alpha%22%7D&time=1700000000.000");
	assert_int_equal(lab_query(&l, "ann", "ceems_y{uuid=\"1\"}", &a), 0);
	assert_int_equal(a.waits, 0);
	assert_int_equal(l.asked, 1);
	lab_close(&l);
}

static void what_is_not_ones_own_is_refused_in_words(void **state)
{
	struct lab l;
	struct lab_asked a;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(lab_query(&l, "ann", "ceems_x{uuid=\"3\"}", &a), 403);
	assert_non_null(strstr(a.text, "\"errorType\":\"forbidden\""));
	assert_non_null(strstr(a.text, "unit 3 is not yours"));
	assert_int_equal(lab_query(&l, "ann", "ceems_x{uuid=\"77\"}", &a), 403);
	assert_non_null(strstr(a.text, "not known yet"));
	/* what will never be known is not to be tried again, nor asked for */
	unsigned asked = l.asked;
	assert_int_equal(lab_query(&l, "ann", "ceems_x{uuid=\"my job\"}", &a), 403);
	assert_non_null(strstr(a.text, "no unit is called \\\"my job\\\": ids have"));
	assert_null(strstr(a.text, "try again"));
	assert_int_equal(lab_query(&l, "ann", "ceems_x{uuid=\"\u00e9\"}", &a), 403);
	assert_int_equal(l.asked, asked);
	assert_int_equal(lab_query(&l, "ann", "ceems_x", &a), 403);
	assert_non_null(strstr(a.text, "add uuid="));
	assert_int_equal(lab_query(&l, NULL, "ceems_x{uuid=\"1\"}", &a), 401);
	assert_int_equal(lab_query(&l, "ann", "ceems_x{", &a), 400);
	lab_close(&l);
}

/* ---- users x calls x parameters -------------------------------------------------- */

enum kind { NONE, OWN, VICTIM, UNNAMED, PUBLIC, BOTH, KINDS };

#define SELECTOR(id) "ceems_x%7Buuid%3D%22" id "%22%7D"
static const char *const selectors[KINDS] = {
	[OWN] = SELECTOR("1"), [VICTIM] = SELECTOR("3"), [UNNAMED] = "ceems_x",
	[PUBLIC] = "up",       [BOTH] = SELECTOR("1"),
};

enum group { QUERY, TEXT, SERIES, LABELS, INFO, ROLE, CLOSED };

static const struct {
	const char *path, *more;
	enum group group;
} calls[] = {
	{"/api/v1/query", "", QUERY},
	{"/api/v1/query_range", "&start=1699999000&end=1700000000&step=60", QUERY},
	{"/api/v1/query_exemplars", "&start=1699999000&end=1700000000", QUERY},
	{"/api/v1/format_query", "", TEXT},
	{"/api/v1/parse_query", "", TEXT},
	{"/api/v1/series", "&start=1699999000&end=1700000000", SERIES},
	{"/api/v1/labels", "&start=1699999000&end=1700000000", LABELS},
	{"/api/v1/label/uuid/values", "&start=1699999000&end=1700000000", LABELS},
	{"/api/v1/label/x/values", "&limit=5", LABELS},
	{"/api/v1/status/buildinfo", "", INFO},
	{"/federate", "", ROLE},
	{"/api/v1/metadata", "", ROLE},
	{"/api/v1/rules", "", ROLE},
	{"/api/v1/alerts", "", ROLE},
	{"/api/v1/targets", "", ROLE},
	{"/api/v1/status/config", "", ROLE},
	{"/api/v1/status/flags", "", ROLE},
	{"/api/v1/read", "", CLOSED},
	{"/api/v1/write", "", CLOSED},
	{"/api/v1/admin/tsdb/snapshot", "", CLOSED},
	{"/api/v1/notifications", "", CLOSED},
	{"/", "", CLOSED},
};

static const struct {
	const char *name;
	bool has[KINDS]; /* may read what is selected */
	bool all;
} users[] = {
	{"ann", {[OWN] = true}, false},
	{"bob", {[VICTIM] = true}, false},
	{"eve", {false}, false},
	{"olga", {false}, false}, /* an operator, whom the site lets read no more */
	{"boss", {false}, true},  /* an admin, by the aggregator's word */
};

static unsigned expected(size_t user, size_t call, enum kind k)
{
	bool may = users[user].all || users[user].has[k] || k == PUBLIC;

	switch (calls[call].group) {
	case CLOSED:
		return 403;
	case ROLE:
		return users[user].all ? 0 : 403;
	case INFO:
		return 0;
	case TEXT:
		return k == NONE || k == BOTH ? 400 : 0;
	case QUERY:
		return k == NONE || k == BOTH ? 400 : may ? 0 : 403;
	case SERIES:
		return k == NONE ? 400 : may ? 0 : 403;
	case LABELS:
		return k == NONE || may ? 0 : 403;
	}
	return 1;
}

static void parameters(size_t call, enum kind k, char *ret, size_t size)
{
	bool matches = calls[call].group == SERIES || calls[call].group == LABELS ||
		       calls[call].group == ROLE;
	const char *name = matches ? "match%5B%5D" : "query";

	if (k == NONE)
		snprintf(ret, size, "%s", calls[call].more);
	else if (k == BOTH)
		snprintf(ret, size, "%s=%s&%s=%s%s", name, SELECTOR("1"), name,
			 SELECTOR("3"), calls[call].more);
	else
		snprintf(ret, size, "%s=%s%s", name, selectors[k], calls[call].more);
}

static void each_user_gets_from_each_call_what_is_theirs(void **state)
{
	static const char *const operators[] = {"olga"};
	struct lab l;
	struct lab_asked a;
	char query[512];

	(void)state;
	lab_open(&l, runs, RUNS);
	l.role = "admin";
	l.role_of = "boss";
	l.site.operators = operators;
	l.site.operator_count = 1;
	gate_set_site(l.gate, &l.site);
	/* cold, remembered, and after what refuses is forgotten */
	for (int round = 0; round < 3; round++) {
		for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
			for (enum kind k = 0; k < KINDS; k++) {
				parameters(c, k, query, sizeof(query));
				assert_int_equal(
					lab_get(&l, NULL, calls[c].path, query, NULL),
					401);
				for (size_t u = 0; u < sizeof(users) / sizeof(users[0]);
				     u++) {
					unsigned status =
						lab_get(&l, users[u].name,
							calls[c].path, query, &a);

					if (status != expected(u, c, k))
						fail_msg("%s %s?%s: %u %s",
							 users[u].name, calls[c].path,
							 query, status, a.text);
				}
			}
		lab_wait_ms(&l, round ? 5000 : 0);
	}
	lab_close(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_units_are_read_once_asked_and_remembered),
		cmocka_unit_test(what_is_not_ones_own_is_refused_in_words),
		cmocka_unit_test(each_user_gets_from_each_call_what_is_theirs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
