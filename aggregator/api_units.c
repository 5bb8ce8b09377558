/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units. A page is made of feeds, one per person, project or cluster, each of which is
 * a walk down an index, however many units there are. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/api.h"
#include "aggregator/api_site.h"
#include "lib/parse.h"

#define SERIES_MAX 2000
#define VERIFY_MAX 100
#define WEEK_US (7ull * 86400 * 1000000)

/* Conditions on a unit besides its feed. */
struct selection {
	bool all_time; /* no window */
	bool has_page;
	uint64_t page_us, page_id;
	size_t limit;
};

static int read_cursor(const struct ask *a, struct selection *ret, struct err *err)
{
	const struct param *p = params_get(&a->params, "cursor");

	if (!p || !*p->value)
		return 0;
	size_t n = strcspn(p->value, "-");
	if (!p->value[n] || parse_u64_len(p->value, n, &ret->page_us) < 0 ||
	    parse_u64(p->value + n + 1, &ret->page_id) < 0 ||
	    ret->page_us > 16000000000ull * 1000000 || ret->page_id > INT64_MAX)
		return err_set(err, -EINVAL,
			       "cursor: not valid: send back the cursor of the page "
			       "before, unchanged");
	ret->has_page = true;
	return 0;
}

/* The sort key of pages: the time when a unit began, or ended if it never began. */
static void put_page(const struct selection *s, struct query *q, const char *key)
{
	if (!s->has_page)
		return;
	query_put(q, " AND ");
	query_put(q, key);
	query_put(q, " <= ");
	query_time_us(q, s->page_us);
	query_put(q, " AND (");
	query_put(q, key);
	query_put(q, " < ");
	query_time_us(q, s->page_us);
	query_put(q, " OR u.id > ");
	query_s64(q, (int64_t)s->page_id);
	query_put(q, ")");
}

static void put_filters(const struct ask *a, struct query *q)
{
	const struct param *running = params_get(&a->params, "running");

	api_put_clusters(a, q, "u.cluster");
	api_put_filter(a, q, "project", "project", "u.project");
	api_put_filter(a, q, "user", "person", "u.person");
	api_put_filter(a, q, "state", NULL, "u.state");
	if (running && !running->number)
		query_put(q, " AND u.ended IS NOT NULL");
	if (!params_has(&a->params, "uuid"))
		return;
	/* the number of an array means all its tasks, N_T one of them; likewise N+T for
	 * a heterogeneous job */
	query_put(q, " AND (u.uuid = ANY (");
	query_param_list(q, &a->params, "uuid");
	query_put(q,
		  ") OR u.array_job = ANY (SELECT substring(j FROM '^[0-9]+')::bigint "
		  "FROM unnest(");
	query_param_list(q, &a->params, "uuid");
	query_put(q, ") j WHERE j ~ '^[0-9]{1,18}$' OR j = u.array_job || '_' || "
		     "u.array_task) OR u.het_job = ANY (SELECT substring(j FROM "
		     "'^[0-9]+')::bigint FROM unnest(");
	query_param_list(q, &a->params, "uuid");
	query_put(q, ") j WHERE j ~ '^[0-9]{1,18}$' OR j = u.het_job || '+' || "
		     "u.het_offset))");
}

/* A condition with the window: @a is its begin, @b its end, @w a week before its begin.
 * They are passed as values, so that an index walks no further than the window. */
static void put_life(const struct ask *a, struct query *q, const char *life)
{
	uint64_t week_us = a->from_us > WEEK_US ? a->from_us - WEEK_US : 0;

	for (const char *at; (at = strchr(life, '@')); life = at + 2) {
		buf_put(&q->sql, life, (size_t)(at - life));
		query_time_us(q, at[1] == 'a'   ? a->from_us
				 : at[1] == 'b' ? a->to_us
						: week_us);
	}
	query_put(q, life);
}

/* One branch of a feed: rows (key, id, observed_ms, node_ms) of units with this
 * condition. CASE hides the scope from the planner, which would otherwise look that up
 * too, or expect that hardly anything is left of the feed, and fetch all that a user
 * ever ran instead of walking down the feed for one page. */
static void put_branch(const struct ask *a, const struct selection *s, struct query *q,
		       const char *owner, const char *life, const char *key)
{
	query_put(q, "(SELECT ");
	query_put(q, key);
	query_put(q, " AS key, u.id AS id, u.observed_ms, u.node_ms FROM unit u "
		     "WHERE ");
	query_put(q, owner);
	put_life(a, q, life);
	query_put(q, " AND CASE WHEN ");
	scope_put_unit(&a->scope, q);
	query_put(q, " THEN true END");
	put_filters(a, q);
	put_page(s, q, key);
	query_put(q, " ORDER BY ");
	query_put(q, key);
	query_put(q, " DESC, u.id LIMIT ");
	query_s64(q, (int64_t)s->limit + 1);
	query_put(q, ")");
}

/* Units of a feed in the window: those that began in it or in the week before; longer
 * ones, which are few; and those that never began. */
static void put_feed(const struct ask *a, const struct selection *s, struct query *q,
		     const char *owner)
{
	put_branch(a, s, q, owner,
		   " AND u.started >= @w AND u.started < @b AND (u.ended IS NULL OR "
		   "u.ended >= @a)",
		   "u.started");
	query_put(q, " UNION ALL ");
	put_branch(a, s, q, owner,
		   " AND u.started < @w AND (u.ended IS NULL OR u.ended - u.started > "
		   "interval '7 days') AND (u.ended IS NULL OR u.ended >= @a)",
		   "u.started");
	query_put(q, " UNION ALL ");
	put_branch(a, s, q, owner,
		   " AND u.started IS NULL AND u.ended >= @a AND u.ended < @b",
		   "u.ended");
}

/* Persons as rows f (id, cluster), then their feed. */
static void put_person_feeds(const struct ask *a, const struct selection *s,
			     struct query *q, bool by_name)
{
	query_put(q, "SELECT x.* FROM (SELECT p.id, p.cluster FROM person p WHERE ");
	if (by_name) {
		query_put(q, "p.name = ANY (");
		query_param_list(q, &a->params, "user");
	} else {
		query_put(q, "p.id = ANY (");
		query_numbers(q, &a->scope.persons, "integer");
	}
	query_put(q, ")) f, LATERAL (");
	put_feed(a, s, q, "u.person = f.id AND u.cluster = f.cluster");
	query_put(q, ") x");
}

/* Units known from nodes that have no person yet. */
static void put_unnamed(const struct ask *a, const struct selection *s, struct query *q)
{
	query_put(q, " UNION ALL SELECT x.* FROM unnest(");
	query_numbers(q, &a->scope.uid_clusters, "smallint");
	query_put(q, ", ");
	query_numbers(q, &a->scope.uids, "bigint");
	query_put(q, ") AS f (c, uid), LATERAL (");
	put_branch(a, s, q, "u.cluster = f.c AND u.uid = f.uid AND u.person IS NULL",
		   " AND u.started < @b AND (u.ended IS NULL OR u.ended >= @a)",
		   "u.started");
	query_put(q, ") x");
}

static void put_named(const struct ask *a, const struct selection *s, struct query *q,
		      const char *param, const char *table, const char *owner)
{
	query_put(q, "SELECT x.* FROM (SELECT p.id FROM ");
	query_put(q, table);
	query_put(q, " p");
	if (param) {
		query_put(q, " WHERE p.name = ANY (");
		query_param_list(q, &a->params, param);
		query_put(q, ")");
	}
	query_put(q, ") f, LATERAL (");
	put_feed(a, s, q, owner);
	query_put(q, ") x");
}

/* By id there are few, whoever owns them: the scope takes care of that. */
static void put_by_id(const struct ask *a, const struct selection *s, struct query *q)
{
	put_branch(a, s, q, "true",
		   s->all_time
			   ? ""
			   : " AND coalesce(u.started, u.ended, u.submitted) < @b AND "
			     "(u.ended IS NULL OR u.ended >= @a)",
		   "coalesce(u.started, u.ended, u.submitted)");
}

static void put_feeds(const struct ask *a, const struct selection *s, struct query *q,
		      bool all)
{
	const struct param_set *p = &a->params;

	if (params_has(p, "uuid")) {
		put_by_id(a, s, q);
	} else if (params_has(p, "user") && (all || a->scope.kind == SCOPE_MATES)) {
		put_person_feeds(a, s, q, true);
	} else if (params_has(p, "project") && (all || a->scope.kind == SCOPE_MATES)) {
		put_named(a, s, q, "project", "project", "u.project = f.id");
	} else if (all) {
		put_named(a, s, q, params_has(p, "cluster_id") ? "cluster_id" : NULL,
			  "cluster", "u.cluster = f.id");
	} else {
		put_person_feeds(a, s, q, false);
		put_unnamed(a, s, q);
	}
}

/* What slurmctld's record has beside the columns of unit, the last part's; the command
 * line for whose it is. */
static void put_slurm_members(const struct ask *a, struct query *q, const char *unit)
{
	query_put(q, "(SELECT ',\"slurm\":' || nullif(jsonb_strip_nulls("
		     "jsonb_build_object('flags', k.record->'slurm_flags', "
		     "'admin_comment', k.record->'admin_comment', "
		     "'system_comment', k.record->'system_comment', "
		     "'extra', k.record->'extra', 'container', k.record->'container', "
		     "'constraints', k.record->'constraints', "
		     "'licenses', k.record->'licenses', "
		     "'qos_requested', k.record->'qos_requested', "
		     "'failed_node', k.record->'failed_node', "
		     "'priority', k.record->'priority') || CASE WHEN ");
	scope_put_private(&a->scope, q);
	query_put(q, " THEN jsonb_build_object('submit_line', k.record->'submit_line', "
		     "'submit_line_cut', k.record->'submit_line_cut') ELSE '{}'::jsonb "
		     "END), "
		     "'{}')::text FROM unit u CROSS JOIN LATERAL (SELECT s.record FROM "
		     "job_record s WHERE s.unit = u.id ORDER BY is_start(s), s.source "
		     "DESC, s.part DESC, s.state DESC LIMIT 1) k WHERE u.id = ");
	query_put(q, unit);
	query_put(q, ")");
}

/* What the kernel programs of its nodes counted, and each of them; paths of mounts for
 * whose they are. */
static void put_count_members(const struct ask *a, struct query *q)
{
	query_put(q, "concat(',\"mounts\":', coalesce(CASE WHEN ");
	scope_put_private(&a->scope, q);
	query_put(q, " THEN api_mounts(u.id) END, '[]'), ',\"node_counts\":', "
		     "coalesce(api_node_counts(u.id, ");
	scope_put_private(&a->scope, q);
	query_put(q, "), '[]'))");
}

/* A unit's object with its related members. A unit is running until slurmctld reports
 * its end. If all its nodes have reported its end, the answer says so, and until when
 * the record is awaited; after that the nodes' reports count (link_end of the
 * linker). */
static void put_members(const struct ask *a, struct query *q, const char *unit)
{
	const struct options *o = api_site_options(a->site);
	uint64_t lost_ms = o->linker_lost_ms > o->linker_grace_ms ? o->linker_lost_ms
								  : o->linker_grace_ms;

	query_put(q, "concat(left(j.members, -1), (SELECT concat("
		     "',\"ended_on_nodes_at\":\"', api_ts(max(n.ended)), "
		     "'\",\"ended_on_nodes_ts\":', api_ms(max(n.ended)), "
		     "',\"record_awaited_until_ts\":', api_ms(max(n.heard)) + CASE "
		     "bool_or(r.known_by = 'node') WHEN true THEN ");
	query_s64(q, (int64_t)o->linker_grace_ms);
	query_put(q, " ELSE ");
	query_s64(q, (int64_t)lost_ms);
	query_put(q,
		  " END) FROM unit r JOIN unit_node n ON n.unit = r.id WHERE r.id = ");
	query_put(q, unit);
	query_put(q, " AND r.started IS NOT NULL AND r.ended IS NULL "
		     "HAVING bool_and(n.ended IS NOT NULL)), (SELECT "
		     "',\"suspended_seconds\":' || coalesce(max((s.record->>"
		     "'suspended_s')::bigint), 0) FROM job_record s WHERE s.unit = ");
	query_put(q, unit);
	query_put(q, " HAVING count(*) > 0), ");
	put_slurm_members(a, q, unit);
	query_put(q, ", api_count_members(");
	query_put(q, unit);
	query_put(q, ")");
}

static int list_units(struct ask *a, bool all, struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	struct selection s = {.limit = api_limit(a)};
	const struct param_set *p = &a->params;
	int rc = read_cursor(a, &s, err);

	if (rc == 0)
		rc = api_window(a, err);
	if (rc < 0)
		return rc;
	s.all_time =
		params_has(p, "uuid") && !params_has(p, "from") && !params_has(p, "to");
	a->windowed = !s.all_time;
	query_put(&q, "WITH y AS MATERIALIZED (SELECT DISTINCT ON (z.key, z.id) z.* "
		      "FROM (");
	put_feeds(a, &s, &q, all);
	query_put(&q, ") z ORDER BY z.key DESC, z.id LIMIT ");
	query_s64(&q, (int64_t)s.limit + 1);
	query_put(&q, ") SELECT ");
	api_put_json(a, &q, params_has(p, "field") ? "m.text::jsonb" : "m.text");
	query_put(&q,
		  ", y.observed_ms, y.node_ms, api_us(y.key) || '-' || y.id AS page "
		  "FROM y JOIN api_units(ARRAY(SELECT id FROM y)) j ON j.unit = y.id "
		  "CROSS JOIN LATERAL (SELECT ");
	put_members(a, &q, "y.id");
	query_put(&q, ", '}') AS text OFFSET 0) m ORDER BY y.key DESC, y.id");
	return api_rows(a, &q, s.limit, err);
}

int api_units(struct ask *a, struct err *err)
{
	/* users may always filter by their own name */
	if (params_has(&a->params, "user") && a->scope.kind != SCOPE_MATES) {
		for (size_t i = 0; i < a->params.count; i++) {
			const struct param *p = &a->params.items[i];
			if (strcmp(p->spec->name, "user") == 0 &&
			    strcmp(p->value, a->who.login) != 0)
				return err_set(
					err, -EPERM,
					"units of other users are at /units/admin, for "
					"operators and admins only");
		}
	}
	return list_units(a, false, err);
}

int api_units_admin(struct ask *a, struct err *err)
{
	return list_units(a, true, err);
}

int api_units_visible(struct ask *a, struct err *err)
{
	return a->scope.kind >= SCOPE_CLUSTERS ? api_units_admin(a, err)
					       : api_units(a, err);
}

/* ---- one unit -------------------------------------------------------------------- */

static int read_resolution(const struct ask *a, const char **ret, struct err *err)
{
	const struct param *p = params_get(&a->params, "resolution");

	if (!p || strcmp(p->value, "interval") == 0)
		*ret = "api_series";
	else if (strcmp(p->value, "hour") == 0)
		*ret = "api_hours";
	else if (strcmp(p->value, "none") == 0)
		*ret = NULL;
	else
		return err_set(err, -EINVAL,
			       "resolution: must be interval, hour or none");
	return 0;
}

/* By the id of its row, or the latest that users know by this id. */
static void put_which(const struct ask *a, struct query *q)
{
	const struct path_args *p = &a->path;

	if (!*p->uuid) {
		query_s64(q, (int64_t)p->id);
		return;
	}
	query_put(q,
		  "(SELECT u.id FROM unit u JOIN cluster c ON c.id = u.cluster WHERE "
		  "c.name = ");
	query_text(q, p->cluster);
	query_put(q, " AND u.uuid = ");
	query_text(q, p->uuid);
	if (p->has_run) {
		query_put(q, " AND u.restarts = ");
		query_s64(q, (int64_t)p->run);
	}
	query_put(q, " AND ");
	scope_put_unit(&a->scope, q);
	query_put(
		q,
		" ORDER BY coalesce(u.started, u.submitted, u.ended) DESC NULLS LAST, "
		"u.id DESC LIMIT 1)");
}

int api_unit(struct ask *a, struct err *err)
{
	const struct param *from = params_get(&a->params, "from");
	const struct param *to = params_get(&a->params, "to");
	const struct param *most = params_get(&a->params, "limit");
	auto_query struct query q = {.list_count = 0};
	const char *series = NULL;
	int rc = read_resolution(a, &series, err);

	if (rc < 0)
		return rc;
	a->from_us = from ? from->number : 0;
	a->to_us = to ? to->number : a->now_us;
	query_put(&q, "SELECT ");
	put_members(a, &q, "j.unit");
	query_put(&q, ", ");
	put_count_members(a, &q);
	query_put(&q, ", ',\"nodes\":', api_nodes(u.id), ',\"steps\":', "
		      "api_steps(u.id), ");
	if (series) {
		query_put(&q, "',\"series\":', ");
		query_put(&q, series);
		query_put(&q, "(u.id, greatest(u.started, ");
		query_time_us(&q, a->from_us);
		query_put(&q, "), least(coalesce(u.ended, now()), ");
		query_time_us(&q, a->to_us);
		query_put(&q, "), ");
		query_s64(&q, most ? (int64_t)most->number : SERIES_MAX);
		query_put(&q, "::integer), ");
	}
	query_put(&q, "'}'), u.observed_ms AS observed_ms, u.node_ms AS node_ms, "
		      "api_utc(u.as_of) AS as_of FROM unit u CROSS JOIN LATERAL "
		      "api_units(ARRAY[u.id]) j WHERE u.id = ");
	put_which(a, &q);
	query_put(&q, " AND ");
	scope_put_unit(&a->scope, &q);
	rc = api_rows(a, &q, 0, err);
	/* do not reveal whether it is somebody else's */
	if (rc == 0 && a->rows == 0)
		return err_set(err, -ENOENT, "no such unit, or it is not yours to see");
	return rc;
}

/* ---- ownership ------------------------------------------------------------------- */

/* An id is a user's if every run of it that overlaps the window is. Runs known from a
 * node only count as well: the linker may be seconds behind. */
static void put_verdicts(struct ask *a, struct query *q)
{
	query_put(q, "SELECT jsonb_build_object('uuid', j.uuid, 'owned', "
		     "coalesce(bool_and(j.seen), false)), coalesce(bool_and(j.seen), "
		     "false) AS owned FROM (SELECT i.uuid, r.seen FROM unnest(");
	query_param_list(q, &a->params, "uuid");
	query_put(q, ") AS i (uuid) LEFT JOIN LATERAL (SELECT ");
	scope_put_unit(&a->scope, q);
	query_put(q,
		  " AS seen FROM unit u WHERE u.uuid = i.uuid AND u.started < w.b AND "
		  "(u.ended IS NULL OR u.ended >= w.a) AND " UNIT_IS_TIMED
		  " AND u.held IS DISTINCT FROM 'settled'");
	api_put_clusters(a, q, "u.cluster");
	query_put(q, " UNION ALL SELECT ");
	scope_put_unlinked(&a->scope, q);
	query_put(q,
		  " FROM unit_node n JOIN node o ON o.id = n.node WHERE n.unit IS NULL "
		  "AND n.over_by IS NULL AND n.uuid = i.uuid AND n.started < w.b AND "
		  "(n.ended IS NULL OR "
		  "n.ended >= w.a)");
	api_put_clusters(a, q, "o.cluster");
	query_put(q, ") r ON true) j GROUP BY j.uuid ORDER BY j.uuid");
}

int api_verify(struct ask *a, struct err *err)
{
	const struct param *from = params_get(&a->params, "from");
	const struct param *to = params_get(&a->params, "to");
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;
	size_t denied = 0;

	if (web_method(a->r) == WEB_POST)
		return api_verify_many(a, err);
	if (params_has(&a->params, "latest"))
		return err_set(err, -EINVAL, "latest: only with a body of ids");
	if (!params_has(&a->params, "uuid"))
		return err_set(err, -EINVAL, "uuid: at least one is needed");
	if (a->params.count > VERIFY_MAX + 8)
		return err_set(err, -EINVAL, "uuid: at most %d", VERIFY_MAX);
	/* without a window, of all time: an id that was reused by another user is then
	 * refused to both */
	a->from_us = from ? from->number : 0;
	a->to_us = to ? to->number : a->now_us + 60ull * 1000000;
	if (a->from_us > a->to_us)
		return err_set(err, -EINVAL, "from must be before to");
	query_put(&q, "WITH w AS (SELECT ");
	query_time_us(&q, a->from_us);
	query_put(&q, " AS a, ");
	query_time_us(&q, a->to_us);
	query_put(&q, " AS b) SELECT v.* FROM w, LATERAL (");
	put_verdicts(a, &q);
	query_put(&q, ") v");
	int rc = query_run(&q, a->pg, &r, err);
	if (rc < 0)
		return rc;
	for (int i = 0; i < PQntuples(r); i++) {
		bool owned = false;
		buf_puts(&a->data, i ? "," : "");
		buf_puts(&a->data, PQgetvalue(r, i, 0));
		denied += pg_get_bool(r, i, 1, &owned) < 0 || !owned;
	}
	if (denied) {
		a->status = 403;
		err_set(&a->refusal, 0, "%zu of %d units do not belong to %s alone",
			denied, PQntuples(r), a->who.login);
	}
	return 0;
}
