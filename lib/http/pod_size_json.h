/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_POD_SIZE_JSON_H
#define CEEMS_LIB_HTTP_POD_SIZE_JSON_H

#include <json-c/json.h>

#include "lib/http/pod_size.h"

/* What a pod of the API requests, 0: nothing. Source: k8s.io/api, core/v1, Pod. */
struct pod_amount pod_size_json(struct json_object *pod);

#endif
