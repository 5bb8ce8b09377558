/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a request to its answer, in the peer's envelope. Nothing is cached between
 * requests: access is looked up each time. */
#include "aggregator/api.h"
#include "aggregator/api_limit.h"
#include "aggregator/api_site.h"
#include "aggregator/database.h"
#include "aggregator/kubernetes/kubernetes.h"
#include "aggregator/routes.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "lib/rfc3339.h"

#define PREFIX "/api/v1"
#define BODY_BYTES_MAX ((size_t)32 << 20)
#define JSON_TYPE "application/json"
#define DAY_US (86400ull * 1000000)
#define LIMIT_DEFAULT 100

struct api_state {
	struct api_sites *sites;
	struct api_limit *limit;
	struct munge *munge;
	bool has_origins;
	regex_t origins;
	struct log_repeat failures; /* database failures, on the pool's threads */
	pthread_mutex_t mutex;
	atomic_uint_fast64_t answers[6]; /* by status / 100 */
	atomic_uint_fast64_t refused[2]; /* 401, 403 */
};

/* ---- the envelope ---------------------------------------------------------------- */

static const struct {
	int rc;
	unsigned status;
	const char *type;
} failures[] = {
	{-EACCES, 401, "unauthorized"},   {-EPERM, 403, "forbidden"},
	{-EINVAL, 400, "bad_data"},       {-ENOENT, 404, "not_found"},
	{-ETIMEDOUT, 503, "timeout"},     {-ETIME, 503, "timeout"},
	{-EFBIG, 422, "execution"},       {-EHOSTDOWN, 503, "unavailable"},
	{-EAGAIN, 503, "unavailable"},    {-EBUSY, 429, "too_many_requests"},
	{-ECANCELED, 503, "unavailable"},
};

static unsigned api_failure_status(int rc, const char **ret_type)
{
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		if (failures[i].rc != rc)
			continue;
		*ret_type = failures[i].type;
		return failures[i].status;
	}
	*ret_type = "internal";
	return 500;
}

static void put_warnings(const struct buf *lines, struct buf *out)
{
	const char *s = lines->data;

	if (!lines->len)
		return;
	buf_puts(out, ",\"warnings\":[");
	for (bool first = true; *s; first = false) {
		size_t n = strcspn(s, "\n");
		buf_puts(out, first ? "" : ",");
		buf_put_json(out, s, n);
		s += n + (s[n] == '\n');
	}
	buf_putc(out, ']');
}

static void put_api_time(struct buf *out, const char *name, uint64_t us)
{
	char text[RFC3339_BYTES];

	rfc3339_print(us / 1000000, text);
	buf_printf(out, ",\"%s\":\"%s\"", name, text);
}

static void put_meta(const struct ask *a, struct buf *out)
{
	if (a->windowed) {
		put_api_time(out, "from", a->from_us);
		put_api_time(out, "to", a->to_us);
	}
	if (a->as_of.len)
		buf_printf(out, ",\"as_of\":%s", a->as_of.data);
	else
		put_api_time(out, "as_of", a->now_us);
	if (a->node_ms > 0)
		buf_printf(out, ",\"coverage\":%.4f", a->observed_ms / a->node_ms);
	else
		buf_puts(out, ",\"coverage\":null");
	if (a->cursor.len) {
		buf_puts(out, ",\"cursor\":");
		buf_put_json(out, a->cursor.data, a->cursor.len);
	}
}

/* On the pool's thread, or on the web server's for requests that did not get there. */
static void compose_answer(struct ask *a)
{
	struct buf *out = &a->body;
	const char *type = NULL;

	out->max = BODY_BYTES_MAX;
	if (a->rc == 0)
		a->rc = buf_error(&a->data);
	if (a->rc == 0 && a->raw) {
		buf_put(out, a->data.data, a->data.len);
	} else if (a->rc == 0) {
		buf_printf(out, "{\"status\":\"%s\",\"data\":[",
			   a->status >= 400 ? "error" : "success");
		if (a->data.len)
			buf_put(out, a->data.data, a->data.len);
		buf_putc(out, ']');
		if (a->status >= 400) {
			buf_puts(out, ",\"errorType\":\"forbidden\",\"error\":");
			buf_put_json(out, a->refusal.text, strlen(a->refusal.text));
		}
		put_warnings(&a->warnings, out);
		put_meta(a, out);
		buf_puts(out, "}\n");
	} else {
		a->status = api_failure_status(a->rc, &type);
		buf_printf(out,
			   "{\"status\":\"error\",\"data\":null,\"errorType\":\"%s\","
			   "\"error\":",
			   type);
		buf_put_json(out, a->refusal.text, strlen(a->refusal.text));
		buf_puts(out, "}\n");
	}
}

/* ---- for the endpoints ----------------------------------------------------------- */

static double number_at(const PGresult *r, int row, int column)
{
	double v = 0;

	if (column >= 0 && pg_get_f64(r, row, column, &v) < 0)
		return 0;
	return v;
}

int api_rows(struct ask *a, struct query *q, size_t most, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	int rc = query_run(q, a->pg, &r, err);

	if (rc < 0)
		return rc;
	int observed = PQfnumber(r, "observed_ms"), node = PQfnumber(r, "node_ms");
	int page = PQfnumber(r, "page"), as_of = PQfnumber(r, "as_of");
	int n = PQntuples(r);
	if (most && (size_t)n > most) {
		n = (int)most;
		buf_reset(&a->cursor);
		if (page >= 0)
			buf_puts(&a->cursor, pg_get_text(r, n - 1, page));
		else
			buf_printf(&a->warnings, "only the first %zu rows are shown\n",
				   most);
	}
	a->data.max = BODY_BYTES_MAX;
	for (int i = 0; i < n; i++) {
		if (a->data.len)
			buf_putc(&a->data, ',');
		buf_put(&a->data, PQgetvalue(r, i, 0), (size_t)PQgetlength(r, i, 0));
		a->observed_ms += number_at(r, i, observed);
		a->node_ms += number_at(r, i, node);
		if (as_of >= 0 && !PQgetisnull(r, i, as_of)) {
			buf_reset(&a->as_of);
			buf_put_json(&a->as_of, pg_get_text(r, i, as_of),
				     strlen(pg_get_text(r, i, as_of)));
		}
	}
	a->rows += (size_t)n;
	rc = buf_error(&a->data);
	return rc < 0 ? err_set(err, rc, "the answer is too long: ask for fewer rows")
		      : 0;
}

int api_window(struct ask *a, struct err *err)
{
	const struct param *from = params_get(&a->params, "from");
	const struct param *to = params_get(&a->params, "to");
	uint64_t most_ms = a->app->options.query_max_period_ms;

	a->to_us = to ? to->number : a->now_us;
	a->from_us = from ? from->number : a->to_us > DAY_US ? a->to_us - DAY_US : 0;
	if (a->from_us >= a->to_us)
		return err_set(err, -EINVAL, "from must be before to");
	if (most_ms && (a->to_us - a->from_us) / 1000 > most_ms)
		return err_set(err, -EINVAL,
			       "the window is longer than this site allows "
			       "(--query.max-period)");
	a->windowed = true;
	return 0;
}

size_t api_limit(const struct ask *a)
{
	const struct param *p = params_get(&a->params, "limit");

	return p ? (size_t)p->number : LIMIT_DEFAULT;
}

void api_put_filter(const struct ask *a, struct query *q, const char *param,
		    const char *table, const char *column)
{
	if (!params_has(&a->params, param))
		return;
	query_put(q, " AND ");
	query_put(q, column);
	if (table) {
		query_put(q, " IN (SELECT x.id FROM ");
		query_put(q, table);
		query_put(q, " x WHERE x.name = ANY (");
	} else {
		query_put(q, " = ANY ((");
	}
	query_param_list(q, &a->params, param);
	query_put(q, "))");
}

void api_put_clusters(const struct ask *a, struct query *q, const char *column)
{
	api_put_filter(a, q, "cluster_id", "cluster", column);
	if (!params_has(&a->params, "resource_manager"))
		return;
	query_put(q, " AND ");
	query_put(q, column);
	query_put(q, " IN (SELECT x.id FROM cluster x WHERE x.manager = ANY (");
	query_param_list(q, &a->params, "resource_manager");
	query_put(q, "))");
}

void api_put_json(const struct ask *a, struct query *q, const char *expression)
{
	if (!params_has(&a->params, "field")) {
		query_put(q, expression);
		return;
	}
	query_put(q, "(SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM "
		     "jsonb_each(");
	query_put(q, expression);
	query_put(q, ") WHERE key = ANY (");
	query_param_list(q, &a->params, "field");
	query_put(q, "))");
}

/* ---- a request ------------------------------------------------------------------- */

/* Each request runs in a read-only transaction with its own time zone. */
static int prepare_read_only(struct ask *a, struct err *err)
{
	const struct param *zone = params_get(&a->params, "timezone");
	auto_query struct query q = {.list_count = 0};

	/* JIT compilation takes longer than any of these: a page's cost estimate grows
	 * with the table, its work does not */
	query_put(&q, "SELECT set_config('transaction_read_only', 'on', true), "
		      "set_config('jit', 'off', true)");
	if (zone) {
		query_put(&q, ", set_config('timezone', ");
		query_text(&q, zone->value);
		query_put(&q, ", true)");
	}
	int rc = query_run_kept(&q, a->pg, NULL, err);
	if (rc == -EINVAL && zone)
		return err_set(err, rc, "timezone: not known");
	return rc;
}

static int answer_in(struct pg *pg, void *arg, struct err *err)
{
	struct ask *a = arg;
	struct access_site site = api_site_access(a->site);

	site.more_projects = kubernetes_projects;
	site.arg = a->app;
	/* this may be a retry */
	buf_reset(&a->data);
	buf_reset(&a->cursor);
	scope_done(&a->scope);
	a->scope = (struct scope){.kind = SCOPE_NONE};
	a->observed_ms = a->node_ms = 0;
	a->rows = 0;
	a->status = 0;
	a->pg = pg;
	int rc = prepare_read_only(a, err);
	if (rc == 0)
		rc = access_resolve(&site, a->endpoint, &a->who, pg, &a->scope, err);
	if (rc < 0)
		return rc;
	return a->endpoint->answer(a, err);
}

/* The load balancer asks on behalf of users, once for many, and limits its users
 * itself. */
static bool is_of_load_balancer(const struct ask *a)
{
	return *a->who.front && (a->endpoint->answer == api_units_own ||
				 a->endpoint->answer == api_verify);
}

static int prove_asker(struct pg *pg, void *arg, struct err *err)
{
	struct ask *a = arg;
	struct api_state *s = a->app->api;
	(void)pg;
	int rc = identity_prove(api_site_identity(a->site), &a->proof.facts, &a->who,
				err);

	if (rc == 0 && *a->who.login && !is_of_load_balancer(a) &&
	    !api_limit_take(s->limit, a->who.login, clock_boottime_ns()))
		rc = err_set(err, -EBUSY,
			     "%s has asked too often in this minute "
			     "(--web.max-requests)",
			     a->who.login);
	a->proved = rc == 0;
	return rc;
}

/* Checks that the body is the one of its credential. */
static int check_body(const struct ask *a, struct err *err)
{
	size_t len;
	const void *body = web_body(a->r, &len);

	return identity_check_body(&a->who, body, len, err);
}

static int run_ask(struct pg *pg, void *arg, struct err *err)
{
	struct ask *a = arg;
	int rc = a->proved ? 0 : prove_asker(pg, a, err);

	if (rc == 0)
		rc = check_body(a, err);
	/* parameters last: only for those who may ask */
	if (rc == 0)
		rc = params_parse(web_target(a->r), a->endpoint->params, a->now_us,
				  &a->params, &a->warnings, err);
	if (rc == 0)
		rc = pg_transaction(pg, PG_REPEATABLE_READ, 0, answer_in, a, err);
	return rc;
}

/* Failures that are not the client's are logged: the database's messages may quote its
 * statements, which are not for everybody. */
static void note_failure(struct ask *a)
{
	struct api_state *s = a->app->api;
	const char *type;

	if (a->rc >= 0 || api_failure_status(a->rc, &type) < 500)
		return;
	pthread_mutex_lock(&s->mutex);
	bool due = log_repeat_due(&s->failures, clock_boottime_ns());
	pthread_mutex_unlock(&s->mutex);
	if (due)
		log_warn("api: %s: %s", a->endpoint->path, a->refusal.text);
	if (a->rc == -EHOSTDOWN && database_unusable(a->app))
		err_set(&a->refusal, 0, "%s", database_unusable(a->app));
	else if (a->rc == -ETIMEDOUT || a->rc == -ETIME)
		err_set(&a->refusal, 0,
			"this takes too long: ask for a shorter window or fewer rows");
	else if (a->rc != -EHOSTDOWN)
		err_set(&a->refusal, 0, "the aggregator's log has the reason");
}

static void finish_ask(void *arg, int rc, const struct err *err)
{
	struct ask *a = arg;

	a->rc = rc;
	if (rc < 0 && err)
		a->refusal = *err;
	note_failure(a);
	compose_answer(a);
	a->phase = ASK_OVER;
	web_wake(a->r);
}

static void proof_done(void *arg, int rc, const struct err *err)
{
	struct ask *a = arg;

	if (rc < 0)
		finish_ask(arg, rc, err);
	else
		web_wake(a->r);
}

static void on_asker_decoded(void *arg)
{
	struct ask *a = arg;

	web_wake(a->r);
}

/* Configured origins may read answers (Fetch standard, CORS protocol). */
static bool allow_origin(struct ask *a)
{
	struct api_state *s = a->app->api;
	const char *origin = s->has_origins ? web_header(a->r, "Origin") : NULL;

	if (!origin || web_header_count(a->r, "Origin") != 1 || strlen(origin) > 256 ||
	    regexec(&s->origins, origin, 0, NULL, 0) != 0)
		return false;
	web_add_header(a->r, "Access-Control-Allow-Origin", origin);
	web_add_header(a->r, "Vary", "Origin");
	return true;
}

/* A browser asks whether a page may send credentials (answered like the peer, except
 * for front ends' headers, since no page is a front end). Reveals nothing about
 * anybody. */
static void answer_preflight(struct ask *a)
{
	if (!allow_origin(a)) {
		web_answer_text(
			a->r, 403,
			"this origin is not allowed here (--web.cors.origin)\n");
		return;
	}
	web_add_header(a->r, "Access-Control-Allow-Methods", "GET, HEAD");
	web_add_header(a->r, "Access-Control-Allow-Headers",
		       "Accept, Authorization, Content-Type, Origin, X-Grafana-Id");
	web_answer(a->r, 204, "text/plain", "", 0);
}

static void note_proof(struct ask *a)
{
	if (a->proved)
		web_proved(a->r, a->who.front, a->who.login);
}

static void send_answer(struct ask *a)
{
	note_proof(a);
	(void)allow_origin(a);
	web_answer(a->r, a->status ? a->status : 200,
		   a->content_type ? a->content_type : JSON_TYPE, a->body.data,
		   a->body.len);
}

static void refuse_now(struct ask *a, int rc, const char *text)
{
	a->rc = err_set(&a->refusal, rc, "%s", text);
	compose_answer(a);
	send_answer(a);
}

/* Submits to the pool, whose finish_ask() is called once. */
static void submit_ask(struct ask *a,
		       int (*job)(struct pg *pg, void *arg, struct err *err),
		       void (*over)(void *arg, int rc, const struct err *err))
{
	a->job = (struct pg_job){.run = job, .done = over, .arg = a};
	/* sleep first, since the wake-up may come at once */
	web_sleep(a->r);
	int rc = pg_pool_submit(a->app->pool, &a->job, &a->refusal);
	if (rc < 0)
		finish_ask(a, rc, NULL);
}

/* True: it sleeps until its credential has been decoded, or has been refused. */
static bool decode_asker(struct ask *a)
{
	struct munge *m = a->app->api->munge;
	struct identity *id = api_site_identity(a->site);
	const struct options *now = api_site_options(a->site);

	/* the socket changed with the last reload: the pool's thread uses the new
	 * one */
	if (!m || strcmp(now->munge_socket, a->app->options.munge_socket) != 0)
		return false;
	a->munge.credential = identity_credential(id, &a->proof.facts);
	if (!a->munge.credential)
		return false;
	a->munge.key = web_client_key(a->r);
	a->munge.done = on_asker_decoded;
	a->munge.arg = a;
	a->proof.facts.munge = &a->munge;
	a->phase = ASK_MUNGE;
	web_sleep(a->r);
	if (munge_submit(m, &a->munge) == 0)
		return true;
	web_wake(a->r);
	web_count_munge(a->r, -EBUSY);
	refuse_now(a, -EAGAIN, "too many MUNGE credentials are waiting");
	return true;
}

bool api_is_front_end(struct app *app, const struct netaddr *peer)
{
	struct api_site *site = api_site_take(app->api->sites);
	bool is = identity_is_front_address(api_site_identity(site), peer);

	api_site_release(app->api->sites, site);
	return is;
}

/* Whether the request must be proved; else it has been answered. */
static bool begin_ask(struct app *app, struct web_request *r)
{
	struct ask *a = *web_state(r) = calloc(1, sizeof(*a));
	const char *path = app_path(app, r);

	if (!a)
		return false; /* handled without a, which closes the connection */
	a->app = app;
	a->r = r;
	a->now_us = clock_realtime_ns() / 1000;
	if (strncmp(path, PREFIX, strlen(PREFIX)) != 0) {
		web_answer_text(r, 404, "404 page not found\n");
		return false;
	}
	if (web_method(r) == WEB_OPTIONS) {
		answer_preflight(a);
		return false;
	}
	a->endpoint = access_find(path + strlen(PREFIX), &a->path);
	if (!a->endpoint) {
		refuse_now(a, -ENOENT,
			   strncmp(path + strlen(PREFIX), "/units/", 7) == 0
				   ? "name a unit by the id of its row, or by "
				     "CLUSTER/UUID or CLUSTER/UUID/RESTARTS"
				   : "there is no such endpoint "
				     "(openapi.json lists them)");
		return false;
	}
	if (a->endpoint->scopes[ROLE_USER] == SCOPE_PUBLIC) {
		a->rc = a->endpoint->answer(a, &a->refusal);
		compose_answer(a);
		send_answer(a);
		return false;
	}
	a->site = api_site_take(app->api->sites);
	identity_collect(api_site_identity(a->site), r, &a->proof);
	return true;
}

bool api_admits_metrics(struct app *app, struct web_request *r)
{
	struct api_site *site = api_site_take(app->api->sites);
	bool may = identity_admits_metrics(api_site_identity(site), r);

	api_site_release(app->api->sites, site);
	return may;
}

void api_admit(void *arg, struct web_request *r)
{
	struct ask *a = *web_state(r);

	if (!a && (!begin_ask(arg, r) || decode_asker(*web_state(r))))
		return;
	a = *web_state(r);
	if (a->phase == ASK_OVER) {
		send_answer(a);
	} else if (a->munge.facts.rc < 0) {
		web_count_munge(r, a->munge.facts.rc);
		refuse_now(a, a->munge.facts.rc == -EHOSTDOWN ? -EHOSTDOWN : -EACCES,
			   a->munge.why.text);
	} else if (web_method(r) == WEB_POST && !a->proved) {
		a->phase = ASK_PROOF;
		submit_ask(a, prove_asker, proof_done);
	} else {
		note_proof(a);
	}
}

void api_serve(void *arg, struct web_request *r)
{
	struct ask *a = *web_state(r);

	(void)arg;
	if (!a)
		return;
	if (a->phase == ASK_OVER) {
		send_answer(a);
		return;
	}
	a->phase = ASK_ANSWER;
	submit_ask(a, run_ask, finish_ask);
}

void api_end(void *arg, struct web_request *r, unsigned status)
{
	struct app *app = arg;
	struct api_state *s = app->api;
	struct ask *a = *web_state(r);

	atomic_fetch_add(&s->answers[status / 100 < 6 ? status / 100 : 0], 1);
	if (status == 401 || status == 403)
		atomic_fetch_add(&s->refused[status == 403], 1);
	if (!a)
		return;
	identity_request_done(&a->proof);
	munge_facts_done(&a->munge.facts);
	api_site_release(s->sites, a->site);
	scope_done(&a->scope);
	params_done(&a->params);
	buf_done(&a->data);
	buf_done(&a->warnings);
	buf_done(&a->cursor);
	buf_done(&a->as_of);
	buf_done(&a->body);
	free(a);
}

/* ---- the part -------------------------------------------------------------------- */

/* The whole origin must match. */
static int open_origins(const struct options *o, regex_t *ret, struct err *err)
{
	auto_free char *whole = NULL;

	if (asprintf(&whole, "^(%s)$", o->cors_origin) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (regcomp(ret, whole, REG_EXTENDED | REG_NOSUB) != 0)
		return err_set(err, -EINVAL,
			       "--web.cors.origin: not a regular expression (POSIX, "
			       "extended)");
	return 0;
}

static int api_check(const struct options *o, struct err *err)
{
	regex_t origins;
	int rc = api_site_check(o, err);

	if (rc == 0 && *o->cors_origin) {
		rc = open_origins(o, &origins, err);
		if (rc == 0)
			regfree(&origins);
	}
	return rc;
}

static int api_open(struct app *app, struct err *err)
{
	struct api_state *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&s->mutex, NULL);
	app->api = s;
	s->limit = api_limit_new(app->options.max_requests);
	if (!s->limit)
		return err_set(err, -ENOMEM, "out of memory");
	if (*app->options.cors_origin) {
		int rc = open_origins(&app->options, &s->origins, err);
		if (rc < 0)
			return rc;
		s->has_origins = true;
	}
	const char *socket = app->options.munge_socket;
	if (app->options.identity_munge &&
	    munge_new(*socket ? socket : NULL, &s->munge, err) < 0)
		return -ENOMEM;
	return api_sites_new(&app->options, &s->sites, err);
}

static int api_reload(struct app *app, struct err *err)
{
	return api_sites_reload(app->api->sites, app->argc, app->argv, err);
}

static void api_stop(struct app *app)
{
	if (app->api && app->api->munge)
		munge_stop(app->api->munge);
}

static void api_close(struct app *app)
{
	struct api_state *s = app->api;

	if (!s)
		return;
	api_sites_free(s->sites);
	munge_free(s->munge);
	api_limit_free(s->limit);
	if (s->has_origins)
		regfree(&s->origins);
	pthread_mutex_destroy(&s->mutex);
	free(s);
	app->api = NULL;
}

static void api_metrics(struct app *app, struct prom *out)
{
	static const struct prom_family answers = {
		"ceems_aggregator_api_requests_total", PROM_COUNTER,
		"Requests to the API by the class of their status; none: the client "
		"left"};
	static const struct prom_family refused = {
		"ceems_aggregator_api_refused_total", PROM_COUNTER,
		"Requests that were refused because the caller was not proved, or not "
		"allowed"};
	static const char *const classes[6] = {"none", "1xx", "2xx",
					       "3xx",  "4xx", "5xx"};
	struct api_state *s = app->api;

	if (!s)
		return;
	prom_family(out, &answers);
	for (size_t i = 0; i < 6; i++) {
		const struct prom_label l = {"code", classes[i]};
		if (i != 1 && i != 3)
			prom_put_u64(out, &l, 1, atomic_load(&s->answers[i]));
	}
	prom_family(out, &refused);
	for (size_t i = 0; i < 2; i++) {
		const struct prom_label l = {"reason", i ? "forbidden" : "unproved"};
		prom_put_u64(out, &l, 1, atomic_load(&s->refused[i]));
	}
}

const struct part part_api = {
	.name = "api",
	.only_reads = true,
	.check = api_check,
	.open = api_open,
	.reload = api_reload,
	.stop = api_stop,
	.close = api_close,
	.metrics = api_metrics,
};
