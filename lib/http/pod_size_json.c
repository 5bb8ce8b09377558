/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/pod_size_json.h"

#include <string.h>

#include "lib/http/json.h"

#define CONTAINERS_MAX 1024u /* each is looked for among as many statuses */

static const char *json_word_of(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);

	return s ? s : "";
}

/* {"cpu":"100m","memory":"32Mi"} */
static void read_json_amount(struct json_object *map, struct pod_amount *ret)
{
	static const char *const names[] = {"cpu", "memory"};

	for (size_t i = 0; i < 2; i++) {
		const char *s = http_json_text(map, names[i]);
		if (s)
			pod_amount_set(ret, names[i], s, strlen(s));
	}
}

static struct pod_amount json_amount_of(struct json_object *resources)
{
	struct pod_amount requests = {0}, limits = {0};

	read_json_amount(http_json_get(resources, "requests", json_type_object),
			 &requests);
	read_json_amount(http_json_get(resources, "limits", json_type_object), &limits);
	return pod_amount_or(&requests, &limits);
}

/* What the status says that a container has; NULL: nothing. */
static struct json_object *json_resources_in_status(struct json_object *statuses,
						    const char *name)
{
	size_t n = statuses ? json_object_array_length(statuses) : 0;

	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		struct json_object *o = json_object_array_get_idx(statuses, i);
		if (strcmp(json_word_of(o, "name"), name) == 0)
			return http_json_get(o, "resources", json_type_object);
	}
	return NULL;
}

static void add_json_containers(struct json_object *pod, const char *list,
				const char *status_list, bool init,
				struct pod_size *size)
{
	struct json_object *spec = http_json_get(pod, "spec", json_type_object);
	struct json_object *status = http_json_get(pod, "status", json_type_object);
	struct json_object *containers = http_json_get(spec, list, json_type_array);
	struct json_object *statuses =
		http_json_get(status, status_list, json_type_array);
	size_t n = containers ? json_object_array_length(containers) : 0;

	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		struct json_object *c = json_object_array_get_idx(containers, i);
		struct pod_amount now = json_amount_of(
			json_resources_in_status(statuses, json_word_of(c, "name")));
		struct pod_amount asked =
			json_amount_of(http_json_get(c, "resources", json_type_object));
		pod_size_add_container(size, init, json_word_of(c, "restartPolicy"),
				       &now, &asked);
	}
}

struct pod_amount pod_size_json(struct json_object *pod)
{
	struct json_object *spec = http_json_get(pod, "spec", json_type_object);
	struct json_object *overhead =
		http_json_get(spec, "overhead", json_type_object);
	struct pod_amount a = {0};
	struct pod_size size = {0};

	add_json_containers(pod, "initContainers", "initContainerStatuses", true,
			    &size);
	add_json_containers(pod, "containers", "containerStatuses", false, &size);
	read_json_amount(overhead, &a);
	pod_size_add(&size, PART_OVERHEAD, &a);
	a = json_amount_of(http_json_get(spec, "resources", json_type_object));
	pod_size_add(&size, PART_WHOLE, &a);
	return pod_size_total(&size);
}
