/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_KUBERNETES_KUBE_CONFIG_H
#define CEEMS_AGGREGATOR_KUBERNETES_KUBE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/conf/kubeconfig.h"
#include "lib/err.h"

/* The clusters of Kubernetes in the file --clusters.file, spelt as the peer spells
 * them: `clusters:` with id, manager and extra_config. Clusters of other managers, and
 * sections of other programs, are skipped. doc/k8s_aggregator.md has the keys. */

#define KUBES_MAX 16u
#define KUBE_CONFIG_BYTES_MAX (1u << 20)

#define KUBE_NAMES_MAX 64u /* of each list */

struct kube {
	const char *id; /* the cluster, as nodes report it */
	const char *manager;
	/* URL of the API server; NULL: the one of the cluster that we run in, if any,
	 * else none is asked */
	const char *server;
	const char *token_file, *ca_file, *cert_file, *key_file;
	const char *token; /* of the kubeconfig itself */
	bool insecure;
	const char *kubeconfig_file; /* NULL: none; instead of all these */
	struct kubeconfig kubeconfig;
	/* A user's name there is prefix, login, suffix; neither is given: a login means
	 * nobody there */
	const char *prefix, *suffix;
	const char **groups; /* of every user, besides system:authenticated */
	const char **gpu_names, **owner_annotations, **project_annotations;
	size_t group_count, gpu_count, owner_annotation_count, project_annotation_count;
	const char *users_file;  /* YAML, users: {NAMESPACE: [USER, ...]} */
	const char *groups_file; /* YAML, groups: {GROUP: [USER, ...]} */
	uint64_t people_ms;      /* between lists of namespaces and role bindings */
	uint64_t whole_ms;       /* between whole lists of pods */
	uint64_t watch_ms;       /* how long a watch lasts */
	uint64_t rights_ms;      /* how long an answer about rights is kept */
	uint64_t timeout_ms;
	uint32_t page; /* pods of an answer */
};

struct kubes {
	struct kube *items;
	size_t count;
	struct arena arena; /* holds everything */
};

/* Reads the file. -EINVAL with file and line; -EPERM: others may write it. */
int kubes_read(const char *path, struct kubes *ret, struct buf *notes, struct err *err);
/* The same from a text; a kubeconfig that it names is read. */
int kubes_parse(const char *text, size_t len, const char *file, struct kubes *ret,
		struct buf *notes, struct err *err);
void kubes_done(struct kubes *k); /* accepts a zeroed one */

/* A user's name in a cluster: 0; -ENOENT: a login means nobody there; -ENAMETOOLONG. */
#define KUBE_USER_BYTES 512
int kube_user(const struct kube *k, const char *login, char ret[KUBE_USER_BYTES]);

/* The groups file as an argument of k8s_user_groups(): [{"group", "user"}, ...]. */
int kube_groups_parse(const char *text, size_t len, const char *file, struct buf *ret,
		      struct err *err);
/* The users file as an argument of k8s_members(): [{"namespace", "user"}, ...]. */
int kube_users_parse(const char *text, size_t len, const char *file, struct buf *ret,
		     struct err *err);

#endif
