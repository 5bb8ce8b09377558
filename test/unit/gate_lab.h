/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_GATE_LAB_H
#define CEEMS_TEST_GATE_LAB_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lb/gate/gate.h"
#include "lb/gate/ownership.h"
#include "test/unit/unit.h"

/*
 * A gate between made-up users and a made-up aggregator that knows a table of runs: all
 * of the gate but HTTP. The site is of the test, its clock as well.
 */

#define LAB_NOW_MS 1700000000000ll
#define LAB_MINUTE_MS 60000ll

struct lab_run {
	const char *id, *cluster, *owner;
	int64_t from_ms, to_ms; /* INT64_MAX: not over */
};

struct lab {
	struct site site;
	struct site_cluster clusters[2];
	struct gate *gate;
	struct gate_spare spare; /* of those that lab_pass() passes, one at a time */
	struct ownership_params hooks;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool woken;

	/* the aggregator's: under the mutex while a gate runs */
	const struct lab_run *runs;
	size_t run_count;
	const char *role; /* of everybody; NULL: user */
	const char *role_of;
	int fail;                /* what the question fails with */
	const char *body;        /* in place of an answer */
	bool latest;             /* it answers with the user's latest units, too */
	const char *latest_user; /* and says that they are this one's; NULL: whose */
	uint32_t latest_asked;   /* of how many it was asked for the last time */
	unsigned asked;
	size_t asked_units;
	int64_t now_ms;
	uint64_t boot_ms;
};

/* In place of lb/site/site.c and lb/site/backend_set.c */
struct site *site_ref(struct site *s)
{
	return s;
}

void site_unref(struct site *s)
{
	(void)s;
}

const struct site_cluster *site_cluster(const struct site *s, const char *id)
{
	for (size_t i = 0; i < s->cluster_count; i++)
		if (!strcmp(s->clusters[i].id, id))
			return &s->clusters[i];
	return NULL;
}

enum promql_dialect backend_set_dialect(const struct backend_set *s)
{
	(void)s;
	return PROMQL_2;
}

static const struct access_family lab_families[] = {
	{"ceems_emissions_*", NULL, false},
	{"ceems_*", "uuid", false},
	{"uuid:*", "uuid", false},
	{"DCGM_*", "hpc_job", false},
	{"up", NULL, false},
};

/* ---- the aggregator -------------------------------------------------------------- */

static bool lab_asked_for(const struct ownership_ask *q, const struct lab *l,
			  const struct lab_run *r)
{
	if (strcmp(r->cluster, q->cluster) != 0)
		return false;
	for (size_t i = 0; !q->own && i < q->count; i++)
		if (str_eq(q->ids[i], r->id))
			return true;
	for (size_t i = 0; q->own && i < l->run_count; i++) {
		const struct lab_run *o = &l->runs[i];

		if (!strcmp(o->id, r->id) && !strcmp(o->cluster, r->cluster) &&
		    !strcmp(o->owner, q->login) && o->from_ms <= q->to_ms &&
		    o->to_ms >= q->from_ms)
			return true;
	}
	return false;
}

static void lab_put_run(struct buf *out, const struct lab_run *r, const char *login,
			bool first)
{
	buf_printf(out, "%s[\"%s\",%lld,", first ? "" : ",", r->id,
		   (long long)r->from_ms);
	if (r->to_ms == INT64_MAX)
		buf_puts(out, "null");
	else
		buf_put_s64(out, r->to_ms);
	buf_printf(out, ",%s]", strcmp(r->owner, login) ? "false" : "true");
}

/* Of the first units of the table that are the caller's, each with one run. */
static void lab_put_latest(const struct lab *l, const struct ownership_ask *q,
			   struct buf *out)
{
	uint32_t n = 0;

	buf_printf(out, ",\"user\":\"%s\",\"latest\":[",
		   l->latest_user ? l->latest_user : q->login);
	for (size_t i = 0; i < l->run_count && n < q->latest; i++) {
		const struct lab_run *r = &l->runs[i];

		if (!strcmp(r->cluster, q->cluster) &&
		    !strcmp(r->owner, l->latest_user ? l->latest_user : q->login))
			lab_put_run(out, r, r->owner, n++ == 0);
	}
	buf_putc(out, ']');
}

static int lab_ask(void *arg, const struct ownership_ask *q, struct buf *ret,
		   struct err *err)
{
	struct lab *l = arg;
	bool first = true;
	int rc = 0;

	pthread_mutex_lock(&l->mutex);
	l->asked++;
	l->asked_units += q->count;
	l->latest_asked = q->latest;
	if (l->fail) {
		rc = err_set(err, l->fail, "nobody answers");
	} else if (l->body) {
		buf_puts(ret, l->body);
	} else {
		bool has = l->role && !q->named &&
			   (!l->role_of || !strcmp(l->role_of, q->login));

		buf_printf(ret,
			   "{\"status\":\"success\",\"data\":[{\"role\":\"%s\","
			   "\"units\":[",
			   has ? l->role : "user");
		for (size_t i = 0; i < l->run_count; i++) {
			const struct lab_run *r = &l->runs[i];

			if (!lab_asked_for(q, l, r))
				continue;
			lab_put_run(ret, r, q->login, first);
			first = false;
		}
		buf_putc(ret, ']');
		if (q->latest && l->latest)
			lab_put_latest(l, q, ret);
		buf_puts(ret, "}]}");
	}
	pthread_mutex_unlock(&l->mutex);
	return rc;
}

static void lab_clock(void *arg, int64_t *now_ms, uint64_t *boot_ms)
{
	struct lab *l = arg;

	*now_ms = __atomic_load_n(&l->now_ms, __ATOMIC_RELAXED);
	*boot_ms = __atomic_load_n(&l->boot_ms, __ATOMIC_RELAXED);
}

static inline void lab_wait_ms(struct lab *l, int64_t ms)
{
	__atomic_add_fetch(&l->now_ms, ms, __ATOMIC_RELAXED);
	__atomic_add_fetch(&l->boot_ms, (uint64_t)ms, __ATOMIC_RELAXED);
}

/* ---- the gate -------------------------------------------------------------------- */

static const char *const lab_fronts[] = {"password:lb"};
static const char *const lab_headers[] = {"X-Grafana-User"};

static inline void lab_open(struct lab *l, const struct lab_run *runs, size_t count)
{
	static const struct identity_params identity = {.front_ends = lab_fronts,
							.front_end_count = 1,
							.front_end_roles = true,
							.user_headers = lab_headers,
							.user_header_count = 1};
	static const char *const ids[] = {"alpha", "beta"};
	struct err err;

	*l = (struct lab){.runs = runs,
			  .run_count = count,
			  .now_ms = LAB_NOW_MS,
			  .boot_ms = 1000000,
			  .clusters = {{.id = NULL}}};
	pthread_mutex_init(&l->mutex, NULL);
	pthread_cond_init(&l->cond, NULL);
	for (unsigned i = 0; i < 2; i++) {
		l->clusters[i].id = ids[i];
		l->clusters[i].backends[SITE_PROMETHEUS] = (struct backend_set *)l;
		l->clusters[i].policy[SITE_PROMETHEUS] = (struct access_policy){
			.families = lab_families,
			.family_count = sizeof(lab_families) / sizeof(lab_families[0]),
			.cluster_label = "cluster",
			.cluster = ids[i],
			.lookback_ms = 5 * LAB_MINUTE_MS,
			.narrow_max = 100};
	}
	l->site = (struct site){.clusters = l->clusters,
				.cluster_count = 2,
				.limits = {.ownership_s = 60, .unknown_s = 5}};
	l->hooks =
		(struct ownership_params){.ask = lab_ask, .clock = lab_clock, .arg = l};
	const struct gate_params params = {
		.identity = &identity, .threads = 2, .tests = &l->hooks};
	if (gate_new(&params, &l->gate, &err))
		fail_msg("%s", err.text);
	gate_set_site(l->gate, &l->site);
	if (gate_start(l->gate, &err))
		fail_msg("%s", err.text);
}

static inline void lab_close(struct lab *l)
{
	gate_stop(l->gate);
	gate_free(l->gate);
	gate_spare_done(&l->spare);
	pthread_mutex_destroy(&l->mutex);
	pthread_cond_destroy(&l->cond);
}

static void lab_wake(void *arg)
{
	struct lab *l = arg;

	pthread_mutex_lock(&l->mutex);
	l->woken = true;
	pthread_cond_signal(&l->cond);
	pthread_mutex_unlock(&l->mutex);
}

/* One request and what it became. */
struct lab_asked {
	struct identity_facts facts;
	struct gate_request r;
	unsigned waits;
	int64_t from_ms, to_ms; /* that the call touches */
	char text[16384];       /* the refusal, or what is sent: target, blank, body */
};

/* Fills in what was not. Ends the request: what stays is status, waits and text. */
static inline void lab_pass(struct lab *l, struct lab_asked *a)
{
	struct gate_request *r = &a->r;
	bool done = false;

	r->facts = &a->facts;
	r->spare = &l->spare;
	r->wake = lab_wake;
	r->arg = l;
	while (!done) {
		done = gate_pass(l->gate, r) == GATE_DONE;
		pthread_mutex_lock(&l->mutex);
		while (!done && !l->woken)
			pthread_cond_wait(&l->cond, &l->mutex);
		l->woken = false;
		pthread_mutex_unlock(&l->mutex);
		a->waits += !done;
	}
	a->from_ms = r->call.from_ms;
	a->to_ms = r->call.to_ms;
	if (r->status)
		snprintf(a->text, sizeof(a->text), "%s",
			 r->body.data ? r->body.data : "");
	else
		snprintf(a->text, sizeof(a->text), "%s %s", r->call.target.data,
			 r->call.body.data ? r->call.body.data : "");
	gate_end(l->gate, r);
}

static inline void lab_user(struct lab_asked *a, const char *user)
{
	a->facts.method = a->r.input.post ? "POST" : "GET";
	a->facts.target = a->r.input.path;
	a->facts.password_user = user ? "lb" : NULL;
	a->facts.user[0].count = user ? 1 : 0;
	a->facts.user[0].first = user;
}

/* A GET of path?query for cluster alpha: the status. */
static inline unsigned lab_get(struct lab *l, const char *user, const char *path,
			       const char *query, struct lab_asked *ret)
{
	struct lab_asked a = {.r = {.input = {.path = path, .query = query},
				    .cluster_headers = 1,
				    .cluster_header = "alpha"}};

	lab_user(&a, user);
	lab_pass(l, &a);
	if (ret)
		*ret = a;
	return a.r.status;
}

/* An expression for now, as a form; unreserved characters stay. */
static inline void lab_form(const char *expr, char *ret, size_t size)
{
	size_t n = (size_t)snprintf(ret, size, "query=");

	for (; *expr && n + 4 < size; expr++) {
		unsigned char c = (unsigned char)*expr;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || c == '_')
			ret[n++] = (char)c;
		else
			n += (size_t)snprintf(ret + n, size - n, "%%%02X", c);
	}
	ret[n] = '\0';
}

static inline unsigned lab_query(struct lab *l, const char *user, const char *expr,
				 struct lab_asked *ret)
{
	char form[8192];

	lab_form(expr, form, sizeof(form));
	return lab_get(l, user, "/api/v1/query", form, ret);
}

#endif
