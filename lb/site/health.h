/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_HEALTH_H
#define CEEMS_LB_SITE_HEALTH_H

#include <stdbool.h>

#include "lb/site/site.h"
#include "lib/err.h"

/*
 * Health checks: threads check each server periodically, and at once when a request to
 * it failed. Prometheus-like servers by /-/ready and by their build info, which also
 * has the dialect, else by a query; Pyroscope by /ready. Each check makes its own
 * connection with the configured credentials and has a time limit; a slow server does
 * not delay other checks as long as there are free threads. Changes are logged once.
 */

struct health;

#define HEALTH_THREADS 4u

int health_new(const char *user_agent, struct health **ret, struct err *err);
/* Call when threads may be started. */
int health_start(struct health *h, struct err *err);
/* Switches to the servers of this site; h holds it. */
void health_set_site(struct health *h, struct site *s);
/* Ends running checks. */
void health_stop(struct health *h);
void health_free(struct health *h); /* accepts NULL */

/* One check, as made by a thread: 0, or why it failed. *ret_dialect is set if the
 * answer has it. Blocks. */
int health_check(struct backend *b, const char *user_agent, bool want_dialect,
		 int *ret_dialect, struct err *err);

#endif
