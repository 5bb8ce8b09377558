/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_ROUTES_H
#define CEEMS_AGGREGATOR_ROUTES_H

#include "lib/err.h"
#include "lib/http/web.h"

struct options;

#define ROUTES_PREFIX_MAX 128

/* --web.route-prefix as prepended to paths of the API: "" or "/x". -EINVAL: invalid. */
int routes_prefix(const struct options *o, char ret[ROUTES_PREFIX_MAX],
		  struct err *err);

/* Handlers of the rows of routes.c; arg is the struct app. */

/* own.c */
void serve_landing(void *arg, struct web_request *r);
void serve_health(void *arg, struct web_request *r);
struct app;

/* Whether the sender of r may read metrics; if not, r has been answered. */
bool api_admits_metrics(struct app *app, struct web_request *r);
void serve_metrics(void *arg, struct web_request *r);

#endif
