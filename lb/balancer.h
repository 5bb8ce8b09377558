/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_BALANCER_H
#define CEEMS_LB_BALANCER_H

#include <stdbool.h>

#include "lb/options.h"
#include "lib/err.h"
#include "lib/privileges.h"

/* The load balancer as a whole: the site from the configuration file, the gate, health
 * checks, and the serving threads. */

struct balancer;

/* Reads and checks everything a start would, and prints settings that have no
 * effect. */
int balancer_check(const struct options *o, struct err *err);

/* Opens ports and files, drops to the user of privileges, serves. All borrowed. */
int balancer_start(const struct options *o, const struct privileges *privileges,
		   struct balancer **ret, struct err *err);
/* Reads the files again. On an error, which is logged, the old ones stay in force:
 * false. */
bool balancer_reload(struct balancer *b);
/* Finishes running answers within --web.drain-timeout. Accepts NULL. */
void balancer_stop(struct balancer *b);

#endif
