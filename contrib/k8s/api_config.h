/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_API_CONFIG_H
#define CEEMS_CONTRIB_K8S_API_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Where the API server is and how we prove ourselves to it: by a kubeconfig
 * (kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig), or
 * inside a pod by its service account. */
struct api_config {
	char *url; /* "https://host:port" */
	char *ca_file, *cert_file, *key_file, *token_file;
	char *token; /* of the kubeconfig itself */
	bool insecure;
};

/* file: "" for the service account. folder: where certificates that stand in a
 * kubeconfig as text are written, mode 0600. -ENOENT: neither is there; -EINVAL with
 * file and reason. On failure *ret is empty. */
int api_config_read(const char *file, const char *folder, struct api_config *ret,
		    struct err *err);
/* Of a kubeconfig's text, without files: for tests. */
int api_config_parse(const char *text, size_t len, const char *name, const char *folder,
		     struct api_config *ret, struct err *err);
void api_config_done(struct api_config *c);

#endif
