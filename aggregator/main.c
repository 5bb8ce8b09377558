/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_aggregator: stores the records of units in Postgres and serves the API. Exit
 * status 2: the command line or a configuration is wrong; 1: it could not start
 * (--check: 0 good, 1 warnings, 2 failures). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregator/api.h"
#include "aggregator/app.h"
#include "aggregator/check.h"
#include "aggregator/cluster.h"
#include "aggregator/database.h"
#include "aggregator/export.h"
#include "aggregator/import.h"
#include "aggregator/records.h"
#include "lib/conf/program.h"
#include "lib/http/listen.h"
#include "lib/log.h"
#include "lib/service.h"
#include "lib/signals.h"

#define TICK_MS 1000
#define POOL_GRACE_MS 5000
/* of the private cluster, besides those for requests: background work, psql */
#define CONNECTIONS_MORE 42

static int check_options(const struct options *o, struct err *err)
{
	struct web_route *routes = NULL;
	struct pg *pg = NULL;
	size_t n;
	int rc = app_routes(o, &routes, &n, err);

	free(routes);
	if (rc == 0 && o->db_standby && !*o->db_url)
		rc = err_set(err, -EINVAL,
			     "--db.standby needs --db.url: a private database is no "
			     "standby");
	if (rc == 0 && *o->db_url) {
		const struct pg_params params = {.url = o->db_url};
		rc = pg_new(&params, &pg, err);
		if (rc < 0)
			rc = err_prefix(err, rc, "--db.url");
		pg_free(pg);
	}
	for (size_t i = 0; rc == 0 && i < app_part_count; i++) {
		if (app_parts[i]->check)
			rc = app_parts[i]->check(o, err);
	}
	return rc;
}

static int check_config(const struct options *o)
{
	struct err err = {""};
	int rc = check_options(o, &err);

	if (rc == 0 && !o->systemd_socket)
		rc = listen_check((const char *const *)o->listen_addresses.items,
				  o->listen_addresses.count, &err);
	if (rc == 0 && *o->web_config_file)
		rc = web_check_config(o->web_config_file, &err);
	if (rc < 0) {
		fprintf(stderr, "ceems_aggregator: %s\n", err.text);
		return PROGRAM_USAGE;
	}
	service_check_calls("ceems_aggregator", o->drop_privileges && o->seccomp);
	printf("ceems_aggregator: the configuration is valid\n");
	return PROGRAM_OK;
}

/* As the final user: starts the private cluster's server. once: for a command, for
 * which the database of a running aggregator will do. */
static int find_database(struct app *app, bool once, struct err *err)
{
	const struct options *o = &app->options;
	int rc = 0;

	app->pg.application = "ceems_aggregator";
	app->pg.statement_timeout_ms = (unsigned)o->db_timeout_ms;
	app->pg.url = o->db_url;
	app->pg.any_host = o->db_standby;
	if (*o->db_url)
		return 0;
	log_warn("no --db.url: a private database in %s, for trials and small sites",
		 o->data_path);
	rc = cluster_start(o->data_path, (unsigned)o->db_threads + CONNECTIONS_MORE,
			   &app->cluster, err);
	if (rc == 0) {
		app->pg.url = cluster_url(app->cluster);
	} else if (rc == -EBUSY && once) {
		app->pg.url = app->cluster_url;
		rc = cluster_url_of(o->data_path, app->cluster_url,
				    sizeof(app->cluster_url), err);
	}
	return rc;
}

static int before_threads(void *arg, struct err *err)
{
	struct app *app = arg;
	int rc = privileges_drop(&app->privileges, err);

	if (rc == 0)
		rc = privileges_hide(err);
	if (rc == 0)
		app->calls_filtered = service_filter_calls(
			app->options.drop_privileges && app->options.seccomp);
	if (rc == 0)
		rc = find_database(app, false, err);
	if (rc == 0)
		rc = database_open(app, err);
	for (size_t i = 0; rc == 0 && i < app_part_count; i++) {
		const struct part *p = app_part(app, i);
		if (p && p->open)
			rc = p->open(app, err);
		if (rc < 0)
			(void)err_prefix(err, rc, "%s", app_parts[i]->name);
	}
	return rc;
}

/* Wakes all sleeping requests: by their part, or at the end of their job. */
static void before_stop(void *arg)
{
	struct app *app = arg;

	for (size_t i = app_part_count; i-- > 0;) {
		const struct part *p = app_part(app, i);
		if (p && p->stop)
			p->stop(app);
	}
	pg_pool_stop(app->pool, POOL_GRACE_MS);
}

static bool is_front_end(void *arg, const struct netaddr *peer)
{
	struct app *app = arg;

	return app->api && api_is_front_end(app, peer);
}

static int open_web(struct app *app, struct err *err)
{
	const struct options *o = &app->options;
	struct web_params w = {
		.program = "ceems_aggregator",
		.listen = (const char *const *)o->listen_addresses.items,
		.listen_count = o->listen_addresses.count,
		.systemd_socket = o->systemd_socket,
		.config_file = o->web_config_file,
		.json_errors = true,
		.max_requests = (uint32_t)o->max_connections,
		.arg = app,
		.before_threads = before_threads,
		.before_stop = before_stop,
		.is_front_end = is_front_end,
	};
	int rc = app_routes(o, &app->routes, &w.route_count, err);

	w.routes = app->routes;
	return rc < 0 ? rc : web_start(&w, &app->web, err);
}

static int open_aggregator(struct app *app, struct err *err)
{
	const struct options *o = &app->options;
	int rc = check_options(o, err);

	if (rc == 0)
		rc = privileges_choose(o->run_as_user, o->drop_privileges,
				       &app->privileges, err);
	if (rc == 0)
		rc = signals_open(&app->signalfd, err);
	if (rc == 0 && o->drop_privileges)
		rc = privileges_limit(err);
	if (rc == 0 && !*o->db_url)
		rc = cluster_prepare(o->data_path, &app->privileges, err);
	return rc < 0 ? rc : open_web(app, err);
}

static void close_all(struct app *app)
{
	if (app->web)
		web_stop(app->web);
	else
		before_stop(app); /* stop what had started before the start failed */
	pg_pool_free(app->pool);
	for (size_t i = app_part_count; i-- > 0;) {
		const struct part *p = app_part(app, i);
		if (p && p->close)
			p->close(app);
	}
	free(app->routes);
	cluster_stop(app->cluster);
	if (app->signalfd >= 0)
		close(app->signalfd);
}

static bool reload_aggregator(void *arg)
{
	struct app *app = arg;
	struct err err = {""};
	bool good = true;

	if (web_reload(app->web, &err) < 0) {
		good = false;
		log_error("reload: %s: the old web configuration stays in force",
			  err.text);
	}
	for (size_t i = 0; i < app_part_count; i++) {
		const struct part *p = app_part(app, i);
		if (!p || !p->reload || p->reload(app, &err) == 0)
			continue;
		good = false;
		log_error("reload: %s: %s: the old one stays in force", p->name,
			  err.text);
	}
	atomic_fetch_add(good ? &app->reloads : &app->reload_failures, 1);
	return good;
}

static unsigned tick_aggregator(void *arg)
{
	struct app *app = arg;

	if (app->cluster)
		cluster_tick(app->cluster);
	for (size_t i = 0; i < app_part_count; i++) {
		const struct part *p = app_part(app, i);
		if (p && p->tick)
			p->tick(app);
	}
	return TICK_MS;
}

static void run_aggregator(struct app *app)
{
	service_say_user(&app->privileges);
	for (size_t i = 0; web_port(app->web, i); i++)
		log_info("serves on port %u", web_port(app->web, i));
	if (web_is_in_clear(app->web))
		service_say_in_clear();
	service_run(&(struct service){
		.signalfd = app->signalfd,
		.wait_ms = TICK_MS,
		.tick = tick_aggregator,
		.reload = reload_aggregator,
		.arg = app,
	});
}

/* Options that are accepted so that a peer's unit file keeps working */
static void say_ignored(const struct options *o)
{
	if (*o->gomaxprocs)
		log_warn("--runtime.gomaxprocs: ignored, there is no Go runtime here");
	if (o->debug_server)
		log_warn("--web.debug-server: ignored, there is no pprof here");
	if (o->compression)
		log_warn("--web.compression: ignored, a front end compresses answers");
}

static int serve_aggregator(struct app *app)
{
	struct err err = {""};

	log_info("ceems_aggregator %s", CEEMS_VERSION);
	say_ignored(&app->options);
	int rc = open_aggregator(app, &err);
	if (rc < 0)
		log_error("%s", err.text);
	else
		run_aggregator(app);
	close_all(app);
	return rc < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
}

/* --migrate, --check, --import, --erase, --renumber, --settle, --recompute: without web
 * server and threads, with the same user and database as when serving. */
static int run_command_once(struct app *app,
			    int (*what)(struct app *app, struct err *err))
{
	const struct options *o = &app->options;
	struct err err = {""};
	int rc = check_options(o, &err);

	if (rc == 0)
		rc = privileges_choose(o->run_as_user, o->drop_privileges,
				       &app->privileges, &err);
	if (rc == 0 && !*o->db_url)
		rc = cluster_prepare(o->data_path, &app->privileges, &err);
	if (rc == 0)
		rc = privileges_drop(&app->privileges, &err);
	if (rc == 0)
		rc = find_database(app, true, &err);
	if (rc == 0)
		rc = what(app, &err);
	if (rc < 0)
		fprintf(stderr, "ceems_aggregator: %s\n", err.text);
	cluster_stop(app->cluster);
	return rc < 0 ? PROGRAM_CANNOT : rc;
}

/* Creates nothing: the private database is created when serving. */
static int check_existing(struct app *app)
{
	const struct options *o = &app->options;

	if (!*o->db_url && !cluster_exists(o->data_path))
		return check_none(o->data_path);
	return run_command_once(app, check_database);
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = "ceems_aggregator",
		.options = options_table,
		.option_count = options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct app app = {.signalfd = -1,
			  .argc = argc,
			  .argv = argv,
			  .witnesses = WITNESSES_INIT};
	enum program_status status;
	int rc;

	if (!program_options(&program, argc, argv, &app.options, &warnings, &status))
		return status;
	program_log("ceems_aggregator", app.options.log_format, app.options.log_level,
		    &warnings);
	if (app.options.check_config)
		rc = check_config(&app.options);
	else if (app.options.migrate)
		rc = run_command_once(&app, database_migrate);
	else if (app.options.check)
		rc = check_existing(&app);
	else if (*app.options.import)
		rc = run_command_once(&app, import_run);
	else if (*app.options.erase)
		rc = run_command_once(&app, erase_run);
	else if (*app.options.renumber)
		rc = run_command_once(&app, renumber_run);
	else if (*app.options.settle)
		rc = run_command_once(&app, settle_run);
	else if (*app.options.export)
		rc = run_command_once(&app, export_run);
	else if (app.options.recompute)
		rc = run_command_once(&app, records_recompute);
	else
		rc = serve_aggregator(&app);
	conf_release(options_table, options_count, &app.options);
	return rc;
}
