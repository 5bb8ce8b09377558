/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_APP_H
#define CEEMS_AGGREGATOR_APP_H

#include <stdatomic.h>
#include <stdint.h>

#include "aggregator/options.h"
#include "aggregator/witness.h"
#include "lib/buf.h"
#include "lib/http/web.h"
#include "lib/pg/pool.h"
#include "lib/privileges.h"
#include "lib/prom.h"

/* The aggregator's shared state. struct app is the argument of every route (routes.c)
 * and of every function of a part (parts.c). A part has its own state behind a pointer
 * here. */

struct app {
	struct options options; /* read-only once started */
	int argc;               /* for parts that read them again */
	char **argv;
	struct privileges privileges;
	/* For connections outside the pool (a part's own thread): the same database.
	 * The url is owned by the app. */
	struct pg_params pg;
	char *db_url;
	struct pg_pool *pool;
	struct web *web;
	struct web_route *routes;
	int signalfd;
	bool calls_filtered;
	atomic_uint_fast64_t reloads, reload_failures;

	struct grafana *grafana;       /* team members as admins, or NULL */
	struct openstack *openstack;   /* readers of Nova and Keystone, or NULL */
	struct kubernetes *kubernetes; /* readers of API servers, or NULL */
	struct people *people;         /* the refresh of associations, or NULL */
	struct api_state *api;         /* identity, and counters of answers */
	struct cluster
		*cluster;      /* the private one, NULL: --db.url, or somebody else's */
	char cluster_url[512]; /* somebody else's, for --check and --migrate */
	struct retention *retention;        /* partitions and retention */
	atomic_int_fast64_t clocks_apart_s; /* the database's clock minus ours */
	struct witnesses witnesses;         /* for our clock */
	struct ingest *ingest;
	struct profiles *profiles; /* the way to the store, or NULL */
	struct records *records;   /* linker and roll-up */
	struct factors *factors;   /* emission factors and PUE */
};

/* A part of the program. Functions may be NULL. */
struct part {
	const char *name;
	bool only_reads; /* runs with --db.standby, too */
	/* For --check-config, and before anything starts: inconsistent options. */
	int (*check)(const struct options *o, struct err *err);
	/* Privileges are dropped, signals are blocked, the pool runs (the database may
	 * be down): the place to start threads. */
	int (*open)(struct app *app, struct err *err);
	/* On a pool connection whenever the database comes up, after migrations and
	 * before any job: a failure keeps the database "down" with that text. */
	int (*database_up)(struct app *app, struct pg *pg, struct err *err);
	/* Once a second on the main thread; must not block. */
	void (*tick)(struct app *app);
	/* SIGHUP, on the main thread. On failure nothing changes. */
	int (*reload)(struct app *app, struct err *err);
	/* Any thread: the part's own metrics. */
	void (*metrics)(struct app *app, struct prom *out);
	/* The program ends: wakes every sleeping request of the part and ends its
	 * threads. The pool still runs and stops next. */
	void (*stop)(struct app *app);
	/* After all threads of the web server and the pool have ended. Accepts that
	 * open was never called. */
	void (*close)(struct app *app);
};

/* parts.c: opened in this order, stopped and closed in reverse. */
extern const struct part *const app_parts[];
extern const size_t app_part_count;
/* The part, NULL: with --db.standby it does not run. check() is called all the same. */
const struct part *app_part(const struct app *app, size_t i);

/* routes.c: --web.route-prefix is prepended to paths below /api/. */
int app_routes(const struct options *o, struct web_route **ret, size_t *ret_count,
	       struct err *err);
/* A request's path without --web.route-prefix, as in the table of routes. Borrowed. */
const char *app_path(const struct app *app, const struct web_request *r);

#endif
