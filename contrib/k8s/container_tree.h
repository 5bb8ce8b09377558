/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_CONTAINER_TREE_H
#define CEEMS_CONTRIB_K8S_CONTAINER_TREE_H

#include <stdbool.h>
#include <sys/inotify.h>

#include "contrib/k8s/pods.h"

/*
 * The control groups of containers, below those of pods: a container begins and ends
 * with its group. Its last counters are read when its group has become empty, by
 * cgroup.events (v2 or a hybrid host); elsewhere every time that groups are listed.
 * Part of struct pod_tree, whose inotify it uses. One thread.
 */
struct container_tree;

/* place, pods and the descriptor outlive it. NULL: no memory. */
struct container_tree *container_tree_new(const struct pods_place *place,
					  struct pods *p, int inotify_fd);
void container_tree_free(struct container_tree *t); /* accepts NULL */

/* A pod's group is there, at path in the hierarchy of this bit. Told again it is
 * nothing, but in a list of all. */
void container_tree_see_pod(struct container_tree *t, const char *uid, const char *path,
			    uint32_t bit);
/* It is gone, and with it all of its containers. */
void container_tree_end_pod(struct container_tree *t, const char *path);
/* Pods that are not seen between the two are gone. all: events were lost, containers
 * are listed too. */
void container_tree_list_begin(struct container_tree *t, bool all);
void container_tree_list_end(struct container_tree *t);

/* False: the event is of another's watch. */
bool container_tree_take(struct container_tree *t, const struct inotify_event *e);

#endif
