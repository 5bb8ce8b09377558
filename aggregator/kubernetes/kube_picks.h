/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_KUBERNETES_KUBE_PICKS_H
#define CEEMS_AGGREGATOR_KUBERNETES_KUBE_PICKS_H

#include "aggregator/kubernetes/kube_config.h"
#include "lib/http/json.h"

/* All that is read of a pod. The rest is its user's, up to megabytes of it. */
struct kube_picks {
	struct http_json_pick notes[2 * KUBE_NAMES_MAX + 3];
	struct http_json_pick amounts[KUBE_NAMES_MAX + 5];
	struct http_json_pick resources[3], container[4], state[4];
	struct http_json_pick metadata[7], spec[5], status[6];
	struct http_json_pick pod[5]; /* or the object of an event that is no pod's */
	struct http_json_pick event[3];
};

#define KUBE_CONTAINERS_MAX 1000u /* of a pod */

/* Borrows k's names. */
void kube_picks_init(struct kube_picks *p, const struct kube *k);

#endif
