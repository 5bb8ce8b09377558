/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_ADMISSION_HOOK_H
#define CEEMS_CONTRIB_K8S_ADMISSION_HOOK_H

#include "contrib/k8s/admission/options.h"
#include "lib/err.h"
#include "lib/http/web.h"
#include "lib/privileges.h"

/* The webhook's routes: the peer's two, /health and /metrics. */

struct hook;

/* -EINVAL: inconsistent options, named. */
int hook_check(const struct options *o, struct err *err);
/* Borrows o and who, which says whom to become (struct web_params.before_threads). */
int hook_new(const struct options *o, const struct privileges *who, struct hook **ret,
	     struct err *err);
void hook_free(struct hook *h); /* accepts NULL */

const struct web_route *hook_routes(size_t *ret_count);
/* For struct web_params; arg is the hook. */
int hook_before_threads(void *arg, struct err *err);
bool hook_is_front_end(void *arg, const struct netaddr *peer);

#endif
