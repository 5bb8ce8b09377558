/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A gate that runs out of memory refuses for now. What it sends on, and what it
 * remembers for the next, is what it would have been with plenty. */
#include "lb/gate/gate.h"

#include "test/fake/starve.h"
#include "test/unit/gate_lab.h"

#define HOUR_MS (60 * LAB_MINUTE_MS)

static const struct lab_run runs[] = {
	{"1", "alpha", "ann", LAB_NOW_MS - HOUR_MS, INT64_MAX},
	{"2", "alpha", "ann", LAB_NOW_MS - 2 * HOUR_MS, INT64_MAX},
	{"3", "alpha", "bob", LAB_NOW_MS - HOUR_MS, INT64_MAX},
};
#define RUNS (sizeof(runs) / sizeof(runs[0]))

#define RANGE "&start=1699999000&end=1700000000&step=60"
static const struct {
	const char *path, *query; /* a form, or with path NULL an expression */
	unsigned status;
} requests[] = {
	{NULL, "ceems_x{uuid=\"1\"}", 0},
	{NULL, "sum by (uuid) (rate(ceems_x{uuid=~\"1|2\"}[5m])) * on (uuid) up", 0},
	{NULL, "topk(3, ceems_x{uuid=~\"1|3\"}) or ceems_y{uuid=\"2\"}", 403},
	{NULL, "ceems_x{uuid=\"3\"}", 403},
	{NULL, "ceems_x", 403},
	{NULL, "ceems_x{", 400},
	{NULL, "up + on () group_left () count(up)", 0},
	{"/api/v1/query_range", "query=ceems_x%7Buuid%3D%221%22%7D" RANGE, 0},
	{"/api/v1/labels", "start=1699999000&end=1700000000", 0},
	{"/api/v1/series", "match%5B%5D=ceems_x%7Buuid%3D%223%22%7D", 403},
	{"/api/v1/status/buildinfo", "", 0},
};
#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

static unsigned ask(struct lab *l, size_t i, struct lab_asked *a)
{
	return requests[i].path
		       ? lab_get(l, "ann", requests[i].path, requests[i].query, a)
		       : lab_query(l, "ann", requests[i].query, a);
}

/* (of a refusal the status will do) */
static bool as_with_plenty(unsigned status, const struct lab_asked *got, size_t i,
			   const struct lab_asked *want)
{
	return status == requests[i].status &&
	       (!strcmp(got->text, want->text) || (status && !got->text[0]));
}

/* Each allocation of each request fails once: alone, or with all that follow until the
 * verdict. */
static void starve(bool rest)
{
	static struct lab_asked want, got;

	for (size_t i = 0; i < REQUESTS; i++) {
		struct lab l;
		bool failed = true;
		unsigned n, refused = 0;

		lab_open(&l, runs, RUNS);
		assert_int_equal(ask(&l, i, &want), requests[i].status);
		lab_close(&l);
		for (n = 1; failed; n++) {
			lab_open(&l, runs, RUNS);
			starve_at(n, rest);
			unsigned status = ask(&l, i, &got);
			failed = starve_end();
			refused += status == 503;
			if (status != 503 && !as_with_plenty(status, &got, i, &want))
				fail_msg("%s, allocation %u: %u %s, and was %u %s",
					 requests[i].query, n, status, got.text,
					 requests[i].status, want.text);
			status = ask(&l, i, &got);
			if (status != requests[i].status || strcmp(got.text, want.text))
				fail_msg("%s, after allocation %u: %u %s",
					 requests[i].query, n, status, got.text);
			lab_close(&l);
		}
		assert_true(refused > 0);
		print_message("# %s: %u of %u\n", requests[i].query, refused, n - 2);
	}
}

static void what_cannot_be_decided_is_refused_for_now(void **state)
{
	(void)state;
	starve(false);
}

static void nothing_is_sent_while_there_is_no_memory_at_all(void **state)
{
	(void)state;
	starve(true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_decided_is_refused_for_now),
		cmocka_unit_test(nothing_is_sent_while_there_is_no_memory_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
