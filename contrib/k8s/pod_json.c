/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/pod_json.h"

#include <string.h>

#include "contrib/k8s/api_json.h"
#include "contrib/k8s/pod_size.h"
#include "lib/cgroup.h"
#include "lib/http/json.h"

#define CONTAINERS_MAX 4096u

static const char *text_of(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);

	return s ? s : "";
}

/* {"cpu":"100m","memory":"32Mi"} */
static void read_amount(struct json_object *map, struct pod_amount *ret)
{
	static const char *const names[] = {"cpu", "memory"};

	for (size_t i = 0; i < 2; i++) {
		const char *s = http_json_text(map, names[i]);
		if (s)
			pod_amount_set(ret, names[i], s, strlen(s));
	}
}

static struct pod_amount amount_of(struct json_object *resources)
{
	struct pod_amount requests = {0}, limits = {0};

	read_amount(http_json_get(resources, "requests", json_type_object), &requests);
	read_amount(http_json_get(resources, "limits", json_type_object), &limits);
	return pod_amount_or(&requests, &limits);
}

/* What the status says that a container has; NULL: nothing. */
static struct json_object *resources_in_status(struct json_object *statuses,
					       const char *name)
{
	size_t n = statuses ? json_object_array_length(statuses) : 0;

	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		struct json_object *o = json_object_array_get_idx(statuses, i);
		if (strcmp(text_of(o, "name"), name) == 0)
			return http_json_get(o, "resources", json_type_object);
	}
	return NULL;
}

static void add_containers(struct json_object *pod, const char *list,
			   const char *status_list, bool init, struct pod_size *size)
{
	struct json_object *spec = http_json_get(pod, "spec", json_type_object);
	struct json_object *status = http_json_get(pod, "status", json_type_object);
	struct json_object *containers = http_json_get(spec, list, json_type_array);
	struct json_object *statuses =
		http_json_get(status, status_list, json_type_array);
	size_t n = containers ? json_object_array_length(containers) : 0;

	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		struct json_object *c = json_object_array_get_idx(containers, i);
		bool sidecar =
			init && strcmp(text_of(c, "restartPolicy"), "Always") == 0;
		struct pod_amount now =
			amount_of(resources_in_status(statuses, text_of(c, "name")));
		struct pod_amount asked =
			amount_of(http_json_get(c, "resources", json_type_object));
		struct pod_amount a = pod_amount_or(&now, &asked);
		pod_size_add(size,
			     sidecar ? PART_SIDECAR
			     : init  ? PART_INIT
				     : PART_CONTAINER,
			     &a);
	}
}

static void read_size(struct json_object *pod, struct pod_info *ret)
{
	struct json_object *spec = http_json_get(pod, "spec", json_type_object);
	struct json_object *overhead =
		http_json_get(spec, "overhead", json_type_object);
	struct pod_amount a = {0};
	struct pod_size size = {0};

	add_containers(pod, "initContainers", "initContainerStatuses", true, &size);
	add_containers(pod, "containers", "containerStatuses", false, &size);
	read_amount(overhead, &a);
	pod_size_add(&size, PART_OVERHEAD, &a);
	a = amount_of(http_json_get(spec, "resources", json_type_object));
	pod_size_add(&size, PART_WHOLE, &a);
	pod_size_total(&size, ret);
}

/* {"terminated":{"containerID":"containerd://...","exitCode":0}} */
static void read_terminated(struct json_object *status, const char *state,
			    struct pod_info *ret)
{
	struct json_object *s = http_json_get(status, state, json_type_object);
	struct json_object *t = http_json_get(s, "terminated", json_type_object);
	uint64_t code = 0;

	if (!t)
		return;
	(void)http_json_u64(t, "exitCode", 255, &code);
	const uint32_t exit_code = (uint32_t)code;
	pod_info_add_container(ret, text_of(status, "name"),
			       http_json_text(t, "containerID"), &exit_code);
}

static void read_containers(struct json_object *pod, struct pod_info *ret)
{
	static const char *const lists[] = {"initContainerStatuses",
					    "containerStatuses",
					    "ephemeralContainerStatuses"};
	struct json_object *status = http_json_get(pod, "status", json_type_object);

	for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
		struct json_object *list =
			http_json_get(status, lists[l], json_type_array);
		size_t n = list ? json_object_array_length(list) : 0;
		for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
			struct json_object *c = json_object_array_get_idx(list, i);
			read_terminated(c, "state", ret);
			read_terminated(c, "lastState", ret);
			pod_info_add_container(ret, text_of(c, "name"),
					       http_json_text(c, "containerID"), NULL);
		}
	}
}

int pod_json_read(struct json_object *pod, struct pod_info *ret, struct err *err)
{
	struct json_object *meta = http_json_get(pod, "metadata", json_type_object);
	struct json_object *notes =
		http_json_get(meta, "annotations", json_type_object);
	struct json_object *status = http_json_get(pod, "status", json_type_object);
	const char *phase = text_of(status, "phase");

	struct pod_info info = {.failed = strcmp(phase, "Failed") == 0};

	info.finished = info.failed || strcmp(phase, "Succeeded") == 0;
	int rc = api_json_name(pod, "name", info.name, sizeof(info.name), err);
	if (rc == 0)
		rc = api_json_name(pod, "namespace", info.namespace,
				   sizeof(info.namespace), err);
	if (rc == 0 &&
	    !cgroup_mirror_uid(http_json_text(notes, "kubernetes.io/config.mirror"),
			       http_json_text(notes, "kubernetes.io/config.hash"),
			       info.uid))
		rc = api_json_name(pod, "uid", info.uid, sizeof(info.uid), err);
	if (rc < 0)
		return rc;
	read_size(pod, &info);
	read_containers(pod, &info);
	*ret = info;
	return 0;
}
