/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as answers of kubelet and the API server, and as names of control groups.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/k8s/grpc_unix.h"
#include "contrib/k8s/pod_json.h"
#include "contrib/k8s/pod_proto.h"
#include "contrib/k8s/pod_size.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_event(int rc, const struct pod_event *e, const struct err *err)
{
	if (rc < 0 && !err->text[0])
		abort();
	if (rc == 0 && e->type <= POD_EVENT_DELETED &&
	    (!pod_name_ok(e->info.name, sizeof(e->info.name)) ||
	     !pod_name_ok(e->info.uid, sizeof(e->info.uid))))
		abort();
	for (uint32_t i = 0; rc == 0 && i < e->info.container_count; i++) {
		const struct pod_container *c = &e->info.containers[i];
		char id[CGROUP_CONTAINER_ID_SIZE];
		if (i >= POD_CONTAINERS_MAX || !pod_name_ok(c->name, sizeof(c->name)) ||
		    !cgroup_container_id(c->id, id))
			abort();
	}
}

static void see_any(void *arg, const struct pod_devices *d)
{
	(void)arg;
	if (!d->count || d->count > RECORD_DEVICES_MAX)
		abort();
}

static bool take_any(void *arg, const unsigned char *data, size_t len)
{
	struct pod_event e;
	struct err err = {""};

	(void)arg;
	check_event(pod_proto_event(data, len, &e, &err), &e, &err);
	return len != 7;
}

static void cut_answer(const uint8_t *data, size_t size, bool list)
{
	struct pod_json_cut c = {0};
	struct pod_event e;
	bool metadata = false;

	pod_json_cut_reset(&c, list);
	for (size_t i = 0; i < size; i++) {
		struct err err = {""};
		if (!pod_json_cut(&c, (char)data[i], &metadata) || c.too_long)
			continue;
		char version[POD_VERSION_SIZE];
		if (metadata)
			(void)pod_json_version(c.text.data, c.text.len, version, &err);
		else
			check_event(
				list ? pod_json_item(c.text.data, c.text.len, &e, &err)
				     : pod_json_event(c.text.data, c.text.len, &e,
						      &err),
				&e, &err);
	}
	buf_done(&c.text);
}

static void read_name(const uint8_t *data, size_t size)
{
	char name[300], uid[CGROUP_POD_UID_SIZE];
	size_t n = size < sizeof(name) ? size : sizeof(name) - 1;

	memcpy(name, data, n);
	name[n] = '\0';
	if (cgroup_pod_uid("burstable", name, uid) &&
	    (!uid[0] || strlen(uid) >= sizeof(uid) || strchr(uid, '/')))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"nvidia.com/gpu", "nvidia.com/mig-", ""};
	const struct grpc_call call = {.message_max = 4096, .message = take_any};
	struct grpc_body body = {0};
	struct pod_event e;
	struct err err = {""};
	uint64_t milli;

	cut_answer(data, size, false);
	cut_answer(data, size, true);
	check_event(pod_proto_event(data, size, &e, &err), &e, &err);
	(void)pod_proto_devices(data, size, names, 3, see_any, NULL, &err);
	(void)grpc_body_take(&body, &call, data, size);
	grpc_body_done(&body);
	(void)pod_quantity((const char *)data, size, &milli);
	read_name(data, size);
	return 0;
}
