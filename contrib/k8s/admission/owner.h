/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_ADMISSION_OWNER_H
#define CEEMS_CONTRIB_K8S_ADMISSION_OWNER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/conf/conf.h"
#include "lib/err.h"

/*
 * Whose word on an object's owner counts. Admission sees the user that the API server
 * has proved, or the one who is impersonated: that one counts. Pure.
 */

enum owner_caller {
	OWNER_USER,       /* a person, or an account like any other: the owner itself */
	OWNER_NAMER,      /* may name the owner in this namespace (JupyterHub) */
	OWNER_CONTROLLER, /* of Kubernetes: copies a template that was reviewed */
	OWNER_NODE,       /* a kubelet, for static pods: nobody's */
};

struct owner_rules {
	/* NAMESPACE:ACCOUNT of a service account, which may name owners of objects in
	 * its own namespace; NAMESPACE:ACCOUNT@OTHER in that one; @*: everywhere */
	const struct conf_list *namers;
	/* besides Kubernetes' own: NAMESPACE:ACCOUNT, or a user "system:..." */
	const struct conf_list *controllers;
};

/* -EINVAL: an entry is neither. */
int owner_check(const struct owner_rules *rules, struct err *err);

/* namespace: the object's; "": none. */
enum owner_caller owner_caller_of(const struct owner_rules *rules, const char *user,
				  const char *namespace);

/* Whether a namer may name this one: a text without control characters of at most 1023
 * bytes, and none of Kubernetes' own accounts ("system:..."). NULL is none. */
bool owner_is_plausible(const char *name);

#endif
