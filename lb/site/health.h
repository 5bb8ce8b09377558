/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_HEALTH_H
#define CEEMS_LB_SITE_HEALTH_H

#include <stdbool.h>

#include "lb/site/site.h"
#include "lib/err.h"

/*
 * Whether servers answer: threads that ask each of them now and then, and at once when
 * a request to it failed. Prometheus and what is like it by /-/ready, and by its build
 * info, which also says its dialect; Pyroscope by /ready. Each check is a connection of
 * its own with the credentials of the site, bounded in time; a slow server delays the
 * checks of no other as long as there are threads left. What changes is logged once.
 */

struct health;

#define HEALTH_THREADS 4u

int health_new(const char *user_agent, struct health **ret, struct err *err);
/* To be called when threads may be started. */
int health_start(struct health *h, struct err *err);
/* From now on the servers of this site; h holds it. */
void health_set_site(struct health *h, struct site *s);
/* Ends checks that are under way. */
void health_stop(struct health *h);
void health_free(struct health *h); /* accepts NULL */

/* One check, as a thread does it: 0, or why it failed. *ret_dialect is set where the
 * answer says it. Waits. */
int health_check(struct backend *b, const char *user_agent, bool want_dialect,
		 int *ret_dialect, struct err *err);

#endif
