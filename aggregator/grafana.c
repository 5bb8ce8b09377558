/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of Grafana's teams, refreshed periodically. While Grafana is down its last
 * answer stays valid for a while, but not for ever: rights must remain revocable. */
#include "aggregator/grafana.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/grafana_members.h"
#include "aggregator/periodic_job.h"
#include "aggregator/query.h"
#include "lib/clock.h"
#include "lib/http/client.h"
#include "lib/log.h"
#include "lib/parse.h"

#define TEAMS_MAX 64u
#define HOLDS_MS 3600000ull /* validity of the last answer, or three refreshes */

struct grafana {
	struct app *app;
	struct periodic_job *job;
	struct http_client *client;
	atomic_bool stop;
	struct log_repeat failing;
	size_t admins; /* in the last answer */
	atomic_uint_fast64_t refreshes, failures;
};

static int ask_team(struct grafana *g, const char *team, struct buf *ret,
		    struct err *err)
{
	const struct options *o = &g->app->options;
	const struct http_auth auth = {.scheme = "Bearer",
				       .credentials_file = o->grafana_token_file};
	auto_http_response struct http_response answer = {.status = 0};
	auto_buf struct buf url = BUF_INIT;
	size_t n = strlen(o->grafana_url);

	while (n && o->grafana_url[n - 1] == '/')
		n--;
	buf_printf(&url, "%.*s/api/teams/%s/members", (int)n, o->grafana_url, team);
	if (buf_error(&url))
		return err_set(err, -ENOMEM, "out of memory");
	const struct http_request r = {.url = url.data,
				       .auth = *o->grafana_token_file ? &auth : NULL};
	int rc = http_client_do(g->client, &r, &answer, err);
	if (rc < 0)
		return rc;
	if (answer.status != 200)
		return err_set(err, -EPROTO, "%s: status %u", answer.url,
			       answer.status);
	rc = grafana_members(answer.body.data ? answer.body.data : "", answer.body.len,
			     ret, err);
	return rc < 0 ? err_prefix(err, rc, "%s", answer.url) : rc;
}

/* All teams or none: whoever is missing in half an answer would lose rights. */
static int ask_grafana_teams(struct grafana *g, struct buf *ret, struct err *err)
{
	const struct conf_list *teams = &g->app->options.grafana_teams;

	buf_puts(ret, "[\"\"");
	for (size_t i = 0; i < teams->count; i++) {
		int rc = ask_team(g, teams->items[i], ret, err);
		if (rc < 0)
			return rc;
	}
	buf_putc(ret, ']');
	return buf_error(ret);
}

static int store_grafana_teams(struct grafana *g, const struct buf *logins,
			       struct pg *pg, struct err *err)
{
	uint64_t holds_ms = 3 * g->app->options.grafana_refresh_ms;
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;
	int64_t admins = 0;

	if (holds_ms < HOLDS_MS)
		holds_ms = HOLDS_MS;
	query_put(&q, "SELECT roles_of('grafana', ");
	query_text(&q, logins->data);
	query_put(&q, "::jsonb, ");
	query_s64(&q, (int64_t)holds_ms);
	query_put(&q, ")");
	int rc = query_run(&q, pg, &r, err);
	if (rc == 0)
		rc = pg_get_s64(r, 0, 0, &admins);
	if (rc == 0 && (size_t)admins != g->admins)
		log_info("grafana: %lld members of its teams are admins",
			 (long long)admins);
	if (rc == 0)
		g->admins = (size_t)admins;
	return rc;
}

static int refresh_grafana_teams(struct pg *pg, void *arg, struct err *err)
{
	struct grafana *g = arg;
	auto_buf struct buf logins = {.max = GRAFANA_BYTES_MAX};
	struct err why = {""};
	int rc = ask_grafana_teams(g, &logins, &why);

	atomic_fetch_add(rc < 0 ? &g->failures : &g->refreshes, 1);
	if (rc == 0) {
		if (log_repeat_over(&g->failing))
			log_info("grafana: its teams can be read again");
		return store_grafana_teams(g, &logins, pg, err);
	}
	/* not the database's failure: wait for the next turn as usual */
	if (rc != -ECANCELED && log_repeat_due(&g->failing, clock_boottime_ns()))
		log_warn(
			"grafana: %s: the admins that it named stay admins for an hour",
			why.text);
	return 0;
}

static int check_grafana_options(const struct options *o, struct err *err)
{
	uint64_t id;

	if (!*o->grafana_url) {
		if (o->grafana_teams.count)
			return err_set(err, -EINVAL,
				       "--admin.grafana.teams-ids needs "
				       "--admin.grafana.url");
		return 0;
	}
	if (strncmp(o->grafana_url, "http://", 7) != 0 &&
	    strncmp(o->grafana_url, "https://", 8) != 0)
		return err_set(err, -EINVAL, "--admin.grafana.url: not an http(s) URL");
	if (!o->grafana_teams.count || o->grafana_teams.count > TEAMS_MAX)
		return err_set(err, -EINVAL,
			       "--admin.grafana.url needs 1 to %u of "
			       "--admin.grafana.teams-ids",
			       TEAMS_MAX);
	for (size_t i = 0; i < o->grafana_teams.count; i++) {
		if (parse_u64(o->grafana_teams.items[i], &id) < 0)
			return err_set(err, -EINVAL,
				       "--admin.grafana.teams-ids=%.40s: not a number",
				       o->grafana_teams.items[i]);
	}
	return 0;
}

static int open_grafana(struct app *app, struct err *err)
{
	const struct options *o = &app->options;
	struct grafana *g;

	if (!*o->grafana_url)
		return 0;
	g = app->grafana = calloc(1, sizeof(*g));
	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	const struct http_client_config config = {
		.ca_file = *o->grafana_ca_file ? o->grafana_ca_file : NULL,
		.max_body_bytes = GRAFANA_BYTES_MAX,
		.stop = &g->stop,
	};
	const struct periodic_job_params job = {
		.name = "grafana",
		.lock = PERIODIC_JOB_GRAFANA,
		.period_ms = (unsigned)o->grafana_refresh_ms,
		.timeout_ms = 60000,
		.run = refresh_grafana_teams,
		.arg = g,
	};
	g->app = app;
	int rc = http_client_new(&config, &g->client, err);
	return rc < 0 ? rc : periodic_job_new(&app->pg, &job, &g->job, err);
}

static void stop_grafana(struct app *app)
{
	if (!app->grafana)
		return;
	atomic_store(&app->grafana->stop, true);
	if (app->grafana->job)
		periodic_job_stop(app->grafana->job);
}

static void close_grafana(struct app *app)
{
	if (app->grafana) {
		periodic_job_free(app->grafana->job);
		http_client_free(app->grafana->client);
	}
	free(app->grafana);
	app->grafana = NULL;
}

static void put_grafana_metrics(struct app *app, struct prom *out)
{
	static const struct prom_family refreshes = {
		"ceems_aggregator_grafana_refreshes_total", PROM_COUNTER,
		"Times that Grafana's teams were asked for, by how it went"};
	struct grafana *g = app->grafana;

	if (!g)
		return;
	prom_family(out, &refreshes);
	const struct prom_label good = {"result", "ok"}, bad = {"result", "failed"};
	prom_put_u64(out, &good, 1, atomic_load(&g->refreshes));
	prom_put_u64(out, &bad, 1, atomic_load(&g->failures));
}

const struct part part_grafana = {
	.name = "grafana",
	.check = check_grafana_options,
	.open = open_grafana,
	.metrics = put_grafana_metrics,
	.stop = stop_grafana,
	.close = close_grafana,
};
