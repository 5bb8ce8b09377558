/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_COVERAGE_H
#define CEEMS_AGGREGATOR_COVERAGE_H

#include "lib/pg/pg.h"
#include "lib/prom.h"

/* Coverage by cluster: of units that ended in the last day but at least an hour ago, so
 * that their last reports had time to arrive. */

struct coverage;

int coverage_new(struct coverage **ret, struct err *err);
void coverage_free(struct coverage *c); /* accepts NULL */
/* Asks the database; on failure coverage is unknown. */
void coverage_look(struct coverage *c, struct pg *pg);
/* Any thread. */
void coverage_metrics(struct coverage *c, struct prom *out);

#endif
