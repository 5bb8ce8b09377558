/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What it costs the load balancer to know a query: the queries of dashboards are
 * parsed, proved and printed (whose a unit is comes from a table in memory, as from a
 * warm cache). Prints JSON lines. */
#include <stdio.h>
#include <string.h>

#include "lb/access.h"
#include "lib/clock.h"

#define ROUNDS 20000u

static const char *const queries[] = {
	"max_over_time(ceems_compute_unit_cpu_user_seconds_total{uuid=\"4711\"}[1d])",
	"sum by (uuid) "
	"(rate(ceems_compute_unit_cpu_user_seconds_total{uuid=~\"4711|4712\"}"
	"[2m]) + "
	"rate(ceems_compute_unit_cpu_system_seconds_total{uuid=~\"4711|4712\"}[2m]))"
	" / on (uuid) group_left () max by (uuid) "
	"(ceems_compute_unit_cpus{uuid=~\"4711|"
	"4712\"}) * 100",
	"sum by (uuid, hostname) (ceems_compute_unit_memory_used_bytes{uuid=\"4711\"})",
	"sum by (uuid, domain) "
	"(rate(ceems_compute_unit_energy_joules_total{uuid=~\"4711|"
	"4712\",domain=\"host\"}[1m]))",
	"avg by (provider) (ceems_emissions_gCo2_kWh{country_code=\"FR\"})",
	"uuid:ceems_cpu_usage:ratio_irate{uuid=~\"(4711|4712|4713|4714|4715|4716)\"}",
	"avg_over_time(uuid:ceems_host_power_watts:pue{uuid=\"4711\",hostname=~\".*\"}["
	"1h:"
	"1m] offset 5m)",
	"1+1",
};
#define QUERIES (sizeof(queries) / sizeof(queries[0]))

static const struct access_family families[] = {
	{"ceems_emissions_*", NULL},
	{"ceems_*", "uuid"},
	{"uuid:*", "uuid"},
};

static int once(const char *text, const struct access_policy *policy, struct buf *out)
{
	auto_promql struct promql *q = NULL;
	struct access_plan *p = NULL;
	struct access_claim *claims;
	struct err err;
	size_t n;
	int rc = promql_parse(text, strlen(text), PROMQL_2, NULL, &q, &err);

	rc = rc ? rc : access_plan_new(policy, &p);
	rc = rc ? rc : access_plan_add(p, q, 1700000000000, 1700003600000, &err);
	if (rc)
		return rc;
	claims = access_claims(p, &n);
	for (size_t i = 0; i < n; i++)
		claims[i].answer = ACCESS_OWN;
	rc = access_decide(p, &err);
	buf_reset(out);
	promql_print(q, out);
	access_plan_free(p);
	return rc ? rc : buf_error(out);
}

int main(void)
{
	const struct access_policy policy = {.families = families,
					     .family_count = 3,
					     .cluster_label = "cluster",
					     .cluster = "alpha",
					     .lookback_ms = 300000};
	auto_buf struct buf out = BUF_INIT;
	uint64_t begin = clock_boottime_ns(), ns;

	for (unsigned i = 0; i < ROUNDS; i++)
		for (size_t q = 0; q < QUERIES; q++)
			if (once(queries[q], &policy, &out)) {
				fprintf(stderr, "prove: refused: %s\n", queries[q]);
				return 1;
			}
	ns = (clock_boottime_ns() - begin) / ROUNDS / QUERIES;
	printf("{\"bench\":\"prove\",\"metric\":\"query_mean\",\"value\":%.2f,"
	       "\"unit\":\"us\",\"reach\":10,\"ok\":%s}\n",
	       (double)ns / 1000, ns < 10000 ? "true" : "false");
	return 0;
}
