/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_POD_INFO_H
#define CEEMS_CONTRIB_K8S_POD_INFO_H

#include "contrib/k8s/pods.h"

/* A name that a record may have: DNS-1123. False: it is not from Kubernetes. */
bool pod_name_ok(const char *s, size_t max);

/* Adds to info what a status says of a container: its name, and its id as
 * "containerd://DIGITS". NULL and "": it has none yet. exit_code: NULL: it runs. What
 * is no name or id is left out, as is what there is no room for. */
void pod_info_add_container(struct pod_info *info, const char *name, const char *id,
			    const uint32_t *exit_code);

#endif
