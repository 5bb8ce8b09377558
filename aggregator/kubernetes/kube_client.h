/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_KUBERNETES_KUBE_CLIENT_H
#define CEEMS_AGGREGATOR_KUBERNETES_KUBE_CLIENT_H

#include <stdatomic.h>

#include "aggregator/kubernetes/kube_config.h"
#include "lib/http/client.h"

/* One connection to a cluster's API server, for one thread at a time. */

struct kube_client;

/* timeout_ms: of a request. Borrows k and stop. */
int kube_client_new(const struct kube *k, uint64_t timeout_ms, const atomic_bool *stop,
		    struct kube_client **ret, struct err *err);
void kube_client_free(struct kube_client *c); /* accepts NULL */

/* GET of a path with its query. 0: status 200; -ESTALE: 410, list anew; -EPROTO:
 * another status, err says which; else http_client_do()'s. */
int kube_client_get(struct kube_client *c, const char *path, struct http_response *ret,
		    struct err *err);
/* POST of JSON; 200 and 201 are good. */
int kube_client_post(struct kube_client *c, const char *path, const struct buf *body,
		     struct http_response *ret, struct err *err);

#endif
