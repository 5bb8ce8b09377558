/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_KUBECONFIG_H
#define CEEMS_LIB_CONF_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Where an API server of Kubernetes is and how we prove ourselves to it: by a
 * kubeconfig
 * (kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig), or
 * inside a pod by its service account. */

#define KUBECONFIG_FILES 3u /* certificates and a key that may stand in it as text */

struct kubeconfig {
	char *url; /* "https://host:port" */
	/* Paths. What stands in the file as text is in memory, and its path is
	 * "/proc/self/fd/N": good for this process until kubeconfig_done(). */
	char *ca_file, *cert_file, *key_file, *token_file;
	char *token; /* of the kubeconfig itself */
	bool insecure;
	int fds[KUBECONFIG_FILES];
	unsigned fd_count;
};

/* path: "" for the service account. -ENOENT: neither is there; -EPERM: others may read
 * or write the file; -EINVAL with file and reason. On failure *ret is empty. What we
 * hold of a secret is wiped; libyaml's copies of one that stands in the file itself are
 * freed as they are. */
int kubeconfig_read(const char *path, struct kubeconfig *ret, struct err *err);
/* From a text; name: of its file, in messages and for paths that are relative. */
int kubeconfig_parse(const char *text, size_t len, const char *name,
		     struct kubeconfig *ret, struct err *err);
void kubeconfig_done(struct kubeconfig *c); /* accepts a zeroed one */

#endif
