/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_KUBELET_H
#define CEEMS_CONTRIB_K8S_KUBELET_H

#include <pthread.h>

#include "contrib/k8s/options.h"
#include "contrib/k8s/pods.h"
#include "contrib/k8s/slices.h"
#include "lib/loop.h"

/*
 * The sockets of a node: kubelet's two, which pods there are (Pods API, kubelet 1.37 by
 * default) and which devices they have (pod-resources v1); and, if asked for, the
 * container runtime's, what its containers are called (CRI v1). On the caller's loop
 * and thread. A socket that is not there, hangs or answers nonsense changes nothing,
 * and is asked again.
 */
struct kubelet;

/* What it tells goes to p, of kubelet as source 0, of the runtime as source 2, with the
 * mutex held, which the caller of kubelet_tick() holds, too. options, p, slices and the
 * mutex outlive it. NULL: no memory. */
struct kubelet *kubelet_new(struct loop *l, const struct options *o, struct pods *p,
			    struct slices *slices, pthread_mutex_t *mutex);
void kubelet_free(struct kubelet *k); /* accepts NULL */

/* Once a second or more often. more: ask for devices and containers now. */
void kubelet_tick(struct kubelet *k, bool more);
/* Whether kubelet itself says which pods there are. */
bool kubelet_tells_pods(const struct kubelet *k);

#endif
