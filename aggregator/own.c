/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The aggregator's own pages: /, /health and /metrics. */
#include <string.h>

#include "aggregator/app.h"
#include "aggregator/database.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/routes.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/http/negotiate.h"

#define METRICS_BYTES_MAX (4u << 20)

void serve_landing(void *arg, struct web_request *r)
{
	const struct app *app = arg;
	char prefix[ROUTES_PREFIX_MAX];
	auto_buf struct buf out = BUF_INIT;

	if (routes_prefix(&app->options, prefix, NULL) < 0 || strpbrk(prefix, "<>\"&"))
		prefix[0] = '\0';
	buf_printf(&out,
		   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		   "<title>CEEMS aggregator</title></head>\n<body>"
		   "<h1>CEEMS aggregator</h1>\n<p>What compute units used, took and "
		   "emitted.</p>\n<p>ceems_aggregator " CEEMS_VERSION
		   "</p>\n<ul>\n<li>The API is below <code>%s/api/v1/</code>: "
		   "<a href=\"%s/api/v1/openapi.json\">OpenAPI document</a></li>\n"
		   "<li><a href=\"/health\">Health</a></li>\n"
		   "<li><a href=\"/metrics\">Metrics</a></li>\n</ul>\n"
		   "</body></html>\n",
		   prefix, prefix);
	if (!buf_error(&out))
		web_answer(r, 200, "text/html; charset=utf-8", out.data, out.len);
}

void serve_health(void *arg, struct web_request *r)
{
	struct app *app = arg;
	const char *why = database_unusable(app);
	char text[WITNESS_TEXT_BYTES + 64], clock[WITNESS_TEXT_BYTES];
	struct witness_verdict v = witness_judge(&app->witnesses, clock_realtime_ns(),
						 clock_boottime_ns());

	if (!why)
		why = ingest_no_space(app);
	if (!why && witness_text(&v, clock))
		why = clock;

	if (!why) {
		web_answer_text(r, 200, "CEEMS aggregator is healthy\n");
		return;
	}
	(void)snprintf(text, sizeof(text), "CEEMS aggregator is not healthy: %s\n",
		       why);
	web_answer_text(r, 503, text);
}

static void put_database(const struct pg_pool_state *s, struct prom *out)
{
	static const struct prom_family up = {
		"ceems_aggregator_database_up", PROM_GAUGE,
		"Whether the database can be reached: 1, or 0"};
	static const struct prom_family jobs = {
		"ceems_aggregator_database_jobs_total", PROM_COUNTER,
		"Requests for the database by how they ended: ok, failed, refused "
		"(none there, or too many waited), expired (waited too long)"};
	static const struct prom_family seconds = {
		"ceems_aggregator_database_busy_seconds_total", PROM_COUNTER,
		"Time that the connections were busy with requests"};
	static const struct prom_family threads = {
		"ceems_aggregator_database_connections", PROM_GAUGE,
		"Connections for requests (--db.threads), by what they do"};
	static const struct prom_family queued = {
		"ceems_aggregator_database_queued_jobs", PROM_GAUGE,
		"Requests that wait for a connection"};
	static const struct prom_family connects = {
		"ceems_aggregator_database_connects_total", PROM_COUNTER,
		"Connections made to a database that was away, the first one included"};
	static const struct prom_family losses = {
		"ceems_aggregator_database_losses_total", PROM_COUNTER,
		"Times that the connection to the database was lost"};

	prom_put_one(out, &up, NULL, NULL, s->up);
	prom_put_one(out, &jobs, "result", "ok", s->jobs - s->failed);
	prom_put_one(out, &jobs, "result", "failed", s->failed);
	prom_put_one(out, &jobs, "result", "refused", s->refused);
	prom_put_one(out, &jobs, "result", "expired", s->expired);
	prom_family(out, &seconds);
	prom_put_scaled(out, NULL, 0, s->busy_ns, 9);
	prom_put_one(out, &threads, "state", "busy", s->busy);
	prom_put_one(out, &threads, "state", "idle", s->threads - s->busy);
	prom_put_one(out, &queued, NULL, NULL, s->queued);
	prom_put_one(out, &connects, NULL, NULL, s->connects);
	prom_put_one(out, &losses, NULL, NULL, s->losses);
}

static void put_all(struct app *app, struct prom *out)
{
	static const struct prom_family build = {"ceems_aggregator_build_info",
						 PROM_GAUGE,
						 "Version of the program; always 1"};
	static const struct prom_family reloads = {
		"ceems_aggregator_reloads_total", PROM_COUNTER,
		"Times the configuration was read again, by how it went"};
	static const struct prom_family sandbox = {
		"ceems_aggregator_sandbox_active", PROM_GAUGE,
		"1 where the kernel keeps the program to what it needs, by kind"};
	struct pg_pool_state s;

	prom_put_one(out, &build, "version", CEEMS_VERSION, 1);
	prom_put_one(out, &reloads, "result", "ok", atomic_load(&app->reloads));
	prom_put_one(out, &reloads, "result", "failed",
		     atomic_load(&app->reload_failures));
	prom_put_one(out, &sandbox, "kind", "seccomp", app->calls_filtered);
	pg_pool_get_state(app->pool, &s);
	put_database(&s, out);
	for (size_t i = 0; i < app_part_count; i++) {
		const struct part *p = app_part(app, i);
		if (p && p->metrics)
			p->metrics(app, out);
	}
}

void serve_metrics(void *arg, struct web_request *r)
{
	if (!api_admits_metrics(arg, r))
		return;
	auto_buf struct buf body = BUF_INIT;
	const char *type;
	enum prom_format format = negotiate_format(web_header(r, "Accept"), &type);
	struct prom *prom = prom_new(METRICS_BYTES_MAX);

	if (prom) {
		put_all(arg, prom);
		web_metrics(web_of(r), prom);
	}
	if (prom && prom_render(prom, format, &body) == 0)
		web_answer(r, 200, type, body.data, body.len);
	else
		web_answer_text(r, 500, "out of memory\n");
	prom_free(prom);
}
