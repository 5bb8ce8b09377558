/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_ACCESS_METRICS_H
#define CEEMS_LB_PROMQL_ACCESS_METRICS_H

/* Shared by the files of the proof only. */

#include "lb/promql/access.h"

typedef int (*access_each_f)(void *arg, struct str s);

/* The values that a matcher allows, when these can be listed: how many, -EINVAL when
 * not; -ENOMEM.
 */
int access_values(const struct promql_matcher *m, access_each_f each, void *arg);

/* What all metrics of a selector have in common */
struct access_metrics {
	const struct access_policy *policy;
	bool known;        /* each has a family */
	bool harmless;     /* none tells of anybody */
	bool operators;    /* some are of no unit, but of all */
	const char *label; /* of all that do; NULL: they differ, or none does */
	bool differ;
	int rc; /* it could not be found out: -ENOMEM, -E2BIG */
	unsigned count;
	struct steps *steps;
};

/* By its name, or by a matcher of __name__ that lists names; else unknown. */
struct access_metrics access_metrics_of(const struct access_policy *policy,
					struct promql *q, const struct promql_node *n);
/* Of a type of profiles; of all types: what all families have in common. */
struct access_metrics access_profiles_of(const struct access_policy *policy,
					 struct str type);

#endif
