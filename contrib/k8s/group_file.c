/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of control groups, read and watched below the folder that we were given. */
#include "contrib/k8s/group_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "contrib/adapter/teller.h"
#include "lib/fs.h"

bool group_file_path(const struct pods_place *place, uint32_t bit, const char *path,
		     const char *file, char ret[GROUP_FILE_SIZE])
{
	const char *dir = cgroup_dir(&place->layout, bit);
	int n = snprintf(ret, GROUP_FILE_SIZE, "%s%s%s%s", dir, path, *file ? "/" : "",
			 file);

	return *dir && n > 0 && (size_t)n < GROUP_FILE_SIZE;
}

int group_file_watch(const struct pods_place *place, int inotify_fd, const char *below,
		     uint32_t mask)
{
	char full[PATH_MAX];

	/* inotify has no *at() */
	int n = snprintf(full, sizeof(full), "%s/%s", place->cgroupfs, below);
	if (n < 0 || (size_t)n >= sizeof(full)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return inotify_add_watch(inotify_fd, full, mask);
}

bool group_file_is_empty(const struct pods_place *place, const char *path)
{
	char file[GROUP_FILE_SIZE], text[256];

	return group_file_path(place, CGROUP_UNIFIED, path, GROUP_EVENTS, file) &&
	       fs_read_at(place->cgroupfd, file, text, sizeof(text), NULL) >= 0 &&
	       strstr(text, "populated 0");
}

bool group_file_counters(const struct pods_place *place, const char *path,
			 struct record_counters *ret)
{
	const struct cgroup_known known = {.has_cpu = false};
	struct record r;

	record_init(&r, RECORD_STEP_STOP, MANAGER_K8S);
	for (size_t i = 0; i < TELLER_HIERARCHIES; i++)
		(void)record_add_cgroup(&r, teller_hierarchies[i], path);
	return cgroup_final_counters(place->cgroupfd, "", &place->layout, r.cgroups,
				     r.cgroup_count, &known, ret, NULL) == 0;
}
