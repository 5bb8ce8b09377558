/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What it costs the load balancer to know a query: queries are parsed, proved and
 * printed (whose a unit is comes from a table in memory, as from a warm cache), some of
 * many kinds or those of a file, each ended by a NUL. Prints JSON lines.
 *   prove [METRIC FILE] */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lb/promql/access.h"
#include "lib/clock.h"
#include "lib/fs.h"

#define QUERIES_IN_ALL 160000u
#define FILE_MAX (1u << 20)

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
	{"ceems_emissions_*", NULL, false},
	{"ceems_*", "uuid", false},
	{"uuid:*", "uuid", false},
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

/* Mean over all queries in text, each ended by a NUL, in nanoseconds; 0: refused */
static uint64_t mean_ns(const char *text, size_t len,
			const struct access_policy *policy)
{
	auto_buf struct buf out = BUF_INIT;
	uint64_t begin = clock_boottime_ns(), count = 0;

	while (count < QUERIES_IN_ALL)
		for (const char *q = text; q < text + len; q += strlen(q) + 1, count++)
			if (once(q, policy, &out)) {
				fprintf(stderr, "prove: refused: %s\n", q);
				return 0;
			}
	return (clock_boottime_ns() - begin) / count;
}

static int tell(const char *metric, uint64_t ns)
{
	if (ns)
		printf("{\"bench\":\"prove\",\"metric\":\"%s\",\"value\":%.2f,"
		       "\"unit\":\"us\",\"reach\":10,\"ok\":%s}\n",
		       metric, (double)ns / 1000, ns < 10000 ? "true" : "false");
	return !ns;
}

int main(int argc, char **argv)
{
	const struct access_policy policy = {.families = families,
					     .family_count = 3,
					     .cluster_label = "cluster",
					     .cluster = "alpha",
					     .lookback_ms = 300000};
	auto_buf struct buf text = BUF_INIT;
	struct err err;

	if (argc == 3) {
		if (fs_read_buf_at(AT_FDCWD, argv[2], FILE_MAX, &text, &err) < 0 ||
		    !text.len || text.data[text.len - 1]) {
			fprintf(stderr, "prove: %s: no queries\n", argv[2]);
			return 1;
		}
		return tell(argv[1], mean_ns(text.data, text.len, &policy));
	}
	for (size_t q = 0; q < QUERIES; q++)
		buf_put(&text, queries[q], strlen(queries[q]) + 1);
	return tell("query_mean", mean_ns(text.data, text.len, &policy));
}
