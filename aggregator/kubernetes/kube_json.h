/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_KUBERNETES_KUBE_JSON_H
#define CEEMS_AGGREGATOR_KUBERNETES_KUBE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "aggregator/kubernetes/kube_config.h"
#include "lib/buf.h"
#include "lib/err.h"

/* Answers of an API server as arguments of the functions of
 * aggregator/sql/0048_kubernetes.sql. Any bytes give rows or -EBADMSG. Source:
 * Kubernetes API reference, core/v1, rbac/v1, authorization/v1. */

#define KUBE_VERSION_BYTES 64
#define KUBE_CONTINUE_BYTES 1024
#define KUBE_ANSWER_MAX ((size_t)64 << 20)

/* What a list has beside its items. */
struct kube_list {
	char version[KUBE_VERSION_BYTES]; /* resourceVersion */
	char next[KUBE_CONTINUE_BYTES];   /* "": it was the last page */
	size_t items, bad;                /* bad: items that were left out */
};

/* Pods of a list, for k8s_pods(). Appends "{...},{...}" to rows, behind a comma where
 * it is not empty. */
int kube_json_pods(const char *text, size_t len, const struct kube *k, struct buf *rows,
		   struct kube_list *ret, struct err *err);
/* Namespaces, for k8s_namespaces(); role bindings, for k8s_bindings(). */
int kube_json_namespaces(const char *text, size_t len, struct buf *rows,
			 struct kube_list *ret, struct err *err);
int kube_json_bindings(const char *text, size_t len, struct buf *rows,
		       struct kube_list *ret, struct err *err);

struct kube_watch {
	char version[KUBE_VERSION_BYTES]; /* of the last event; in: where it began */
	size_t events, bad;
	bool added;   /* a pod is new */
	bool expired; /* 410: list anew */
};
/* Events of a watch of pods, a line each; the last may be cut short and is then left
 * for the next watch. */
int kube_json_watch(const char *text, size_t len, const struct kube *k,
		    struct buf *rows, struct kube_watch *w, struct err *err);

/* The answer to a SubjectAccessReview. */
int kube_json_allowed(const char *text, size_t len, bool *ret, struct err *err);

#endif
