/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregator/kubernetes/kube_picks.h"

#include <string.h>

#define PICK(name_, ...)                                                               \
	(struct http_json_pick)                                                        \
	{                                                                              \
		.name = (name_), __VA_ARGS__                                           \
	}

static struct http_json_pick *add_picks(struct http_json_pick *to,
					const char *const *names, size_t count)
{
	for (size_t i = 0; i < count && i < KUBE_NAMES_MAX; i++)
		*to++ = PICK(names[i]);
	return to;
}

void kube_picks_init(struct kube_picks *p, const struct kube *k)
{
	static const char *const mirror[] = {"kubernetes.io/config.mirror",
					     "kubernetes.io/config.hash"};
	static const char *const usual[] = {"cpu", "memory", "nvidia.com/gpu",
					    "amd.com/gpu"};
	static const struct http_json_pick ended[] = {{.name = "finishedAt"}, {}};
	static const struct http_json_pick state[] = {
		{.name = "terminated", .inner = ended}, {}};
	struct http_json_pick *to;

	memset(p, 0, sizeof(*p));
	to = add_picks(p->notes, mirror, 2);
	to = add_picks(to, k->owner_annotations, k->owner_annotation_count);
	(void)add_picks(to, k->project_annotations, k->project_annotation_count);
	to = add_picks(p->amounts, usual, 4);
	(void)add_picks(to, k->gpu_names, k->gpu_count);
	p->resources[0] = PICK("requests", .inner = p->amounts);
	p->resources[1] = PICK("limits", .inner = p->amounts);
	p->container[0] = PICK("name");
	p->container[1] = PICK("restartPolicy");
	p->container[2] = PICK("resources", .inner = p->resources);
	p->state[0] = PICK("name");
	p->state[1] = PICK("resources", .inner = p->resources);
	p->state[2] = PICK("state", .inner = state);
	p->metadata[0] = PICK("uid");
	p->metadata[1] = PICK("namespace");
	p->metadata[2] = PICK("name");
	p->metadata[3] = PICK("creationTimestamp");
	p->metadata[4] = PICK("resourceVersion");
	p->metadata[5] = PICK("annotations", .inner = p->notes);
	p->spec[0] = PICK("containers", .inner = p->container,
			  .items_max = KUBE_CONTAINERS_MAX);
	p->spec[1] = PICK("initContainers", .inner = p->container,
			  .items_max = KUBE_CONTAINERS_MAX);
	p->spec[2] = PICK("overhead", .inner = p->amounts);
	p->spec[3] = PICK("resources", .inner = p->resources);
	p->status[0] = PICK("phase");
	p->status[1] = PICK("qosClass");
	p->status[2] = PICK("startTime");
	p->status[3] = PICK("containerStatuses", .inner = p->state,
			    .items_max = KUBE_CONTAINERS_MAX);
	p->status[4] = PICK("initContainerStatuses", .inner = p->state,
			    .items_max = KUBE_CONTAINERS_MAX);
	p->pod[0] = PICK("metadata", .inner = p->metadata);
	p->pod[1] = PICK("spec", .inner = p->spec);
	p->pod[2] = PICK("status", .inner = p->status);
	p->pod[3] = PICK("code");
	p->event[0] = PICK("type");
	p->event[1] = PICK("object", .inner = p->pod);
}
