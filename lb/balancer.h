/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_BALANCER_H
#define CEEMS_LB_BALANCER_H

#include <stdbool.h>

#include "lb/options.h"
#include "lib/err.h"
#include "lib/privileges.h"

/* The parts of the load balancer put together: a site out of the configuration file,
 * the gate, health checks, and the threads that serve. */

struct balancer;

/* Reads and checks everything that a start would, and prints what of it has no effect.
 */
int balancer_check(const struct options *o, struct err *err);

/* Opens ports and files, becomes privileges' user, serves. All borrowed. */
int balancer_start(const struct options *o, const struct privileges *privileges,
		   struct balancer **ret, struct err *err);
/* Reads the files again. What is wrong is logged and leaves the old in force: false. */
bool balancer_reload(struct balancer *b);
/* Ends answers under way within --web.drain-timeout. Accepts NULL. */
void balancer_stop(struct balancer *b);

#endif
