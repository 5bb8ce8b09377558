/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_POD_JSON_H
#define CEEMS_CONTRIB_K8S_POD_JSON_H

#include "contrib/k8s/pods.h"
#include "lib/err.h"

/* A pod as the API server tells it (core/v1). Any object: -EBADMSG if it has no names
 * of Kubernetes. */
struct json_object;
int pod_json_read(struct json_object *pod, struct pod_info *ret, struct err *err);

#endif
