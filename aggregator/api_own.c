/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owners of many units, for load balancers (doc/api.md): all runs that an id ever had,
 * so that they can tell for any time range whether all of them were the caller's. */
#include <errno.h>
#include <string.h>

#include "aggregator/api.h"
#include "lib/parse.h"

#define IDS_MAX 10000u
#define RUNS_MAX 200000

/* "id\nid\n" as elements of an SQL array's text: ids need no escapes. */
static int read_ids(struct ask *a, struct buf *ret, struct err *err)
{
	size_t len, n = 0;
	const char *p = web_body(a->r, &len), *end = p + len;

	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t id = (size_t)((eol ? eol : end) - p);

		if (!params_is_id(p, id))
			return err_set(err, -EINVAL, "line %zu: not the id of a unit",
				       n + 1);
		if (++n > IDS_MAX)
			return err_set(err, -EINVAL, "at most %u ids", IDS_MAX);
		buf_puts(ret, ret->len ? ",\"" : "\"");
		buf_put(ret, p, id);
		buf_putc(ret, '"');
		p += id + 1;
	}
	return buf_error(ret) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int one_cluster(const struct ask *a, const char **ret, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < a->params.count; i++) {
		if (strcmp(a->params.items[i].spec->name, "cluster_id") != 0)
			continue;
		*ret = a->params.items[i].value;
		n++;
	}
	return n == 1 ? 0 : err_set(err, -EINVAL, "cluster_id: exactly one is needed");
}

/* All runs of the ids in the array written by `ids`, including those known from a node
 * only. A run that never began has no series. */
static void put_runs(struct ask *a, struct query *q, const struct buf *ids)
{
	for (int linked = 1; linked >= 0; linked--) {
		query_put(q, linked ? "SELECT u.uuid, u.started, u.ended, "
				    : " UNION ALL SELECT n.uuid, n.started, n.ended, ");
		if (linked)
			scope_put_unit(&a->scope, q);
		else
			scope_put_unlinked(&a->scope, q);
		query_put(
			q,
			linked ? " FROM unit u WHERE u.cluster = ANY (ARRAY(SELECT id "
				 "FROM c)) AND u.started IS NOT NULL AND " UNIT_IS_TIMED
				 " AND u.held IS DISTINCT FROM 'settled' AND u.uuid = "
			       : " FROM unit_node n JOIN node o ON o.id = n.node "
				 "WHERE n.unit IS NULL AND n.over_by IS NULL AND "
				 "o.cluster = ANY (ARRAY(SELECT id FROM c)) AND "
				 "n.uuid = ");
		if (ids) {
			query_put(q, "ANY (ARRAY(SELECT unnest(");
			query_numbers(q, ids, "text");
			query_put(q, ")))");
		} else {
			query_put(q, "ANY (ARRAY(SELECT uuid FROM mine))");
		}
	}
	query_put(q, " LIMIT ");
	query_s64(q, RUNS_MAX + 1);
}

static int put_role(struct ask *a, const char *cluster, struct err *err)
{
	static const char *const names[] = {"user", "operator", "admin"};
	enum access_role role = a->scope.role;
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;
	int rc = 0;

	/* the load balancer asks of a name: the role must be for each manager of it */
	if (role == ROLE_OPERATOR && a->scope.clusters.len) {
		query_put(&q, "SELECT FROM cluster WHERE name = ");
		query_text(&q, cluster);
		query_put(&q, " HAVING bool_and(id = ANY (");
		query_numbers(&q, &a->scope.clusters, "smallint");
		query_put(&q, "))");
		rc = query_run_kept(&q, a->pg, &r, err);
		if (rc == 0 && PQntuples(r) == 0)
			role = ROLE_USER;
	}
	buf_printf(&a->data, "{\"role\":\"%s\"", names[role]);
	return rc;
}

/* A time as whole milliseconds, rounded outwards; null for a missing or infinite one,
 * such as the end of a running unit. */
static void put_ms(struct buf *out, const PGresult *r, int row, int column, bool up)
{
	int64_t us, ms;

	if (pg_binary_time(r, row, column, &us) < 0) {
		buf_puts(out, "null");
		return;
	}
	ms = us / 1000;
	if (us % 1000)
		ms += up ? us > 0 : -(us < 0);
	buf_put_s64(out, ms);
}

/* Puts a member of the answer, a constant. There may be ten thousands: results are
 * binary, and numbers are written without printf(). */
static int put_rows(struct ask *a, struct query *q, const char *member, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	int rc = query_run_kept_binary(q, a->pg, &r, err);

	if (rc < 0)
		return rc;
	buf_printf(&a->data, ",\"%s\":[", member);
	if (PQntuples(r) > RUNS_MAX)
		return err_set(err, -EFBIG, "more than %d runs: ask for fewer units",
			       RUNS_MAX);
	for (int i = 0; i < PQntuples(r); i++) {
		bool own = false;

		buf_puts(&a->data, i ? ",[" : "[");
		buf_put_json(&a->data, PQgetvalue(r, i, 0),
			     (size_t)PQgetlength(r, i, 0));
		buf_putc(&a->data, ',');
		put_ms(&a->data, r, i, 1, false);
		buf_putc(&a->data, ',');
		put_ms(&a->data, r, i, 2, true);
		own = pg_binary_bool(r, i, 3, &own) == 0 && own;
		buf_puts(&a->data, own ? ",true]" : ",false]");
	}
	buf_putc(&a->data, ']');
	return 0;
}

static int end_answer(struct ask *a, int rc)
{
	if (rc < 0)
		return rc;
	a->rows = 1;
	buf_putc(&a->data, '}');
	return 0;
}

/* A row for each manager of the cluster, as table c. */
static void put_cluster(struct query *q, const char *cluster)
{
	query_put(q, "WITH c AS (SELECT id FROM cluster WHERE name = ");
	query_text(q, cluster);
	query_put(q, ")");
}

/* The ids of the caller's latest units, at most `most` for each of their persons, as
 * table mine: by the index, however many units they ever had. */
static void put_mine_latest(struct ask *a, struct query *q, uint64_t most)
{
	query_put(q, ", mine AS (SELECT l.uuid FROM unnest(");
	query_numbers(q, &a->scope.persons, "integer");
	query_put(q, ", ");
	query_numbers(q, &a->scope.person_clusters, "smallint");
	query_put(q, ") p (id, cluster) CROSS JOIN LATERAL (SELECT u.uuid FROM unit u "
		     "WHERE u.person = p.id AND u.held IS NULL AND u.started IS NOT "
		     "NULL ORDER BY u.started DESC LIMIT ");
	query_s64(q, (int64_t)most);
	query_put(q, ") l WHERE p.cluster IN (SELECT id FROM c)) ");
}

/* Besides what was asked for: what the caller will probably ask next. The owner is
 * named, so that no answer is taken for another user's. */
static int put_latest(struct ask *a, const char *cluster, const struct param *latest,
		      struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	int rc;

	put_cluster(&q, cluster);
	put_mine_latest(a, &q, latest->number);
	put_runs(a, &q, NULL);
	rc = put_rows(a, &q, "latest", err);
	if (rc == -EFBIG) { /* optional: leave them out */
		buf_puts(&a->data, ",\"latest\":[]");
		rc = 0;
	}
	buf_puts(&a->data, ",\"user\":");
	buf_put_json(&a->data, a->who.login, strlen(a->who.login));
	return rc;
}

int api_verify_many(struct ask *a, struct err *err)
{
	const struct param *latest = params_get(&a->params, "latest");
	auto_query struct query q = {.list_count = 0};
	auto_buf struct buf ids = BUF_INIT;
	const char *cluster = NULL;
	int rc = one_cluster(a, &cluster, err);

	if (rc == 0 && a->params.count > (latest ? 2 : 1))
		rc = err_set(
			err, -EINVAL,
			"with a body of ids only cluster_id and latest may be given");
	if (rc == 0)
		rc = read_ids(a, &ids, err);
	if (rc == 0)
		rc = put_role(a, cluster, err);
	if (rc < 0)
		return rc;
	put_cluster(&q, cluster);
	query_put(&q, " ");
	put_runs(a, &q, &ids);
	rc = put_rows(a, &q, "units", err);
	if (rc == 0 && latest)
		rc = put_latest(a, cluster, latest, err);
	return end_answer(a, rc);
}

int api_units_own(struct ask *a, struct err *err)
{
	const struct param *most = params_get(&a->params, "most");
	auto_query struct query q = {.list_count = 0};
	const char *cluster = NULL;
	uint64_t limit = 1000;
	int rc = one_cluster(a, &cluster, err);

	if (rc == 0 && most &&
	    (parse_u64(most->value, &limit) < 0 || !limit || limit > IDS_MAX + 1))
		rc = err_set(err, -EINVAL, "most: must be 1 to %u", IDS_MAX + 1);
	if (rc == 0)
		rc = api_window(a, err);
	if (rc == 0)
		rc = put_role(a, cluster, err);
	if (rc < 0)
		return rc;
	put_cluster(&q, cluster);
	query_put(&q, ", mine AS (SELECT u.uuid FROM unit u WHERE u.cluster = "
		      "ANY (ARRAY(SELECT id FROM c)) AND u.started < ");
	query_time_us(&q, a->to_us);
	query_put(&q, " AND (u.ended IS NULL OR u.ended >= ");
	query_time_us(&q, a->from_us);
	query_put(&q, ") AND ");
	scope_put_unit(&a->scope, &q);
	query_put(&q, " GROUP BY u.uuid LIMIT ");
	query_s64(&q, (int64_t)limit);
	query_put(&q, ") ");
	put_runs(a, &q, NULL);
	return end_answer(a, put_rows(a, &q, "units", err));
}
