/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_GROUP_FILE_H
#define CEEMS_CONTRIB_K8S_GROUP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "contrib/k8s/pods.h"

/* Files of control groups of pods and of their containers. */

#define GROUP_FILE_SIZE (RECORD_CGROUP_MAX + 64u)
#define GROUP_EVENTS "cgroup.events" /* of v2 */

/* "HIERARCHY/PATH[/FILE]" below place->cgroupfd. False: there is none, or it is too
 * long. */
bool group_file_path(const struct pods_place *place, uint32_t bit, const char *path,
		     const char *file, char ret[GROUP_FILE_SIZE]);

/* Watches what group_file_path() has printed: inotify_add_watch(2), -1 and errno. */
int group_file_watch(const struct pods_place *place, int inotify_fd, const char *below,
		     uint32_t mask);

/* Whether the group has no process, by its cgroup.events. */
bool group_file_is_empty(const struct pods_place *place, const char *path);

/* Its counters now. False, ret untouched: they could not be read. */
bool group_file_counters(const struct pods_place *place, const char *path,
			 struct record_counters *ret);

#endif
