/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/pod_proto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/k8s/device_name.h"
#include "contrib/k8s/kubelet.pb-c.h"
#include "contrib/k8s/pod_info.h"
#include "lib/cgroup.h"
#include "lib/http/pod_size.h"

#define CONTAINERS_MAX 4096u
#define CLAIMED_MAX 1024u /* GPUs of all claims of a node */
/* of what protobuf-c makes of a message: a byte may become a structure */
#define TREE_MAX ((size_t)64 << 20)

/* ---- memory ---------------------------------------------------------------------- */

struct budget {
	size_t left;
};

static void *take_memory(void *arg, size_t size)
{
	struct budget *b = arg;

	if (size > b->left)
		return NULL;
	b->left -= size;
	return malloc(size ? size : 1);
}

static void give_memory(void *arg, void *p)
{
	(void)arg;
	free(p);
}

static ProtobufCAllocator bounded_allocator(struct budget *b)
{
	*b = (struct budget){.left = TREE_MAX};
	return (ProtobufCAllocator){
		.alloc = take_memory, .free = give_memory, .allocator_data = b};
}

/* ---- pods ------------------------------------------------------------------------ */

static void read_amounts(Kubelet__Amount **list, size_t n, struct pod_amount *ret)
{
	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		const char *text = list[i]->value ? list[i]->value->text : "";
		pod_amount_set(ret, list[i]->key, text, strlen(text));
	}
}

static struct pod_amount amount_of_resources(const Kubelet__Resources *r)
{
	struct pod_amount requests = {0}, limits = {0};

	if (r) {
		read_amounts(r->requests, r->n_requests, &requests);
		read_amounts(r->limits, r->n_limits, &limits);
	}
	return pod_amount_or(&requests, &limits);
}

static const Kubelet__Resources *status_of(Kubelet__ContainerStatus **list, size_t n,
					   const char *name)
{
	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		if (strcmp(list[i]->name, name) == 0)
			return list[i]->resources;
	}
	return NULL;
}

static void add_list(Kubelet__Container **list, size_t n,
		     Kubelet__ContainerStatus **statuses, size_t status_count,
		     bool init, struct pod_size *size)
{
	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		struct pod_amount now = amount_of_resources(
			status_of(statuses, status_count, list[i]->name));
		struct pod_amount asked = amount_of_resources(list[i]->resources);
		pod_size_add_container(size, init, list[i]->restart_policy, &now,
				       &asked);
	}
}

static void read_pod_size(const Kubelet__Pod *pod, struct pod_info *ret)
{
	static const Kubelet__Status none = KUBELET__STATUS__INIT;
	const Kubelet__Status *status = pod->status ? pod->status : &none;
	const Kubelet__Spec *spec = pod->spec;
	struct pod_amount a = {0};
	struct pod_size size = {0};

	if (!spec)
		return;
	add_list(spec->init_containers, spec->n_init_containers,
		 status->init_containers, status->n_init_containers, true, &size);
	add_list(spec->containers, spec->n_containers, status->containers,
		 status->n_containers, false, &size);
	read_amounts(spec->overhead, spec->n_overhead, &a);
	pod_size_add(&size, PART_OVERHEAD, &a);
	a = amount_of_resources(spec->resources);
	pod_size_add(&size, PART_WHOLE, &a);
	a = pod_size_total(&size);
	ret->cpu_milli = a.cpu_milli;
	ret->memory_bytes = a.memory_bytes;
}

static void add_terminated(const Kubelet__ContainerStatus *c,
			   const Kubelet__ContainerState *state, struct pod_info *ret)
{
	const Kubelet__Terminated *t = state ? state->terminated : NULL;

	if (!t)
		return;
	const uint32_t exit_code = (uint32_t)t->exit_code & 0xff;
	pod_info_add_container(ret, c->name, t->id, &exit_code);
}

static void add_statuses(Kubelet__ContainerStatus **list, size_t n,
			 struct pod_info *ret)
{
	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		add_terminated(list[i], list[i]->state, ret);
		add_terminated(list[i], list[i]->last_state, ret);
		pod_info_add_container(ret, list[i]->name, list[i]->id, NULL);
	}
}

static const char *find_note(Kubelet__Annotation *const *notes, size_t n,
			     const char *key)
{
	for (size_t i = 0; i < n && i < CONTAINERS_MAX; i++) {
		if (strcmp(notes[i]->key, key) == 0)
			return notes[i]->value;
	}
	return NULL;
}

static const char *annotation_of(const Kubelet__Metadata *m, const char *key)
{
	return find_note(m->annotations, m->n_annotations, key);
}

static bool copy_member(char *to, size_t size, const char *from)
{
	if (!pod_name_ok(from, size))
		return false;
	memcpy(to, from, strlen(from) + 1);
	return true;
}

static int read_pod_message(const Kubelet__Pod *pod, struct pod_info *ret,
			    struct err *err)
{
	const Kubelet__Metadata *m = pod->metadata;
	const char *phase = pod->status ? pod->status->phase : "";

	*ret = (struct pod_info){.failed = strcmp(phase, "Failed") == 0};
	ret->finished = ret->failed || strcmp(phase, "Succeeded") == 0;
	/* kubelet's own static pods have the hash as their UID */
	if (!m || !copy_member(ret->name, sizeof(ret->name), m->name) ||
	    !copy_member(ret->namespace, sizeof(ret->namespace), m->namespace_) ||
	    (!cgroup_mirror_uid(annotation_of(m, "kubernetes.io/config.mirror"),
				annotation_of(m, "kubernetes.io/config.hash"),
				ret->uid) &&
	     !copy_member(ret->uid, sizeof(ret->uid), m->uid)))
		return err_set(err, -EBADMSG, "a pod without a name of Kubernetes");
	read_pod_size(pod, ret);
	if (pod->status) {
		const Kubelet__Status *s = pod->status;
		add_statuses(s->init_containers, s->n_init_containers, ret);
		add_statuses(s->containers, s->n_containers, ret);
		add_statuses(s->ephemeral_containers, s->n_ephemeral_containers, ret);
	}
	return 0;
}

static int read_watch_event(const Kubelet__WatchEvent *e, ProtobufCAllocator *a,
			    struct pod_event *ret, struct err *err)
{
	*ret = (struct pod_event){.type = e->type == KUBELET__WATCH_EVENT__TYPE__DELETED
						  ? API_EVENT_DELETED
						  : API_EVENT_CHANGED};
	if (e->type == KUBELET__WATCH_EVENT__TYPE__INITIAL_SYNC_COMPLETE) {
		ret->type = API_EVENT_BOOKMARK;
		return 0;
	}
	if (e->type < KUBELET__WATCH_EVENT__TYPE__ADDED ||
	    e->type > KUBELET__WATCH_EVENT__TYPE__DELETED)
		return err_set(err, -EBADMSG, "an event of an unknown type");
	Kubelet__Pod *pod = kubelet__pod__unpack(a, e->pod.len, e->pod.data);
	if (!pod)
		return err_set(err, -EBADMSG, "not a pod, or too large");
	int rc = read_pod_message(pod, &ret->info, err);
	kubelet__pod__free_unpacked(pod, a);
	return rc;
}

int pod_proto_event(const unsigned char *data, size_t len, struct pod_event *ret,
		    struct err *err)
{
	struct budget budget;
	ProtobufCAllocator a = bounded_allocator(&budget);
	struct pod_event event;
	Kubelet__WatchEvent *e = len <= POD_PROTO_MAX
					 ? kubelet__watch_event__unpack(&a, len, data)
					 : NULL;

	if (!e)
		return err_set(err, -EBADMSG, "not an event, or too large");
	int rc = read_watch_event(e, &a, &event, err);
	kubelet__watch_event__free_unpacked(e, &a);
	if (rc == 0)
		*ret = event;
	return rc;
}

/* ---- devices --------------------------------------------------------------------- */

static bool is_wanted(const char *resource, const struct conf_list *names)
{
	for (size_t i = 0; i < names->count; i++) {
		const char *name = names->items[i];
		size_t len = strlen(name);
		bool prefix = len && name[len - 1] == '-';
		if (prefix ? strncmp(resource, name, len) == 0
			   : strcmp(resource, name) == 0)
			return true;
	}
	return false;
}

static bool is_same_device(const struct record_device *a, const struct record_device *b)
{
	return strcmp(a->uuid, b->uuid) == 0 && strcmp(a->pci, b->pci) == 0 &&
	       strcmp(a->mig, b->mig) == 0;
}

/* Two replicas of one GPU are that GPU, and so are two containers' of one claim. */
static void add_device(struct pod_devices *d, const struct record_device *one)
{
	if (!one->uuid[0] && !one->pci[0])
		return;
	for (uint32_t i = 0; i < d->count; i++) {
		if (is_same_device(&d->devices[i], one))
			return;
	}
	if (d->count < RECORD_DEVICES_MAX)
		d->devices[d->count++] = *one;
}

/* GPUs that pods have by claims. */
struct claimed {
	struct claimed_gpu {
		const Kubelet__ClaimDevice *device;
		size_t pod;
	} gpus[CLAIMED_MAX];
	size_t count;
};

static void find_claimed(const Kubelet__Claim *claim, size_t pod,
			 const struct gpu_names *gpus, struct claimed *ret)
{
	for (size_t i = 0; i < claim->n_devices && ret->count < CLAIMED_MAX; i++) {
		const Kubelet__ClaimDevice *device = claim->devices[i];
		if (is_wanted(device->driver, gpus->drivers))
			ret->gpus[ret->count++] = (struct claimed_gpu){device, pod};
	}
}

/* Whether another pod has it, too: they share a claim, one has it to look at it only
 * (adminAccess), or each has a part. The list does not say which. */
static bool is_shared(const struct claimed *all, const struct claimed_gpu *g)
{
	for (size_t i = 0; i < all->count; i++) {
		const Kubelet__ClaimDevice *d = all->gpus[i].device;
		if (all->gpus[i].pod != g->pod &&
		    strcmp(d->device, g->device->device) == 0 &&
		    strcmp(d->pool, g->device->pool) == 0 &&
		    strcmp(d->driver, g->device->driver) == 0)
			return true;
	}
	return false;
}

static void add_claimed(struct pod_devices *d, size_t pod, const struct claimed *all,
			const struct gpu_names *gpus)
{
	struct record_device one;

	for (size_t i = 0; i < all->count; i++) {
		const struct claimed_gpu *g = &all->gpus[i];
		if (g->pod != pod)
			continue;
		slices_device(gpus->slices, g->device->driver, g->device->pool,
			      g->device->device, &one);
		one.share_permille = is_shared(all, g) ? 0 : 1000;
		add_device(d, &one);
	}
}

static void add_container(struct pod_devices *d, const Kubelet__ContainerResources *c,
			  const struct gpu_names *gpus)
{
	struct record_device one;

	for (size_t i = 0; i < c->n_devices; i++) {
		const Kubelet__Devices *list = c->devices[i];
		if (!is_wanted(list->resource, gpus->resources))
			continue;
		for (size_t k = 0; k < list->n_ids; k++) {
			device_name_of_plugin(list->ids[k], &one);
			add_device(d, &one);
		}
	}
}

static void find_all_claimed(const Kubelet__PodList *list, const struct gpu_names *gpus,
			     struct claimed *ret)
{
	for (size_t p = 0; p < list->n_pods; p++) {
		const Kubelet__PodResources *pod = list->pods[p];
		for (size_t k = 0; k < pod->n_containers; k++) {
			const Kubelet__ContainerResources *c = pod->containers[k];
			for (size_t i = 0; i < c->n_claims; i++)
				find_claimed(c->claims[i], p, gpus, ret);
		}
	}
}

int pod_proto_devices(const unsigned char *data, size_t len,
		      const struct gpu_names *gpus,
		      void (*see)(void *arg, const struct pod_devices *d), void *arg,
		      struct err *err)
{
	struct budget budget;
	ProtobufCAllocator a = bounded_allocator(&budget);
	struct claimed claimed = {.count = 0};
	Kubelet__PodList *list = len <= DEVICES_PROTO_MAX
					 ? kubelet__pod_list__unpack(&a, len, data)
					 : NULL;

	if (!list)
		return err_set(err, -EBADMSG, "not a list of pods, or too large");
	find_all_claimed(list, gpus, &claimed);
	for (size_t i = 0; i < list->n_pods; i++) {
		const Kubelet__PodResources *pod = list->pods[i];
		struct pod_devices d = {.namespace = pod->namespace_,
					.name = pod->name};
		for (size_t k = 0; k < pod->n_containers; k++)
			add_container(&d, pod->containers[k], gpus);
		add_claimed(&d, i, &claimed, gpus);
		if (d.count)
			see(arg, &d);
	}
	kubelet__pod_list__free_unpacked(list, &a);
	return 0;
}

/* ---- containers of the runtime --------------------------------------------------- */

static const char *label_of(const Kubelet__RuntimeContainer *c, const char *key)
{
	const char *s = find_note(c->labels, c->n_labels, key);

	return s ? s : "";
}

#define LABEL_UID "io.kubernetes.pod.uid" /* kubelet/types/labels.go */

static int compare_by_pod(const void *a, const void *b)
{
	const Kubelet__RuntimeContainer *const *left = a, *const *right = b;

	return strcmp(label_of(*left, LABEL_UID), label_of(*right, LABEL_UID));
}

/* The names of the pod of this container. False: it is of none. */
static bool name_pod(const Kubelet__RuntimeContainer *c, struct pod_info *ret)
{
	*ret = (struct pod_info){.failed = false};
	return copy_member(ret->uid, sizeof(ret->uid), label_of(c, LABEL_UID)) &&
	       copy_member(ret->namespace, sizeof(ret->namespace),
			   label_of(c, "io.kubernetes.pod.namespace")) &&
	       copy_member(ret->name, sizeof(ret->name),
			   label_of(c, "io.kubernetes.pod.name"));
}

static void name_container(const Kubelet__RuntimeContainer *c, struct pod_info *ret)
{
	char url[CGROUP_CONTAINER_ID_SIZE + 8];
	int n = snprintf(url, sizeof(url), "cri://%s", c->id);

	if (n > 0 && (size_t)n < sizeof(url) && c->metadata)
		pod_info_add_container(ret, c->metadata->name, url, NULL);
}

int pod_proto_containers(const unsigned char *data, size_t len,
			 void (*see)(void *arg, const struct pod_info *info), void *arg,
			 struct err *err)
{
	struct budget budget;
	ProtobufCAllocator a = bounded_allocator(&budget);
	Kubelet__RuntimeList *list =
		len <= RUNTIME_PROTO_MAX ? kubelet__runtime_list__unpack(&a, len, data)
					 : NULL;
	struct pod_info pod = {.uid = ""};

	if (!list)
		return err_set(err, -EBADMSG, "not a list of containers, or too large");
	if (list->n_containers)
		qsort(list->containers, list->n_containers, sizeof(*list->containers),
		      compare_by_pod);
	for (size_t i = 0; i < list->n_containers; i++) {
		const Kubelet__RuntimeContainer *c = list->containers[i];
		if (strcmp(pod.uid, label_of(c, LABEL_UID)) != 0) {
			if (pod.uid[0])
				see(arg, &pod);
			if (!name_pod(c, &pod))
				pod.uid[0] = '\0';
		}
		if (pod.uid[0])
			name_container(c, &pod);
	}
	if (pod.uid[0])
		see(arg, &pod);
	kubelet__runtime_list__free_unpacked(list, &a);
	return 0;
}
