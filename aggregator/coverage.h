/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_COVERAGE_H
#define CEEMS_AGGREGATOR_COVERAGE_H

#include "lib/pg/pg.h"
#include "lib/prom.h"

/* How much of units' lives was watched, by cluster: of those that ended in the last
 * day, an hour ago at the latest, so that their last reports had the time to come. */

struct coverage;

int coverage_new(struct coverage **ret, struct err *err);
void coverage_free(struct coverage *c); /* accepts NULL */
/* Asks the database; what it does not answer is not known. */
void coverage_look(struct coverage *c, struct pg *pg);
/* Any thread. */
void coverage_metrics(struct coverage *c, struct prom *out);

#endif
