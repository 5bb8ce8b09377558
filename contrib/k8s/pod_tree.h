/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_POD_TREE_H
#define CEEMS_CONTRIB_K8S_POD_TREE_H

#include <stdbool.h>

#include "contrib/k8s/pods.h"
#include "lib/err.h"

/*
 * Watches the folders in which kubelet makes the control groups of pods, by inotify(7)
 * in one hierarchy: the unified one where pods are in it, else memory's or another of
 * v1. The kernel tells of mkdir and rmdir at once, whoever did it.
 */
struct pod_tree;

/* root: the group that has all pods, as "/kubepods"; "": it is looked for under
 * kubelet's usual names. place and p outlive it. -errno of inotify_init1(), -ENOMEM. */
int pod_tree_new(const struct pods_place *place, const char *root, struct pods *p,
		 struct pod_tree **ret, struct err *err);
void pod_tree_free(struct pod_tree *t); /* accepts NULL */

/* Readable when there is something for pod_tree_read(). */
int pod_tree_fd(const struct pod_tree *t);
void pod_tree_read(struct pod_tree *t);

/* Looks for folders that are not watched yet; lists all pods if one was found, events
 * were lost, or list is true. Cheap without a list: once a second is often enough.
 * before: pods may have run for long. Returns the number of folders that are watched.
 */
unsigned pod_tree_look(struct pod_tree *t, bool list, bool before);

#endif
