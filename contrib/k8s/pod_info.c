/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kubelet and the API server say of a pod's names and containers. */
#include "contrib/k8s/pod_info.h"

#include <string.h>

bool pod_name_ok(const char *s, size_t max)
{
	size_t len = strnlen(s, max);

	if (!len || len >= max)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool letter =
			(s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9');
		if (!letter && s[i] != '-' && s[i] != '.')
			return false;
	}
	return true;
}

void pod_info_add_container(struct pod_info *info, const char *name, const char *id,
			    const uint32_t *exit_code)
{
	const char *digits = id ? strstr(id, "://") : NULL;
	struct pod_container c = {.ended = exit_code != NULL,
				  .exit_code = exit_code ? *exit_code : 0};

	if (!digits || !name || !pod_name_ok(name, sizeof(c.name)) ||
	    !cgroup_container_id(digits + 3, c.id) ||
	    info->container_count >= POD_CONTAINERS_MAX)
		return;
	for (uint32_t i = 0; i < info->container_count; i++) {
		if (strcmp(info->containers[i].id, c.id) == 0)
			return; /* its last state is its state */
	}
	memcpy(c.name, name, strlen(name) + 1);
	info->containers[info->container_count++] = c;
}
