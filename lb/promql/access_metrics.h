/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_ACCESS_METRICS_H
#define CEEMS_LB_PROMQL_ACCESS_METRICS_H

/* Shared by the files of the proof only. */

#include "lb/promql/access.h"

typedef int (*access_each_f)(void *arg, struct str s);

/* Calls each() for the values that a matcher allows, if they can be listed: returns how
 * many; -EINVAL: they cannot; -ENOMEM. */
int access_values(const struct promql_matcher *m, access_each_f each, void *arg);

/* What all metrics of a selector have in common */
struct access_metrics {
	const struct access_policy *policy;
	bool known;        /* each has a family */
	bool harmless;     /* none contains anybody's data */
	bool operators;    /* some are of all units together */
	const char *label; /* the unit's label of all that have one; NULL: they differ,
			      or none has */
	bool differ;
	int rc; /* it cannot be determined: -ENOMEM, -E2BIG */
	unsigned count;
	struct steps *steps;
};

/* By its name, or a matcher of __name__ that lists names; otherwise unknown. */
struct access_metrics access_metrics_of(const struct access_policy *policy,
					struct promql *q, const struct promql_node *n);
/* For a type of profiles; for any type: what all families have in common. */
struct access_metrics access_profiles_of(const struct access_policy *policy,
					 struct str type);

#endif
