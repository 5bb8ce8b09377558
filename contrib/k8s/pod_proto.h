/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_POD_PROTO_H
#define CEEMS_CONTRIB_K8S_POD_PROTO_H

#include <stddef.h>

#include "contrib/k8s/api_json.h"
#include "contrib/k8s/pods.h"
#include "contrib/k8s/slices.h"
#include "lib/conf/conf.h"

/* Messages of kubelet's two sockets and of the container runtime's, as kubelet.proto
 * has them. Any bytes: what they become in memory is bounded, too. */

#define POD_PROTO_MAX ((size_t)4 << 20)      /* one pod */
#define DEVICES_PROTO_MAX ((size_t)16 << 20) /* all pods' devices */

struct pod_event {
	enum api_event_type type; /* never ERROR */
	struct pod_info info;     /* CHANGED, DELETED */
};
/* An event of WatchPods. BOOKMARK: all that there are have come. -EBADMSG: it is none,
 * or too large. */
int pod_proto_event(const unsigned char *data, size_t len, struct pod_event *ret,
		    struct err *err);

/* Which devices are GPUs. */
struct gpu_names {
	/* resources of device plugins, "nvidia.com/gpu"; "nvidia.com/mig-": a name that
	 * ends so begins with it */
	const struct conf_list *resources;
	const struct conf_list *drivers; /* of dynamic resource allocation */
	struct slices *slices;           /* what these give */
};

struct pod_devices {
	const char *namespace, *name; /* borrowed */
	struct record_device devices[RECORD_DEVICES_MAX];
	uint32_t count;
};

/* An answer of pod-resources' List. Calls see() for each pod that has GPUs. */
int pod_proto_devices(const unsigned char *data, size_t len,
		      const struct gpu_names *gpus,
		      void (*see)(void *arg, const struct pod_devices *d), void *arg,
		      struct err *err);

/* An answer of CRI's ListContainers. Calls see() for each pod, with its names and those
 * of its containers, and nothing else that a pod has. */
#define RUNTIME_PROTO_MAX ((size_t)16 << 20) /* all containers */
int pod_proto_containers(const unsigned char *data, size_t len,
			 void (*see)(void *arg, const struct pod_info *info), void *arg,
			 struct err *err);

#endif
