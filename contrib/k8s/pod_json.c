/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/pod_json.h"

#include <stdio.h>
#include <string.h>

#include "contrib/k8s/pod_size.h"
#include "lib/http/json.h"

#define DEPTH_MAX 48
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

static int copy_name(char *to, size_t size, struct json_object *metadata,
		     const char *member, struct err *err)
{
	const char *s = text_of(metadata, member);

	if (!pod_name_ok(s, size))
		return err_set(err, -EBADMSG, "metadata.%s: not a name of Kubernetes",
			       member);
	memcpy(to, s, strlen(s) + 1);
	return 0;
}

static int read_pod(struct json_object *pod, struct pod_info *ret, struct err *err)
{
	struct json_object *meta = http_json_get(pod, "metadata", json_type_object);
	struct json_object *notes =
		http_json_get(meta, "annotations", json_type_object);
	struct json_object *status = http_json_get(pod, "status", json_type_object);
	const char *phase = text_of(status, "phase");

	*ret = (struct pod_info){.failed = strcmp(phase, "Failed") == 0};
	ret->finished = ret->failed || strcmp(phase, "Succeeded") == 0;
	int rc = copy_name(ret->name, sizeof(ret->name), meta, "name", err);
	if (rc == 0)
		rc = copy_name(ret->namespace, sizeof(ret->namespace), meta,
			       "namespace", err);
	if (rc == 0 &&
	    !pod_mirror_uid(http_json_text(notes, "kubernetes.io/config.mirror"),
			    http_json_text(notes, "kubernetes.io/config.hash"),
			    ret->uid))
		rc = copy_name(ret->uid, sizeof(ret->uid), meta, "uid", err);
	if (rc == 0) {
		read_size(pod, ret);
		read_containers(pod, ret);
	}
	return rc;
}

static int read_event(struct json_object *line, struct pod_event *ret, struct err *err)
{
	struct json_object *object = http_json_get(line, "object", json_type_object);
	struct json_object *meta = http_json_get(object, "metadata", json_type_object);
	const char *type = text_of(line, "type");
	const char *version = text_of(meta, "resourceVersion");
	uint64_t code = 0;

	*ret = (struct pod_event){.type = POD_EVENT_CHANGED};
	if (strlen(version) < sizeof(ret->version))
		(void)snprintf(ret->version, sizeof(ret->version), "%s", version);
	if (strcmp(type, "BOOKMARK") == 0) {
		ret->type = POD_EVENT_BOOKMARK;
		return 0;
	}
	if (strcmp(type, "ERROR") == 0) {
		ret->type = POD_EVENT_ERROR;
		(void)http_json_u64(object, "code", 999, &code);
		ret->code = (unsigned)code;
		return 0;
	}
	if (strcmp(type, "DELETED") == 0)
		ret->type = POD_EVENT_DELETED;
	else if (strcmp(type, "ADDED") != 0 && strcmp(type, "MODIFIED") != 0)
		return err_set(err, -EBADMSG, "an event of an unknown type");
	return read_pod(object, &ret->info, err);
}

static int parse_object(const char *text, size_t len, struct json_object **ret,
			struct err *err)
{
	const struct http_json_limits limits = {.bytes_max = POD_JSON_MAX,
						.depth_max = DEPTH_MAX};

	return http_json_object(text, len, &limits, ret, err);
}

int pod_json_event(const char *text, size_t len, struct pod_event *ret, struct err *err)
{
	auto_json struct json_object *line = NULL;
	struct pod_event event;
	int rc = parse_object(text, len, &line, err);

	if (rc == 0)
		rc = read_event(line, &event, err);
	if (rc == 0)
		*ret = event;
	return rc;
}

int pod_json_item(const char *text, size_t len, struct pod_event *ret, struct err *err)
{
	auto_json struct json_object *pod = NULL;
	struct pod_event event = {.type = POD_EVENT_CHANGED};
	int rc = parse_object(text, len, &pod, err);

	if (rc == 0)
		rc = read_pod(pod, &event.info, err);
	if (rc == 0)
		*ret = event;
	return rc;
}

int pod_json_version(const char *text, size_t len, char ret[POD_VERSION_SIZE],
		     struct err *err)
{
	auto_json struct json_object *meta = NULL;
	int rc = parse_object(text, len, &meta, err);
	const char *version = rc == 0 ? text_of(meta, "resourceVersion") : "";

	if (rc == 0 && (!*version || strlen(version) >= POD_VERSION_SIZE))
		rc = err_set(err, -EBADMSG, "a list without a resourceVersion");
	if (rc == 0)
		memcpy(ret, version, strlen(version) + 1);
	return rc;
}

/* ---- cutting --------------------------------------------------------------------- */

void pod_json_cut_reset(struct pod_json_cut *c, bool list)
{
	struct buf text = c->text;

	buf_reset(&text);
	*c = (struct pod_json_cut){.list = list, .text = text};
	c->text.max = POD_JSON_MAX;
}

static void put_byte(struct pod_json_cut *c, char byte)
{
	if (c->too_long)
		return;
	buf_putc(&c->text, byte);
	if (!buf_error(&c->text))
		return;
	c->too_long = true;
	buf_done(&c->text);
	c->text.max = POD_JSON_MAX;
}

/* Objects of a watch begin at depth 0; a list's metadata at 1, its items at 2. */
static bool begins_object(const struct pod_json_cut *c, char byte)
{
	return byte == '{' && !c->inside &&
	       (c->list ? c->depth == 1 || c->depth == 2 : c->depth == 0);
}

bool pod_json_cut(struct pod_json_cut *c, char byte, bool *ret_metadata)
{
	if (begins_object(c, byte) && !c->in_string) {
		c->inside = true;
		c->too_long = false;
		c->from = c->depth;
		buf_reset(&c->text);
	}
	if (c->inside)
		put_byte(c, byte);
	if (c->in_string) {
		if (byte == '"' && !c->escaped)
			c->in_string = false;
		c->escaped = byte == '\\' && !c->escaped;
		return false;
	}
	c->in_string = byte == '"';
	if (byte == '{' || byte == '[')
		c->depth++;
	if ((byte == '}' || byte == ']') && c->depth)
		c->depth--;
	if (!c->inside || byte != '}' || c->depth != c->from)
		return false;
	c->inside = false;
	*ret_metadata = c->list && c->from == 1;
	return true;
}
