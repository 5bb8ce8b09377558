/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_ROUTES_H
#define CEEMS_AGGREGATOR_ROUTES_H

#include "lib/http/web.h"

/* Handlers of the rows of routes.c; arg is the struct app. */

/* own.c */
void serve_health(void *arg, struct web_request *r);
void serve_metrics(void *arg, struct web_request *r);

#endif
