/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/kubelet.h"

#include <errno.h>
#include <stdlib.h>

#include "contrib/k8s/grpc_unix.h"
#include "contrib/k8s/pod_proto.h"
#include "lib/clock.h"
#include "lib/log.h"

#define RETRY_NS (10 * NSEC_PER_SEC)
#define RUNTIME_SOURCE 2u
#define HANG_NS (20 * NSEC_PER_SEC) /* of a list: kubelet answers in milliseconds */

/* in messages */
#define PODS_API "kubelet: Pods API"
#define POD_RESOURCES "kubelet: pod-resources"
#define RUNTIME "container runtime"

struct kubelet_call {
	struct grpc_unix *grpc; /* NULL: not now */
	uint64_t since_ns;      /* when it was made, or failed */
	bool answered;          /* the first message has come */
	bool may_be_absent;     /* it is asked without having been asked for */
	struct log_repeat log;
};

struct kubelet {
	struct loop *loop;
	const struct options *options;
	struct pods *pods;
	struct slices *slices;
	pthread_mutex_t *mutex;
	struct kubelet_call watch, list, runtime;
	bool listing; /* all pods come: not whole yet */
	struct log_repeat bad_log;
};

struct kubelet *kubelet_new(struct loop *l, const struct options *o, struct pods *p,
			    struct slices *slices, pthread_mutex_t *mutex)
{
	struct kubelet *k = calloc(1, sizeof(*k));

	if (k)
		*k = (struct kubelet){.loop = l,
				      .options = o,
				      .pods = p,
				      .slices = slices,
				      .watch = {.may_be_absent = true},
				      .list = {.may_be_absent = true},
				      .mutex = mutex};
	return k;
}

void kubelet_free(struct kubelet *k)
{
	if (!k)
		return;
	grpc_unix_free(k->watch.grpc);
	grpc_unix_free(k->list.grpc);
	grpc_unix_free(k->runtime.grpc);
	free(k);
}

bool kubelet_tells_pods(const struct kubelet *k)
{
	return k->watch.grpc && k->watch.answered;
}

static void say_bad_message(struct kubelet *k, const char *what, const struct err *err)
{
	if (log_repeat_due(&k->bad_log, clock_boottime_ns()))
		log_warn("%s: %s: left out", what, err->text);
}

/* An older kubelet does not have the Pods API: that is not a fault. */
static void say_end(struct kubelet_call *c, const char *what, int status,
		    const struct err *err)
{
	bool absent = status == -ENOENT || status == GRPC_UNIMPLEMENTED;

	if (absent && c->may_be_absent)
		log_debug("%s: it is not here", what);
	else if (log_repeat_due(&c->log, clock_boottime_ns()))
		log_info("%s: %s (status %d): asked again", what,
			 status < 0 ? err->text : "it ended the call", status);
}

static void note_answer(struct kubelet_call *c, const char *what)
{
	c->answered = true;
	if (log_repeat_over(&c->log))
		log_info("%s: answers again", what);
}

static bool is_due(const struct kubelet_call *c)
{
	return !c->grpc &&
	       (!c->since_ns || clock_boottime_ns() - c->since_ns >= RETRY_NS);
}

static void begin_call(struct kubelet *k, struct kubelet_call *c, const char *what,
		       const struct grpc_call *call)
{
	struct err err = {""};

	c->since_ns = clock_boottime_ns();
	c->answered = false;
	int rc = grpc_unix_start(k->loop, call, &c->grpc, &err);
	if (rc < 0)
		say_end(c, what, rc, &err);
}

static void end_call(struct kubelet_call *c, const char *what, int status,
		     const struct err *err)
{
	c->grpc = NULL;
	c->since_ns = clock_boottime_ns();
	if (status != GRPC_OK)
		say_end(c, what, status, err);
}

/* One that does not answer, or whose list does not end */
static void give_up_call(struct kubelet_call *c, const char *what, bool whole)
{
	if (!c->grpc || whole || clock_boottime_ns() - c->since_ns < HANG_NS)
		return;
	grpc_unix_free(c->grpc);
	struct err err;
	(void)err_set(&err, -ETIMEDOUT, "no answer for %llu s",
		      (unsigned long long)(HANG_NS / NSEC_PER_SEC));
	end_call(c, what, -ETIMEDOUT, &err);
}

/* ---- which pods there are -------------------------------------------------------- */

static bool take_watch_message(void *arg, const unsigned char *data, size_t len)
{
	struct kubelet *k = arg;
	struct pod_event e;
	struct err err = {""};

	if (!k->watch.answered) {
		(void)log_repeat_over(&k->watch.log);
		log_info("kubelet tells of its pods");
	}
	k->watch.answered = true;
	if (pod_proto_event(data, len, &e, &err) < 0) {
		say_bad_message(k, PODS_API, &err);
		return true;
	}
	pthread_mutex_lock(k->mutex);
	if (e.type == API_EVENT_CHANGED)
		pods_see_info(k->pods, 0, &e.info);
	else if (e.type == API_EVENT_DELETED)
		pods_drop_info(k->pods, 0, e.info.uid);
	else if (k->listing)
		pods_list_infos_end(k->pods, 0);
	pthread_mutex_unlock(k->mutex);
	k->listing &= e.type != API_EVENT_BOOKMARK;
	return true;
}

static void end_watch_call(void *arg, int status, const struct err *err)
{
	struct kubelet *k = arg;

	end_call(&k->watch, PODS_API, status, err);
}

static void begin_watch_call(struct kubelet *k)
{
	const struct grpc_call call = {
		.socket = k->options->pods_socket,
		.method = "/v1alpha1.Pods/WatchPods",
		.message_max = POD_PROTO_MAX,
		.message = take_watch_message,
		.end = end_watch_call,
		.arg = k,
	};

	pods_list_infos_begin(k->pods, 0);
	k->listing = true;
	begin_call(k, &k->watch, PODS_API, &call);
}

/* ---- which devices they have ----------------------------------------------------- */

static void see_pod_devices(void *arg, const struct pod_devices *d)
{
	struct kubelet *k = arg;

	pods_see_devices(k->pods, d->namespace, d->name, d->devices, d->count);
}

static bool take_device_list(void *arg, const unsigned char *data, size_t len)
{
	struct kubelet *k = arg;
	const struct gpu_names gpus = {.resources = &k->options->gpu_resources,
				       .drivers = &k->options->gpu_drivers,
				       .slices = k->slices};
	struct err err = {""};

	note_answer(&k->list, POD_RESOURCES);
	pthread_mutex_lock(k->mutex);
	pods_list_devices_begin(k->pods);
	if (pod_proto_devices(data, len, &gpus, see_pod_devices, k, &err) < 0)
		say_bad_message(k, POD_RESOURCES, &err);
	else
		pods_list_devices_end(k->pods);
	pthread_mutex_unlock(k->mutex);
	return true;
}

static void end_device_call(void *arg, int status, const struct err *err)
{
	struct kubelet *k = arg;

	end_call(&k->list, POD_RESOURCES, status, err);
	if (status == GRPC_OK)
		k->list.since_ns = 0; /* at the next refresh */
}

static void begin_device_call(struct kubelet *k)
{
	const struct grpc_call call = {
		.socket = k->options->resources_socket,
		.method = "/v1.PodResourcesLister/List",
		.message_max = DEVICES_PROTO_MAX,
		.message = take_device_list,
		.end = end_device_call,
		.arg = k,
	};

	begin_call(k, &k->list, POD_RESOURCES, &call);
}

/* ---- what the runtime calls its containers --------------------------------------- */

static void see_runtime_pod(void *arg, const struct pod_info *info)
{
	struct kubelet *k = arg;

	pods_see_names(k->pods, RUNTIME_SOURCE, info);
}

static bool take_container_list(void *arg, const unsigned char *data, size_t len)
{
	struct kubelet *k = arg;
	struct err err = {""};

	note_answer(&k->runtime, RUNTIME);
	pthread_mutex_lock(k->mutex);
	pods_list_infos_begin(k->pods, RUNTIME_SOURCE);
	if (pod_proto_containers(data, len, see_runtime_pod, k, &err) < 0)
		say_bad_message(k, RUNTIME, &err);
	else
		pods_list_infos_end(k->pods, RUNTIME_SOURCE);
	pthread_mutex_unlock(k->mutex);
	return true;
}

static void end_runtime_call(void *arg, int status, const struct err *err)
{
	struct kubelet *k = arg;

	end_call(&k->runtime, RUNTIME, status, err);
	if (status == GRPC_OK)
		k->runtime.since_ns = 0; /* when there is more */
}

static void begin_runtime_call(struct kubelet *k)
{
	const struct grpc_call call = {
		.socket = k->options->cri_socket,
		.method = "/runtime.v1.RuntimeService/ListContainers",
		.message_max = RUNTIME_PROTO_MAX,
		.message = take_container_list,
		.end = end_runtime_call,
		.arg = k,
	};

	begin_call(k, &k->runtime, RUNTIME, &call);
}

void kubelet_tick(struct kubelet *k, bool more)
{
	give_up_call(&k->watch, PODS_API, !k->listing);
	give_up_call(&k->list, POD_RESOURCES, false);
	give_up_call(&k->runtime, RUNTIME, false);
	if (*k->options->pods_socket && is_due(&k->watch))
		begin_watch_call(k);
	if (more && *k->options->resources_socket && is_due(&k->list))
		begin_device_call(k);
	if (more && *k->options->cri_socket && is_due(&k->runtime))
		begin_runtime_call(k);
}
