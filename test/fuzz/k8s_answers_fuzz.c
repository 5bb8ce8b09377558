/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as answers of kubelet and the API server, and as names of control groups.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/k8s/api_json.h"
#include "contrib/k8s/grpc_unix.h"
#include "contrib/k8s/pod_info.h"
#include "contrib/k8s/pod_json.h"
#include "contrib/k8s/pod_proto.h"
#include "contrib/k8s/slices.h"
#include "lib/http/pod_size.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pod(const struct pod_info *info)
{
	char id[CGROUP_CONTAINER_ID_SIZE];

	if (!pod_name_ok(info->name, sizeof(info->name)) ||
	    !pod_name_ok(info->uid, sizeof(info->uid)) ||
	    info->container_count > POD_CONTAINERS_MAX)
		abort();
	for (uint32_t i = 0; i < info->container_count; i++) {
		const struct pod_container *c = &info->containers[i];
		if (!pod_name_ok(c->name, sizeof(c->name)) ||
		    !cgroup_container_id(c->id, id))
			abort();
	}
}

static void read_proto_event(const unsigned char *data, size_t len)
{
	struct pod_event e;
	struct err err = {""};
	int rc = pod_proto_event(data, len, &e, &err);

	if (rc < 0 && !err.text[0])
		abort();
	if (rc == 0 && e.type <= API_EVENT_DELETED)
		check_pod(&e.info);
}

/* Of whichever kind the object is. */
static void read_json_event(int rc, struct api_event *e, struct slices *slices)
{
	struct pod_info info;
	struct err err = {""};

	if (rc < 0)
		return;
	if ((e->type <= API_EVENT_DELETED) != !!e->object)
		abort();
	if (e->object && pod_json_read(e->object, &info, &err) == 0)
		check_pod(&info);
	if (e->object && slices_see(slices, e->object, &err) == 0 &&
	    e->type == API_EVENT_DELETED && slices_drop(slices, e->object, &err) < 0)
		abort();
	api_event_done(e);
}

static void see_any(void *arg, const struct pod_devices *d)
{
	(void)arg;
	if (!d->count || d->count > RECORD_DEVICES_MAX)
		abort();
}

static void see_any_pod(void *arg, const struct pod_info *info)
{
	(void)arg;
	check_pod(info);
}

static bool take_any(void *arg, const unsigned char *data, size_t len)
{
	(void)arg;
	read_proto_event(data, len);
	return len != 7;
}

static void cut_answer(const uint8_t *data, size_t size, bool list,
		       struct slices *slices)
{
	struct api_json_cut c = {0};
	struct api_event e;
	bool metadata = false;

	api_json_cut_reset(&c, list);
	for (size_t i = 0; i < size; i++) {
		struct err err = {""};
		if (!api_json_cut(&c, (char)data[i], &metadata) || c.too_long)
			continue;
		char version[API_VERSION_SIZE];
		if (metadata)
			(void)api_json_version(c.text.data, c.text.len, version, &err);
		else
			read_json_event(
				list ? api_json_item(c.text.data, c.text.len, &e, &err)
				     : api_json_event(c.text.data, c.text.len, &e,
						      &err),
				&e, slices);
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
	static char gpu[] = "nvidia.com/gpu", mig[] = "nvidia.com/mig-", none[] = "",
		    driver[] = "gpu.nvidia.com", drivers[] = "gpu-",
		    *resource_names[] = {gpu, mig, none},
		    *driver_names[] = {driver, drivers};
	const struct conf_list resources = {.items = resource_names, .count = 3},
			       driver_list = {.items = driver_names, .count = 2};
	struct gpu_names gpus = {.resources = &resources,
				 .drivers = &driver_list,
				 .slices = slices_new()};
	const struct grpc_call call = {.message_max = 4096, .message = take_any};
	struct grpc_body body = {0};
	struct err err = {""};
	uint64_t milli;

	if (!gpus.slices)
		return 0;
	cut_answer(data, size, false, gpus.slices);
	cut_answer(data, size, true, gpus.slices);
	read_proto_event(data, size);
	(void)pod_proto_devices(data, size, &gpus, see_any, NULL, &err);
	(void)pod_proto_containers(data, size, see_any_pod, NULL, &err);
	slices_free(gpus.slices);
	(void)grpc_body_take(&body, &call, data, size);
	grpc_body_done(&body);
	(void)pod_quantity((const char *)data, size, &milli);
	read_name(data, size);
	return 0;
}
