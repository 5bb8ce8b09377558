/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_KUBERNETES_KUBE_ACCESS_H
#define CEEMS_AGGREGATOR_KUBERNETES_KUBE_ACCESS_H

#include <stdatomic.h>

#include "aggregator/kubernetes/kube_config.h"
#include "lib/buf.h"
#include "lib/pg/pg.h"

/* Who may see a namespace: whoever the API server allows to get pods in it, by a
 * SubjectAccessReview for the user and the groups that the site gives everybody. Role
 * bindings only say which namespaces are worth asking for. An answer is kept for a
 * short while; without one nothing is allowed. Any thread. */

struct kube_access;

/* Borrows kubes and stop. */
int kube_access_new(const struct kubes *kubes, const atomic_bool *stop,
		    struct kube_access **ret, struct err *err);
void kube_access_free(struct kube_access *a); /* accepts NULL */

/* Appends the ids of the projects that this login may see to ret, "1,2,3". Blocks on
 * API servers, at most 2 s for each answer; one that does not answer is left alone for
 * 5 s. The database's failure. */
int kube_access_projects(struct kube_access *a, const char *login, struct pg *pg,
			 struct buf *ret, struct err *err);

struct kube_access_counts {
	uint64_t asked, kept, failed;
};
void kube_access_count(struct kube_access *a, struct kube_access_counts *ret);

#endif
