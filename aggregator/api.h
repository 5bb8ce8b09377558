/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_API_H
#define CEEMS_AGGREGATOR_API_H

#include "aggregator/access.h"
#include "aggregator/app.h"
#include "lib/identity/identity_web.h"
#include "lib/identity/munge.h"

/* The REST API (doc/api.md): a thread of the web server receives a request, a thread of
 * the pool proves, authorises and answers it, and the first sends the answer. */

extern const struct part part_api;

/* Handles everything below /api/ without a route of its own. arg is the struct app. A
 * body is read only when the caller is proved. */
void api_admit(void *arg, struct web_request *r);
void api_serve(void *arg, struct web_request *r);
void api_end(void *arg, struct web_request *r, unsigned status);

/* Whether this is the address of a configured front end. Any thread, once the parts are
 * open. */
bool api_is_front_end(struct app *app, const struct netaddr *peer);

/* For a row u of `unit`: whether its times are certain. If only the wall clock of a
 * finished boot knows them, the unit gives nobody access until its completion record
 * has come. */
#define UNIT_IS_TIMED                                                                  \
	"(u.known_by <> 'node' OR NOT EXISTS (SELECT FROM unit_node f WHERE f.unit = " \
	"u.id AND f.over_by IS NOT NULL))"

/* ---- for the endpoints ----------------------------------------------------------- */

struct ask {
	struct app *app;
	struct web_request *r;
	struct api_site *site; /* the site's settings when the request began */
	const struct endpoint *endpoint;
	struct path_args path;
	struct identity_request proof;
	struct munge_job munge;
	enum {
		ASK_NEW,
		ASK_MUNGE, /* its credential has been, or is being, decoded */
		ASK_PROOF, /* the pool proves the caller */
		ASK_ANSWER,
		ASK_OVER, /* the answer is in body */
	} phase;
	bool proved; /* the caller is */
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
 * which are summed, as_of (text), and page (text, a row's position). With more than
 * `most` rows the last is left out and the page of the one before becomes the cursor.
 * most 0: all. */
int api_rows(struct ask *a, struct query *q, size_t most, struct err *err);

/* from and to, or the last 24 hours. -EINVAL: from is after to, or longer than
 * --query.max-period. */
int api_window(struct ask *a, struct err *err);
/* limit, or 100. */
size_t api_limit(const struct ask *a);
/* Appends " AND EXISTS ... name = ANY (cluster_id)" and the like for a table's columns,
 * if the parameter was given. */
void api_put_filter(const struct ask *a, struct query *q, const char *param,
		    const char *table, const char *column);
/* The filters cluster_id and resource_manager for a column with a cluster. */
void api_put_clusters(const struct ask *a, struct query *q, const char *column);
/* "expression", reduced to the members that `field` names. */
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
/* The POST variant: up to 10 000 ids, in the body. */
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
