/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One turn: at most one page, or a few servers. What a turn has found counts once its
 * transaction has been committed; one that is done again is harmless. */
#include "aggregator/openstack/cloud_reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/openstack/keystone_json.h"
#include "aggregator/openstack/nova_json.h"
#include "aggregator/periodic_job.h"
#include "aggregator/query.h"
#include "lib/clock.h"
#include "lib/rfc3339.h"

#define NS_PER_MS 1000000ull
#define LEASE_MS 30000 /* and a timeout: for one turn of a reading */
#define SOON_MS 3000   /* after a node has told of a VM that is not known */
#define RETRY_MAX_MS 300000u
#define UNSEEN_TURN 16
#define SILENT_MAX 256u /* servers of silent cells that are asked for in a reading */
#define AGAIN_MAX 64u

/* What cloud_hold() says. */
struct cloud_due {
	int64_t cluster, people_ms, whole_ms, changes_ms, since_s,
		newest; /* -1: none */
	bool mine;
};

static int64_t column_or(const PGresult *r, int column, int64_t other)
{
	int64_t v;

	return pg_get_s64(r, 0, column, &v) == 0 ? v : other;
}

static int hold_cloud(struct cloud_reader *c, struct pg *pg, struct cloud_due *ret,
		      struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;

	query_put(&q, "SELECT id, mine, people_ms, whole_ms, changes_ms, since_s, "
		      "newest FROM cloud_hold(");
	query_text(&q, c->cloud->id);
	query_put(&q, ", ");
	query_s64(&q, c->holder);
	query_put(&q, ", ");
	/* nobody holds it between two readings: who starts anew need not wait */
	query_s64(&q, c->now.stage == CLOUD_IDLE
			      ? 0
			      : LEASE_MS + (int64_t)c->cloud->timeout_ms);
	query_put(&q, ")");
	int rc = query_run_kept(&q, pg, &r, err);
	if (rc < 0)
		return rc;
	*ret = (struct cloud_due){
		.cluster = column_or(r, 0, -1),
		.people_ms = column_or(r, 2, -1),
		.whole_ms = column_or(r, 3, -1),
		.changes_ms = column_or(r, 4, -1),
		.since_s = column_or(r, 5, -1),
		.newest = column_or(r, 6, -1),
	};
	return pg_get_bool(r, 0, 1, &ret->mine);
}

/* ---- people ---------------------------------------------------------------------- */

/* The list of role assignments while it comes. */
struct people_reading {
	struct pg *pg;
	struct keystone_roles roles;
	int rc;         /* of what has come */
	bool of_pg;     /* the failure is the database's */
	struct err err; /* and its text */
};

/* Nothing is changed by these rows before all are there. */
static int store_roles(void *arg, const struct buf *rows, struct err *err)
{
	struct people_reading *p = arg;
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;

	query_put(&q, "SELECT cloud_roles(");
	query_text(&q, rows->data);
	query_put(&q, "::jsonb)");
	int rc = query_run_kept(&q, p->pg, &r, err);
	p->of_pg = rc < 0;
	return rc;
}

static bool take_people(void *arg, const char *data, size_t len)
{
	struct people_reading *p = arg;

	p->rc = keystone_roles_feed(&p->roles, data, len, &p->err);
	return p->rc == 0;
}

static int ask_people(struct cloud_reader *c, struct people_reading *p, struct err *err,
		      struct err *why)
{
	auto_http_response struct http_response r = {.status = 0};
	int rc = cloud_session_read(c->session, CLOUD_IDENTITY,
				    "/v3/role_assignments?effective&include_names=true",
				    take_people, p, &r, why);

	if (p->of_pg) {
		why->text[0] = '\0';
		*err = p->err;
		return p->rc;
	}
	if (p->rc < 0)
		return err_set(why, p->rc, "%s/v3/role_assignments: %s",
			       c->cloud->identity, p->err.text);
	if (rc < 0)
		return rc;
	rc = keystone_roles_end(&p->roles, why);
	return rc < 0 ? err_prefix(why, rc, "%s", r.url) : 0;
}

static int apply_people(struct cloud_reader *c, struct pg *pg, int64_t cluster,
			const struct buf *last_rows, struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;
	int64_t added, over;

	query_put(&q, "SELECT added, over FROM cloud_people(");
	query_s64(&q, cluster);
	query_put(&q, "::smallint, ");
	query_text(&q, last_rows->data);
	query_put(&q, "::jsonb)");
	int rc = query_run(&q, pg, &r, err);
	if (rc == 0)
		rc = pg_get_s64(r, 0, 0, &added);
	if (rc == 0)
		rc = pg_get_s64(r, 0, 1, &over);
	if (rc == 0 && added + over > 0)
		log_info("openstack: cluster %s: %lld memberships begin, %lld end",
			 c->cloud->id, (long long)added, (long long)over);
	return rc;
}

static int read_people(struct cloud_reader *c, struct pg *pg, int64_t cluster,
		       struct err *err, struct err *why)
{
	struct people_reading p = {
		.pg = pg,
		.roles = {.cloud = c->cloud, .store = store_roles, .arg = &p}};
	int rc = ask_people(c, &p, err, why);

	if (rc == 0)
		rc = apply_people(c, pg, cluster, &p.roles.rows, err);
	keystone_roles_done(&p.roles);
	return rc;
}

/* ---- servers --------------------------------------------------------------------- */

static int store_servers(struct pg *pg, int64_t cluster, bool whole,
			 const struct buf *rows, struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;

	query_put(&q, "SELECT made, changed FROM cloud_servers(");
	query_s64(&q, cluster);
	query_put(&q, "::smallint, ");
	query_text(&q, rows->data);
	query_put(&q, "::jsonb, ");
	query_bool(&q, whole);
	query_put(&q, ")");
	return query_run_kept(&q, pg, &r, err);
}

static void count_page(struct cloud_reader *c, const struct nova_page *p)
{
	atomic_fetch_add(&c->skipped, p->skipped);
	if (p->skipped && log_repeat_due(&c->skipping, clock_boottime_ns()))
		log_warn("openstack: cluster %s: %zu servers of a page have no usable "
			 "id, owner or time: they are left out",
			 c->cloud->id, p->skipped);
	c->now.servers += p->servers;
	if (c->now.whole)
		atomic_fetch_add(&c->stubs, p->stubs);
}

/* The server behind which the page begins is gone: the page before begins again, and
 * if that one's is gone too, the list. */
static int begin_page_again(struct cloud_reader *c, struct err *why)
{
	if (c->now.again++ >= AGAIN_MAX) {
		c->now = (struct cloud_progress){.stage = CLOUD_IDLE};
		return err_set(why, -EPROTO,
			       "the list of servers changes while it is read");
	}
	memcpy(c->now.marker, c->now.before, sizeof(c->now.marker));
	c->now.before[0] = '\0';
	return 0;
}

static void put_list_path(const struct cloud_reader *c, char *ret, size_t size)
{
	const struct cloud_progress *p = &c->now;
	char from[RFC3339_BYTES];
	int n = snprintf(ret, size, "/servers/detail?all_tenants=true&limit=%u",
			 c->page);

	if (!p->whole) {
		rfc3339_print(p->from_s, from);
		n += snprintf(ret + n, size - (size_t)n, "&changes-since=%s", from);
	}
	if (*p->marker)
		(void)snprintf(ret + n, size - (size_t)n, "&marker=%s", p->marker);
}

/* What a list named that was not read to its end may have been deleted since. */
static int forget_seen(struct pg *pg, int64_t cluster, struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;

	query_put(&q, "DELETE FROM cloud_seen WHERE cluster = ");
	query_s64(&q, cluster);
	return query_run_kept(&q, pg, &r, err);
}

/* 0; 1: there is more to do now. *why is the cloud's failure, *err the database's. */
static int read_page(struct cloud_reader *c, struct pg *pg, int64_t cluster,
		     struct err *err, struct err *why)
{
	auto_http_response struct http_response r = {.status = 0};
	auto_buf struct buf rows = {.max = 2 * NOVA_BYTES_MAX};
	struct nova_page page;
	char path[256];

	int rc = c->now.whole && !c->now.since_s ? forget_seen(pg, cluster, err) : 0;
	if (rc < 0)
		return rc;
	put_list_path(c, path, sizeof(path));
	rc = cloud_session_get(c->session, CLOUD_COMPUTE, path, 400, &r, why);
	if ((rc == -EFBIG || (rc == 0 && r.body.len > NOVA_BYTES_MAX)) && c->page > 1) {
		c->page /= 2;
		why->text[0] = '\0';
		return 1;
	}
	if (rc == 0 && r.status == 400)
		rc = *c->now.marker ? begin_page_again(c, why)
				    : err_set(why, -EPROTO, "%s: status 400", r.url);
	else if (rc == 0) {
		rc = nova_page_rows(r.body.data ? r.body.data : "", r.body.len, &rows,
				    &page, why);
		if (rc < 0)
			(void)err_prefix(why, rc, "%s", r.url);
	}
	if (rc < 0)
		return rc;
	if (r.status == 400)
		return 1;
	if (!c->now.since_s) {
		uint64_t date_s = cloud_session_date_s(c->session);
		c->now.since_s = date_s ? date_s : clock_realtime_ns() / 1000000000ull;
	}
	rc = store_servers(pg, cluster, c->now.whole, &rows, err);
	if (rc < 0)
		return rc;
	count_page(c, &page);
	if (page.more && strcmp(page.last, c->now.marker) == 0)
		return err_set(why, -EPROTO, "%s: the list does not go on", r.url);
	memcpy(c->now.before, c->now.marker, sizeof(c->now.before));
	memcpy(c->now.marker, page.last, sizeof(c->now.marker));
	if (!page.more)
		c->now.stage = CLOUD_UNSEEN;
	return 1;
}

static void count_silent(struct cloud_reader *c, size_t n)
{
	c->now.silent += n;
	atomic_fetch_add(&c->stubs, n);
}

static int ask_one(struct cloud_reader *c, struct pg *pg, int64_t cluster,
		   const char *uuid, struct err *err, struct err *why)
{
	auto_http_response struct http_response r = {.status = 0};
	auto_buf struct buf rows = {.max = NOVA_BYTES_MAX};
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *result = NULL;
	struct nova_page page = {.servers = 0};
	char path[128];

	(void)snprintf(path, sizeof(path), "/servers/%.64s", uuid);
	int rc = cloud_session_get(c->session, CLOUD_COMPUTE, path, 404, &r, why);
	if (rc == -EPROTO) { /* as of a cell that does not answer: it stays as it is */
		why->text[0] = '\0';
		count_silent(c, 1);
		buf_printf(&rows, "[{\"id\":\"%s\",\"stub\":true}]", uuid);
		return store_servers(pg, cluster, true, &rows, err);
	}
	if (rc < 0)
		return rc;
	if (r.status == 404) {
		query_put(&q, "SELECT cloud_lost(");
		query_s64(&q, cluster);
		query_put(&q, "::smallint, ");
		query_text(&q, uuid);
		query_put(&q, ")");
		return query_run_kept(&q, pg, &result, err);
	}
	rc = nova_server_row(r.body.data ? r.body.data : "", r.body.len, &rows, &page,
			     why);
	if (rc < 0)
		return rc;
	count_silent(c, page.stubs);
	return store_servers(pg, cluster, true, &rows, err);
}

static int end_reading(struct cloud_reader *c, struct pg *pg, int64_t cluster,
		       struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;

	query_put(&q, "SELECT cloud_done(");
	query_s64(&q, cluster);
	query_put(&q, "::smallint, ");
	query_bool(&q, c->now.whole);
	query_put(&q, ", ");
	query_s64(&q, (int64_t)c->now.since_s);
	query_put(&q, ", ");
	query_s64(&q, c->now.asked);
	query_put(&q, ")");
	int rc = query_run_kept(&q, pg, &r, err);
	if (rc < 0)
		return rc;
	if (c->now.whole && !c->had_whole)
		log_info("openstack: cluster %s: %zu servers", c->cloud->id,
			 c->now.servers);
	if (c->now.whole)
		atomic_store(&c->servers, c->now.servers);
	c->had_whole |= c->now.whole;
	c->page = c->cloud->page;
	c->now = (struct cloud_progress){.stage = CLOUD_IDLE};
	atomic_store(&c->read_ns, clock_boottime_ns());
	return 0;
}

/* A list that lacks a server is no proof that it was deleted: of a list in pages Nova
 * leaves out those of a cell that does not answer. If there are many, the others are
 * not asked for: they stay as they are until the next reading. */
static int ask_unseen(struct cloud_reader *c, struct pg *pg, int64_t cluster,
		      struct err *err, struct err *why)
{
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;
	int rc = 0;

	if (!c->now.whole || c->now.silent >= SILENT_MAX)
		return end_reading(c, pg, cluster, err);
	query_put(&q, "SELECT cloud_unseen(");
	query_s64(&q, cluster);
	query_put(&q, "::smallint, ");
	query_s64(&q, UNSEEN_TURN);
	query_put(&q, "::integer)");
	rc = query_run_kept(&q, pg, &r, err);
	for (int i = 0; rc == 0 && i < PQntuples(r); i++)
		rc = ask_one(c, pg, cluster, pg_get_text(r, i, 0), err, why);
	if (rc < 0)
		return rc;
	return PQntuples(r) ? 1 : end_reading(c, pg, cluster, err);
}

/* ---- a turn ---------------------------------------------------------------------- */

static bool is_due(int64_t age_ms, uint64_t period_ms)
{
	return age_ms < 0 || (uint64_t)age_ms >= period_ms;
}

/* Which reading begins now; false: none. */
static bool begin_reading(struct cloud_reader *c, const struct cloud_due *due)
{
	struct cloud_progress p = {.stage = CLOUD_LIST,
				   .asked = due->newest < 0 ? 0 : due->newest};
	uint64_t overlap_s = c->cloud->overlap_ms / 1000;

	p.whole = !c->had_whole || due->since_s < 0 ||
		  is_due(due->whole_ms, c->cloud->whole_ms);
	if (!p.whole && !is_due(due->changes_ms, c->cloud->refresh_ms) &&
	    !(due->newest > 0 && is_due(due->changes_ms, SOON_MS)))
		return false;
	if (!p.whole)
		p.from_s = (uint64_t)due->since_s > overlap_s
				   ? (uint64_t)due->since_s - overlap_s
				   : 0;
	if (p.whole)
		atomic_store(&c->stubs, 0);
	c->now = p;
	return true;
}

static int read_next(struct cloud_reader *c, struct pg *pg, const struct cloud_due *due,
		     struct err *err, struct err *why)
{
	/* first, so that a list that fails does not keep anybody's rights */
	if (is_due(due->people_ms, c->cloud->people_ms)) {
		int rc = read_people(c, pg, due->cluster, err, why);
		return rc < 0 ? rc : 1;
	}
	switch (c->now.stage) {
	case CLOUD_LIST:
		return read_page(c, pg, due->cluster, err, why);
	case CLOUD_UNSEEN:
		return ask_unseen(c, pg, due->cluster, err, why);
	default:
		break;
	}
	return begin_reading(c, due) ? 1 : 0;
}

/* The cloud's failure is not the database's: what was read stays, and it is asked
 * again where it failed. */
static int take_failure(struct cloud_reader *c, int rc, const struct err *why)
{
	uint64_t now = clock_boottime_ns(), wait_ms;

	if (rc == -ECANCELED)
		return 0;
	atomic_fetch_add(&c->failed, 1);
	wait_ms = rc == -EAGAIN ? cloud_session_pause_s(c->session) * 1000
				: periodic_job_retry_ms(RETRY_MAX_MS, ++c->failures);
	c->not_before_ns = now + wait_ms * NS_PER_MS;
	if (log_repeat_due(&c->failing, now))
		log_warn("openstack: cluster %s: %s: its VMs keep the owners and "
			 "members that are known, and none is ended",
			 c->cloud->id, why->text);
	return 0;
}

int cloud_reader_turn(struct pg *pg, void *arg, struct err *err)
{
	struct cloud_reader *c = arg;
	struct cloud_due due;
	struct err why = {""};

	c->now = c->done;
	if (clock_boottime_ns() < c->not_before_ns)
		return 0;
	int rc = hold_cloud(c, pg, &due, err);
	if (rc < 0)
		return rc;
	if (!due.mine) {
		c->now = (struct cloud_progress){.stage = CLOUD_IDLE};
		return 0;
	}
	rc = read_next(c, pg, &due, err, &why);
	if (*why.text)
		return take_failure(c, rc, &why);
	if (rc >= 0)
		c->failures = 0;
	if (rc >= 0 && c->now.stage == CLOUD_IDLE && log_repeat_over(&c->failing))
		log_info("openstack: cluster %s: can be read again", c->cloud->id);
	return rc;
}

void cloud_reader_look(struct pg *pg, void *arg)
{
	struct cloud_reader *c = arg;

	(void)pg;
	c->done = c->now;
}
