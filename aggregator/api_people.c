/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The small tables: users, projects, clusters, statistics, emission factors. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "aggregator/api.h"
#include "aggregator/api_site.h"

#define ROWS_MAX 10000

#define VALID "m.valid_from <= now() AND (m.valid_to IS NULL OR m.valid_to > now())"

static int list_users(struct ask *a, bool all, struct err *err)
{
	auto_query struct query q = {.list_count = 0};

	query_put(&q,
		  "SELECT jsonb_strip_nulls(jsonb_build_object('uid', p.uid::text, "
		  "'cluster_id', c.name, 'resource_manager', c.manager, 'name', "
		  "p.name, 'projects', (SELECT coalesce(jsonb_agg(x.name ORDER BY "
		  "x.name), '[]') FROM membership m JOIN project x ON x.id = m.project "
		  "WHERE m.person = p.id AND " VALID "), 'tags', '[]'::jsonb)) FROM "
		  "person p JOIN cluster c ON c.id = p.cluster WHERE p.erased_at IS "
		  "NULL AND ");
	if (all)
		scope_put_person(&a->scope, &q);
	else {
		query_put(&q, "p.id = ANY (");
		query_numbers(&q, &a->scope.persons, "integer");
		query_put(&q, ")");
	}
	api_put_clusters(a, &q, "p.cluster");
	if (all)
		api_put_filter(a, &q, "user", NULL, "p.name");
	if (params_has(&a->params, "project")) {
		query_put(&q, " AND EXISTS (SELECT FROM membership m JOIN project x ON "
			      "x.id = m.project WHERE m.person = p.id AND " VALID
			      " AND x.name = ANY (");
		query_param_list(&q, &a->params, "project");
		query_put(&q, "))");
	}
	query_put(&q, " ORDER BY c.name, p.name LIMIT ");
	query_s64(&q, ROWS_MAX + 1);
	return api_rows(a, &q, ROWS_MAX, err);
}

int api_users(struct ask *a, struct err *err)
{
	return list_users(a, false, err);
}

/* In the peer's form: the admins, with the source of the role. */
static int list_admins(struct ask *a, struct err *err)
{
	const struct conf_list *l = &api_site_options(a->site)->admins;
	auto_query struct query q = {.list_count = 0};
	struct buf names = {.max = 65536};

	buf_putc(&names, '[');
	for (size_t i = 0; i < l->count; i++) {
		buf_puts(&names, i ? "," : "");
		buf_put_json(&names, l->items[i], strcspn(l->items[i], ":"));
	}
	buf_putc(&names, ']');
	query_put(
		&q,
		"SELECT jsonb_build_object('cluster_id', 'all', 'name', r.login, "
		"'projects', '[]'::jsonb, 'tags', jsonb_agg(DISTINCT r.source)) FROM "
		"(SELECT login, source FROM role WHERE role = 'admin' AND (valid_to IS "
		"NULL OR valid_to > now()) UNION SELECT "
		"jsonb_array_elements_text(");
	query_text(&q, names.data);
	query_put(&q, "::jsonb), 'config') r (login, source) WHERE true");
	api_put_filter(a, &q, "user", NULL, "r.login");
	query_put(&q, " GROUP BY r.login ORDER BY r.login");
	int rc = api_rows(a, &q, ROWS_MAX, err);
	buf_done(&names);
	return rc;
}

int api_users_admin(struct ask *a, struct err *err)
{
	const struct param *role = params_get(&a->params, "role");

	if (!role || !*role->value)
		return list_users(a, true, err);
	if (strcmp(role->value, "admin") != 0)
		return err_set(err, -EINVAL, "role: must be admin");
	return list_admins(a, err);
}

static int list_projects(struct ask *a, struct err *err)
{
	bool all = a->scope.kind == SCOPE_ALL || a->scope.kind == SCOPE_CLUSTERS;
	auto_query struct query q = {.list_count = 0};

	query_put(&q,
		  "SELECT jsonb_build_object('uid', '', 'cluster_id', c.name, "
		  "'resource_manager', c.manager, 'name', p.name, 'users', (SELECT "
		  "coalesce(jsonb_agg(x.name ORDER BY x.name), '[]') FROM membership m "
		  "JOIN person x ON x.id = m.person WHERE m.project = p.id AND " VALID);
	/* the other members are shown only if the site allows it */
	if (!all && !api_site_options(a->site)->project_members) {
		query_put(&q, " AND x.id = ANY (");
		query_numbers(&q, &a->scope.persons, "integer");
		query_put(&q, ")");
	}
	query_put(&q, "), 'tags', '[]'::jsonb) FROM project p JOIN cluster c ON c.id = "
		      "p.cluster WHERE p.name <> '' AND ");
	scope_put_project(&a->scope, &q);
	api_put_clusters(a, &q, "p.cluster");
	api_put_filter(a, &q, "project", NULL, "p.name");
	query_put(&q, " ORDER BY c.name, p.name LIMIT ");
	query_s64(&q, ROWS_MAX + 1);
	return api_rows(a, &q, ROWS_MAX, err);
}

int api_projects(struct ask *a, struct err *err)
{
	return list_projects(a, err);
}

int api_projects_admin(struct ask *a, struct err *err)
{
	return list_projects(a, err);
}

static void put_clusters(const struct ask *a, struct query *q)
{
	if (a->scope.kind == SCOPE_CLUSTERS) {
		query_put(q, "c.id = ANY (");
		query_numbers(q, &a->scope.clusters, "smallint");
		query_put(q, ")");
	} else if (a->scope.kind == SCOPE_ALL) {
		query_put(q, "true");
	} else {
		query_put(q, "c.id = ANY (");
		query_numbers(q, &a->scope.person_clusters, "smallint");
		query_put(q, ")");
	}
	api_put_filter(a, q, "cluster_id", NULL, "c.name");
}

int api_clusters(struct ask *a, struct err *err)
{
	auto_query struct query q = {.list_count = 0};

	query_put(&q,
		  "SELECT jsonb_build_object('id', c.name, 'manager', c.manager) FROM "
		  "cluster c WHERE ");
	put_clusters(a, &q);
	query_put(&q, " ORDER BY c.name, c.manager");
	return api_rows(a, &q, 0, err);
}

/* Statistics of units in the window, by full days if there are many: counts are from
 * the daily sums, running units from the units. */
static int count_units(struct ask *a, struct err *err)
{
	auto_query struct query q = {.list_count = 0};

	query_put(&q, "WITH w AS (SELECT utc_day(");
	query_time_us(&q, a->from_us);
	query_put(&q, ") AS a, utc_day(");
	query_time_us(&q, a->to_us);
	query_put(
		&q,
		" - interval '1 us') AS b) SELECT jsonb_build_object('cluster_id', "
		"c.name, 'resource_manager', c.manager, 'num_units', n.units, "
		"'num_active_units', r.running, 'num_inactive_units', greatest(0, "
		"n.units - r.running), 'num_projects', n.projects, 'num_users', "
		"n.users, 'num_unlinked', l.unlinked, 'last_report_ts', "
		"api_ms(o.heard)), n.observed_ms AS observed_ms, n.node_ms AS "
		"node_ms, api_as_of() AS as_of FROM "
		"cluster c CROSS JOIN LATERAL (SELECT coalesce(sum(CASE WHEN d.day = "
		"(SELECT a FROM w) THEN d.units ELSE d.units_started END), 0) AS "
		"units, count(DISTINCT d.project) AS projects, count(DISTINCT "
		"d.person) AS users, sum(d.observed_ms) AS observed_ms, "
		"sum(d.node_ms) AS node_ms FROM usage_day d, w WHERE d.cluster = c.id "
		"AND d.day >= w.a AND d.day <= w.b AND ");
	scope_put_usage(&a->scope, &q);
	query_put(&q, ") n CROSS JOIN LATERAL (SELECT count(*) AS running FROM unit u "
		      "WHERE u.cluster = c.id AND u.ended IS NULL AND u.started IS NOT "
		      "NULL AND ");
	scope_put_unit(&a->scope, &q);
	query_put(
		&q,
		") r CROSS JOIN LATERAL (SELECT count(*) AS unlinked FROM unit_node n "
		"JOIN node o ON o.id = n.node WHERE n.unit IS NULL AND o.cluster = "
		"c.id AND ");
	scope_put_unlinked(&a->scope, &q);
	query_put(&q,
		  ") l CROSS JOIN LATERAL (SELECT max(last_report) AS heard FROM node "
		  "WHERE cluster = c.id) o WHERE ");
	put_clusters(a, &q);
	query_put(&q, " ORDER BY c.name, c.manager");
	return api_rows(a, &q, 0, err);
}

int api_stats(struct ask *a, struct err *err)
{
	int rc = api_window(a, err);

	return rc < 0 ? rc : count_units(a, err);
}

int api_stats_global(struct ask *a, struct err *err)
{
	a->from_us = 0;
	a->to_us = a->now_us;
	return count_units(a, err);
}

int api_factors(struct ask *a, struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	size_t most = api_limit(a);
	int rc = api_window(a, err);

	if (rc < 0)
		return rc;
	/* including the one valid when the window began */
	query_put(&q,
		  "SELECT jsonb_build_object('provider', f.provider, 'zone', f.zone, "
		  "'at', api_ts(f.at), 'at_ts', api_ms(f.at), 'grams_per_kwh', "
		  "f.grams_per_kwh) FROM emission_factor f WHERE f.at < ");
	query_time_us(&q, a->to_us);
	query_put(
		&q,
		" AND f.at >= coalesce((SELECT max(b.at) FROM emission_factor b WHERE "
		"b.provider = f.provider AND b.zone = f.zone AND b.at <= ");
	query_time_us(&q, a->from_us);
	query_put(&q, "), ");
	query_time_us(&q, a->from_us);
	query_put(&q, ")");
	api_put_filter(a, &q, "provider", NULL, "f.provider");
	api_put_filter(a, &q, "zone", NULL, "f.zone");
	query_put(&q, " ORDER BY f.provider, f.zone, f.at LIMIT ");
	query_s64(&q, (int64_t)most + 1);
	return api_rows(a, &q, most, err);
}
