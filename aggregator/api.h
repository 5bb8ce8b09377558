/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_API_H
#define CEEMS_AGGREGATOR_API_H

#include "aggregator/access.h"
#include "aggregator/app.h"
#include "lib/identity/identity_web.h"
#include "lib/identity/munge.h"

/* The REST API (doc/api.md): a request is looked at by a thread of the web server,
 * proved, allowed and answered by one of the pool, and sent by the first again. */

extern const struct part part_api;

/* Handles all below /api/ that no other route has. arg is the struct app. A body is
 * read when it is proved who asks. */
void api_admit(void *arg, struct web_request *r);
void api_serve(void *arg, struct web_request *r);
void api_end(void *arg, struct web_request *r, unsigned status);

/* Whether front ends of the site's list connect from there. Any thread, once the parts
 * are open. */
bool api_is_front_end(struct app *app, const struct netaddr *peer);

/* Of a row u of `unit`: whether it is known when it was. What nothing but a wall clock
 * of a boot that is over knows gives nobody a right until its record has come. */
#define UNIT_IS_TIMED                                                                  \
	"(u.known_by <> 'node' OR NOT EXISTS (SELECT FROM unit_node f WHERE f.unit = " \
	"u.id AND f.over_by IS NOT NULL))"

/* ---- for the endpoints ----------------------------------------------------------- */

struct ask {
	struct app *app;
	struct web_request *r;
	struct api_site *site; /* what the site said when it began */
	const struct endpoint *endpoint;
	struct path_args path;
	struct identity_request proof;
	struct munge_job munge;
	enum {
		ASK_NEW,
		ASK_MUNGE, /* its credential has been, or is being, decoded */
		ASK_PROOF, /* the pool proves who asks */
		ASK_ANSWER,
		ASK_OVER, /* the answer is in body */
	} phase;
	bool proved; /* who it is */
	struct identity_who who;
	struct scope scope;
	struct param_set params;
	uint64_t now_us, from_us, to_us; /* the window */
	struct pg *pg;
	struct pg_job job;
	struct err refusal;
	int rc;

	struct buf data; /* rows of JSON, separated by commas */
	size_t rows;
	struct buf warnings;         /* a line each */
	struct buf cursor;           /* of the next page; "": this is the last */
	bool windowed;               /* the answer says from_us and to_us */
	double observed_ms, node_ms; /* of all rows: coverage */
	struct buf as_of;            /* JSON */
	unsigned status;             /* 0: 200 */
	struct buf body;
	char *content_type; /* NULL: JSON; static */
	bool raw;           /* data is the whole body */
};

/* Runs a query whose rows are: JSON; optionally columns named observed_ms and node_ms,
 * which are summed, as_of (text), and page (text, a row's place). With more than most
 * rows the last is left out and the page of the one before is the cursor. most 0: all.
 */
int api_rows(struct ask *a, struct query *q, size_t most, struct err *err);

/* from and to, or a day until now. -EINVAL: the wrong way round, or longer than
 * --query.max-period. */
int api_window(struct ask *a, struct err *err);
/* limit, or 100. */
size_t api_limit(const struct ask *a);
/* Appends " AND EXISTS ... name = ANY (cluster_id)" and so on for a table's columns,
 * where the parameter was given. */
void api_put_filter(const struct ask *a, struct query *q, const char *param,
		    const char *table, const char *column);
/* "expression", cut down to the members that `field` asks for. */
void api_put_json(const struct ask *a, struct query *q, const char *expression);

int api_users(struct ask *a, struct err *err);
int api_users_admin(struct ask *a, struct err *err);
int api_projects(struct ask *a, struct err *err);
int api_projects_admin(struct ask *a, struct err *err);
int api_units(struct ask *a, struct err *err);
int api_units_admin(struct ask *a, struct err *err);
int api_units_visible(struct ask *a, struct err *err);
int api_unit(struct ask *a, struct err *err);
int api_verify(struct ask *a, struct err *err);
/* A POST of it: any number of ids up to 10 000, in the body. */
int api_verify_many(struct ask *a, struct err *err);
int api_units_own(struct ask *a, struct err *err);
int api_usage_current(struct ask *a, struct err *err);
int api_usage_global(struct ask *a, struct err *err);
int api_usage_daily(struct ask *a, struct err *err);
int api_usage_projects(struct ask *a, struct err *err);
int api_clusters(struct ask *a, struct err *err);
int api_stats(struct ask *a, struct err *err);
int api_stats_global(struct ask *a, struct err *err);
int api_factors(struct ask *a, struct err *err);
int api_demo(struct ask *a, struct err *err);
int api_openapi(struct ask *a, struct err *err);

#endif
