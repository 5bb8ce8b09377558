/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_KUBERNETES_KUBERNETES_H
#define CEEMS_AGGREGATOR_KUBERNETES_KUBERNETES_H

#include "aggregator/app.h"
#include "lib/identity/identity.h"

/* The part that follows the clusters of Kubernetes in --clusters.file. */
extern const struct part part_kubernetes;

/* For access_resolve(): appends the projects (namespaces) that this user may see. arg:
 * the app. */
int kubernetes_projects(void *arg, const struct identity_who *who, struct pg *pg,
			struct buf *ret, struct err *err);

#endif
