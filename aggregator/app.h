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

/* The aggregator: what its parts share. One struct app is the argument of every route
 * (routes.c) and of every function of a part (parts.c). A part keeps its state behind a
 * pointer of its own here. */

struct app {
	struct options options; /* read-only once started */
	int argc;               /* for parts that read them again */
	char **argv;
	struct privileges privileges;
	/* For connections that are not of the pool (a thread of a part has its own):
	 * the same database. The url is owned by the app. */
	struct pg_params pg;
	char *db_url;
	struct pg_pool *pool;
	struct web *web;
	struct web_route *routes;
	int signalfd;
	bool calls_filtered;
	atomic_uint_fast64_t reloads, reload_failures;

	struct grafana *grafana; /* its teams as admins, or NULL */
	struct people *people;   /* the refresh of associations, or NULL */
	struct api_state *api;   /* who asks, and counts of answers */
	struct cluster *cluster; /* the private one, NULL: --db.url, or another's */
	char cluster_url[512];   /* of another's, for --check and --migrate */
	struct ladder *ladder;   /* partitions and retention */
	atomic_int_fast64_t clocks_apart_s; /* the database's less ours, the ladder's */
	struct witnesses witnesses;         /* of our clock */
	struct ingest *ingest;
	struct records *records; /* linker and roll-up */
	struct factors *factors; /* emission factors and PUE */
};

/* A part of the program. Functions may be NULL. */
struct part {
	const char *name;
	/* --check-config, and before anything is started: options that make no sense.
	 */
	int (*check)(const struct options *o, struct err *err);
	/* Privileges are dropped, signals blocked, the pool runs (its database may be
	 * away): the place to start threads. */
	int (*open)(struct app *app, struct err *err);
	/* On a connection of the pool whenever the database comes back, migrations done
	 * and before any job: a failure keeps the database "down" with that text. */
	int (*database_up)(struct app *app, struct pg *pg, struct err *err);
	/* Once a second on the main thread; must not wait. */
	void (*tick)(struct app *app);
	/* SIGHUP, on the main thread. A failure leaves what was. */
	int (*reload)(struct app *app, struct err *err);
	/* Any thread: the part's own metrics. */
	void (*metrics)(struct app *app, struct prom *out);
	/* The end is near: wakes every request of the part that sleeps, ends its
	 * threads. The pool is still there, and stops next. */
	void (*stop)(struct app *app);
	/* After all threads of the web and of the pool have ended. Accepts that open
	 * never ran. */
	void (*close)(struct app *app);
};

/* parts.c: opened in this order, stopped and closed in the other. */
extern const struct part *const app_parts[];
extern const size_t app_part_count;

/* routes.c: paths below /api/ get --web.route-prefix in front. */
int app_routes(const struct options *o, struct web_route **ret, size_t *ret_count,
	       struct err *err);
/* A request's path without --web.route-prefix: what the table of routes has. Borrowed.
 */
const char *app_path(const struct app *app, const struct web_request *r);

/* The database's state in a few words without addresses, for answers: NULL when it is
 * there. */
const char *app_no_database(struct app *app);

#endif
