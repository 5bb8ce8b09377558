/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/pod_json.h"

#include <string.h>

#include "contrib/k8s/api_json.h"
#include "contrib/k8s/pod_info.h"
#include "lib/cgroup.h"
#include "lib/http/json.h"
#include "lib/http/pod_size_json.h"

#define CONTAINERS_MAX 4096u

static const char *text_of(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);

	return s ? s : "";
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
	struct pod_amount size = pod_size_json(pod);
	info.cpu_milli = size.cpu_milli;
	info.memory_bytes = size.memory_bytes;
	read_containers(pod, &info);
	*ret = info;
	return 0;
}
