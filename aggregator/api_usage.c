/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Usage: whole days from the daily sums, and the hours at both ends of the window from
 * the hourly ones, so that exactly the window is counted. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/api.h"
#include "lib/parse.h"

#define HOUR_US (3600ull * 1000000)
#define DAY_US (24 * HOUR_US)
#define GROUPS_MAX 10000 /* persons and projects in one answer */

#define DAY_UJ                                                                         \
	"energy_total_uj(d.package_uj, d.dram_uj, d.psys_uj, d.gpu_uj, d.host_uj, "    \
	"d.other_uj)"

#define SUMS                                                                           \
	"sum(d.wall_ms) AS wall_ms, sum(d.node_ms) AS node_ms, sum(d.observed_ms) AS " \
	"observed_ms, sum(d.cpu_ns) AS cpu_ns, sum(d.cpu_alloc_ms) AS cpu_alloc_ms, "  \
	"sum(d.memory_byte_ms) AS memory_byte_ms, sum(d.memory_alloc_byte_ms) AS "     \
	"memory_alloc_byte_ms, sum(d.io_read_bytes) AS io_read_bytes, "                \
	"sum(d.io_write_bytes) AS io_write_bytes, sum(d.net_rx_bytes) AS "             \
	"net_rx_bytes, sum(d.net_tx_bytes) AS net_tx_bytes, sum(d.gpu_busy_ms) AS "    \
	"gpu_busy_ms, sum(d.gpu_alloc_ms) AS gpu_alloc_ms, "                           \
	"sum(d.gpu_memory_byte_ms) AS gpu_memory_byte_ms, sum(d.package_uj) AS "       \
	"package_uj, sum(d.dram_uj) AS dram_uj, sum(d.psys_uj) AS psys_uj, "           \
	"sum(d.gpu_uj) AS gpu_uj, sum(d.host_uj) AS host_uj, sum(d.other_uj) AS "      \
	"other_uj, grams_sum(d.grams) AS grams, sum(d.wasted_cpu_ms) AS "              \
	"wasted_cpu_ms, sum(d.wasted_uj) AS wasted_uj, coalesce(sum(" DAY_UJ           \
	" * d.pue) / nullif(sum(" DAY_UJ "), 0), 1) AS pue"

#define SUMS_JSON                                                                      \
	"api_sums(g.wall_ms::bigint, g.node_ms::bigint, g.observed_ms::bigint, "       \
	"g.cpu_ns, g.cpu_alloc_ms::bigint, g.memory_byte_ms, "                         \
	"g.memory_alloc_byte_ms, g.io_read_bytes, g.io_write_bytes, g.net_rx_bytes, "  \
	"g.net_tx_bytes, g.gpu_busy_ms::bigint, g.gpu_alloc_ms::bigint, "              \
	"g.gpu_memory_byte_ms, g.package_uj, g.dram_uj, g.psys_uj, g.gpu_uj, "         \
	"g.host_uj, g.other_uj, g.grams, g.pue) || jsonb_strip_nulls("                 \
	"jsonb_build_object('wasted_cpu_seconds', round(g.wasted_cpu_ms / 1000.0, "    \
	"3), 'wasted_joules', round(g.wasted_uj / 1000000, 6)))"

#define AS_OF ", api_as_of() AS as_of"

static void put_owner_filters(const struct ask *a, struct query *q)
{
	scope_put_usage(&a->scope, q);
	api_put_clusters(a, q, "d.cluster");
	api_put_filter(a, q, "project", "project", "d.project");
	api_put_filter(a, q, "user", "person", "d.person");
}

static void put_day(struct query *q, uint64_t us)
{
	query_put(q, "utc_day(");
	query_time_us(q, us);
	query_put(q, ")");
}

/* kWh include the building's share (PUE) by day, as grams do. */
static void put_pue(struct query *q, const char *cluster)
{
	query_put(q, " LEFT JOIN pue_range r ON r.cluster = ");
	query_put(q, cluster);
	query_put(q, " AND d.day >= r.first AND d.day < r.after");
}

/* Rows of usage_day in [first, after), with `counted`: units not already counted on an
 * earlier day. */
static void put_days(const struct ask *a, struct query *q, uint64_t first_us,
		     uint64_t after_us, bool begins)
{
	query_put(q, "SELECT d.cluster, d.person, d.project, ");
	if (begins) {
		query_put(q, "CASE WHEN d.day = ");
		put_day(q, first_us);
		query_put(q, " THEN d.units ELSE d.units_started END AS counted, ");
	} else {
		query_put(q, "d.units_started AS counted, ");
	}
	query_put(q, "d.wall_ms, d.node_ms, d.observed_ms, d.cpu_ns, d.cpu_alloc_ms, "
		     "d.memory_byte_ms, d.memory_alloc_byte_ms, d.io_read_bytes, "
		     "d.io_write_bytes, d.net_rx_bytes, d.net_tx_bytes, d.gpu_busy_ms, "
		     "d.gpu_alloc_ms, d.gpu_memory_byte_ms, d.package_uj, d.dram_uj, "
		     "d.psys_uj, d.gpu_uj, d.host_uj, d.other_uj, d.grams, "
		     "d.wasted_cpu_ms, d.wasted_uj, coalesce(r.pue, 1) AS pue FROM "
		     "usage_day d");
	put_pue(q, "d.cluster");
	query_put(q, " WHERE d.day >= ");
	put_day(q, first_us);
	query_put(q, " AND d.day < ");
	put_day(q, after_us);
	query_put(q, " AND ");
	put_owner_filters(a, q);
}

/* Hours of [from, to), which are within one day, summed over units. A unit's wall time
 * is its part in them. first: counts the units that were running, else those that
 * began. */
static void put_hours(const struct ask *a, struct query *q, uint64_t from_us,
		      uint64_t to_us, bool first)
{
	query_put(q, "SELECT u.cluster, d.person, d.project, CASE WHEN ");
	query_put(q, first ? "true" : "u.started >= ");
	if (!first)
		query_time_us(q, from_us);
	query_put(q, " THEN 1 ELSE 0 END AS counted, overlap_ms(u.started, "
		     "coalesce(u.ended, now()), ");
	query_time_us(q, from_us);
	query_put(q, ", ");
	query_time_us(q, to_us);
	query_put(q, "), h.*, coalesce(r.pue, 1) FROM unit_day d JOIN unit u ON u.id = "
		     "d.unit");
	put_pue(q, "u.cluster");
	query_put(q,
		  " CROSS JOIN LATERAL (SELECT sum(h.node_ms), sum(h.observed_ms), "
		  "sum(h.cpu_user_ns + h.cpu_system_ns), sum(h.cpu_alloc_ms), "
		  "sum(h.memory_byte_ms), sum(h.memory_alloc_byte_ms), "
		  "sum(h.io_read_bytes), sum(h.io_write_bytes), sum(h.net_rx_bytes), "
		  "sum(h.net_tx_bytes), sum(h.gpu_busy_ms), sum(h.gpu_alloc_ms), "
		  "sum(h.gpu_memory_byte_ms), sum(h.package_uj), sum(h.dram_uj), "
		  "sum(h.psys_uj), sum(h.gpu_uj), sum(h.host_uj), sum(h.other_uj), "
		  "grams_sum(h.grams), wasted_cpu_ms(sum(sum_known(h.cpu_user_ns, "
		  "h.cpu_system_ns)), sum(h.cpu_alloc_ms)), "
		  "wasted_uj(energy_total_uj(sum(h.package_uj), sum(h.dram_uj), "
		  "sum(h.psys_uj), sum(h.gpu_uj), sum(h.host_uj), sum(h.other_uj)), "
		  "sum(h.gpu_uj), sum(sum_known(h.cpu_user_ns, h.cpu_system_ns)), "
		  "sum(h.cpu_alloc_ms), sum(h.gpu_busy_ms), sum(h.gpu_alloc_ms)) "
		  "FROM unit_hour h WHERE h.unit = d.unit AND "
		  "h.hour >= ");
	query_time_us(q, from_us);
	query_put(q, " AND h.hour < ");
	query_time_us(q, to_us);
	query_put(q, " HAVING count(*) > 0) h WHERE d.person IS NOT NULL AND d.day = ");
	put_day(q, from_us);
	query_put(q, " AND ");
	scope_put_day(&a->scope, q);
	api_put_clusters(a, q, "u.cluster");
	api_put_filter(a, q, "project", "project", "d.project");
	api_put_filter(a, q, "user", "person", "d.person");
}

/* The parts of a window; empty if begin and end are equal. */
struct parts {
	uint64_t head_us, days_us, tail_us,
		end_us; /* [head, days) [days, tail) [tail, end) */
};

static uint64_t round_down_us(uint64_t us, uint64_t step)
{
	return us / step * step;
}

static uint64_t round_up_us(uint64_t us, uint64_t step)
{
	return round_down_us(us + step - 1, step);
}

/* The window rounded outwards to full hours, or to full days where hours are no longer
 * kept. The answer says what it became. */
static void split_window(struct ask *a, struct parts *ret)
{
	uint64_t kept_us = a->app->options.retention_hours_ms * 1000;
	uint64_t oldest_us =
		a->now_us > kept_us ? round_up_us(a->now_us - kept_us, DAY_US) : 0;

	a->from_us =
		round_down_us(a->from_us, a->from_us < oldest_us ? DAY_US : HOUR_US);
	a->to_us = round_up_us(a->to_us, a->to_us < oldest_us ? DAY_US : HOUR_US);
	*ret = (struct parts){a->from_us, round_up_us(a->from_us, DAY_US),
			      round_down_us(a->to_us, DAY_US), a->to_us};
	if (ret->days_us > ret->tail_us) /* within one day */
		ret->days_us = ret->tail_us = a->to_us;
}

static void put_window(struct ask *a, struct query *q)
{
	struct parts p;

	split_window(a, &p);
	put_days(a, q, p.days_us, p.tail_us, p.head_us == p.days_us);
	if (p.head_us < p.days_us) {
		query_put(q, " UNION ALL ");
		put_hours(a, q, p.head_us, p.days_us, true);
	}
	if (p.tail_us < p.end_us) {
		query_put(q, " UNION ALL ");
		put_hours(a, q, p.tail_us, p.end_us, p.head_us == p.tail_us);
	}
}

/* Sums of the rows of `put`, by person and project. */
static int put_usage_groups(struct ask *a, void (*put)(struct ask *a, struct query *q),
			    struct err *err)
{
	auto_query struct query q = {.list_count = 0};

	query_put(&q, "SELECT ");
	api_put_json(
		a, &q,
		"jsonb_strip_nulls(jsonb_build_object('cluster_id', c.name, "
		"'resource_manager', c.manager, 'project', pr.name, 'groupname', '', "
		"'username', pe.name, 'num_units', g.units) || " SUMS_JSON ")");
	query_put(&q, ", g.observed_ms AS observed_ms, g.node_ms AS node_ms" AS_OF
		      " FROM (SELECT d.cluster, d.person, d.project, sum(d.counted) AS "
		      "units, " SUMS " FROM (");
	put(a, &q);
	query_put(
		&q,
		") d GROUP BY d.cluster, d.person, d.project ORDER BY 1, 3, 2 LIMIT ");
	query_s64(&q, GROUPS_MAX + 1);
	query_put(&q,
		  ") g JOIN cluster c ON c.id = g.cluster JOIN person pe ON pe.id = "
		  "g.person JOIN project pr ON pr.id = g.project ORDER BY c.name, "
		  "pr.name, pe.name");
	return api_rows(a, &q, GROUPS_MAX, err);
}

/* The peer's clients send the columns to group by. Rows have all of these; silently
 * dropping another one would give other sums. */
static int check_groupby(const struct ask *a, struct err *err)
{
	static const char *const columns[] = {"cluster_id", "resource_manager",
					      "project", "groupname", "username"};

	for (size_t i = 0; i < a->params.count; i++) {
		const struct param *p = &a->params.items[i];
		bool known = strcmp(p->spec->name, "groupby") != 0 || !*p->value;
		for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++)
			known |= strcmp(p->value, columns[k]) == 0;
		if (!known)
			return err_set(err, -EINVAL,
				       "groupby: must be cluster_id, resource_manager, "
				       "project, groupname or username");
	}
	return 0;
}

int api_usage_current(struct ask *a, struct err *err)
{
	int rc = check_groupby(a, err);

	if (rc == 0)
		rc = api_window(a, err);
	return rc < 0 ? rc : put_usage_groups(a, put_window, err);
}

static void put_all_time(struct ask *a, struct query *q)
{
	put_days(a, q, 0, round_up_us(a->now_us + DAY_US, DAY_US), false);
}

int api_usage_global(struct ask *a, struct err *err)
{
	int rc = check_groupby(a, err);

	return rc < 0 ? rc : put_usage_groups(a, put_all_time, err);
}

/* ---- by day ---------------------------------------------------------------------- */

/* "20250807-12-3": day, person, project of the previous page's last row. */
static int put_after(const struct ask *a, struct query *q, struct err *err)
{
	const struct param *p = params_get(&a->params, "cursor");
	uint64_t v[3];
	const char *s = p ? p->value : "";

	if (!*s)
		return 0;
	for (int i = 0; i < 3; i++) {
		size_t n = strcspn(s, "-");
		if (parse_u64_len(s, n, &v[i]) < 0 || v[i] > INT32_MAX ||
		    (s[n] == '-') != (i < 2))
			return err_set(err, -EINVAL,
				       "cursor: not valid: send back the cursor of the "
				       "page before, unchanged");
		s += n + 1;
	}
	query_put(q, " AND (d.day, d.person, d.project) > (DATE '1970-01-01' + ");
	query_s64(q, (int64_t)v[0]);
	query_put(q, "::integer, ");
	query_s64(q, (int64_t)v[1]);
	query_put(q, ", ");
	query_s64(q, (int64_t)v[2]);
	query_put(q, ")");
	return 0;
}

int api_usage_daily(struct ask *a, struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	size_t most = api_limit(a);
	int rc = api_window(a, err);

	if (rc < 0)
		return rc;
	a->from_us = round_down_us(a->from_us, DAY_US);
	a->to_us = round_up_us(a->to_us, DAY_US);
	query_put(&q, "SELECT ");
	api_put_json(a, &q,
		     "jsonb_strip_nulls(jsonb_build_object('day', g.day, 'cluster_id', "
		     "c.name, 'resource_manager', c.manager, 'project', pr.name, "
		     "'username', pe.name, 'num_units', g.units, 'num_units_started', "
		     "g.units_started, 'as_of', api_ts(g.as_of)) || " SUMS_JSON ")");
	query_put(&q,
		  ", g.observed_ms AS observed_ms, g.node_ms AS node_ms, (g.day - DATE "
		  "'1970-01-01') || '-' || g.person || '-' || g.project AS page" AS_OF
		  " FROM (SELECT d.*, coalesce(r.pue, 1) AS pue FROM usage_day d");
	put_pue(&q, "d.cluster");
	query_put(&q, " WHERE d.day >= ");
	put_day(&q, a->from_us);
	query_put(&q, " AND d.day < ");
	put_day(&q, a->to_us);
	query_put(&q, " AND ");
	put_owner_filters(a, &q);
	rc = put_after(a, &q, err);
	if (rc < 0)
		return rc;
	query_put(&q, " ORDER BY d.day, d.person, d.project LIMIT ");
	query_s64(&q, (int64_t)most + 1);
	query_put(&q,
		  ") g JOIN cluster c ON c.id = g.cluster JOIN person pe ON pe.id = "
		  "g.person JOIN project pr ON pr.id = g.project ORDER BY g.day, "
		  "g.person, g.project");
	return api_rows(a, &q, most, err);
}

/* ---- by project ------------------------------------------------------------------ */

int api_usage_projects(struct ask *a, struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	int rc = api_window(a, err);

	if (rc < 0)
		return rc;
	query_put(&q, "SELECT ");
	api_put_json(a, &q,
		     "jsonb_strip_nulls(jsonb_build_object('cluster_id', c.name, "
		     "'resource_manager', c.manager, 'project', pr.name, 'num_users', "
		     "g.users, 'num_units', g.units) || " SUMS_JSON ")");
	query_put(&q, ", g.observed_ms AS observed_ms, g.node_ms AS node_ms" AS_OF
		      " FROM (SELECT d.cluster, d.project, count(DISTINCT d.person) AS "
		      "users, sum(d.counted) AS units, " SUMS " FROM (");
	put_window(a, &q);
	query_put(&q, ") d GROUP BY d.cluster, d.project ORDER BY 1, 2 LIMIT ");
	query_s64(&q, GROUPS_MAX + 1);
	query_put(&q,
		  ") g JOIN cluster c ON c.id = g.cluster JOIN project pr ON pr.id = "
		  "g.project ORDER BY energy_total_uj(g.package_uj, g.dram_uj, "
		  "g.psys_uj, g.gpu_uj, g.host_uj, g.other_uj) DESC NULLS LAST, "
		  "c.name, pr.name");
	return api_rows(a, &q, GROUPS_MAX, err);
}
