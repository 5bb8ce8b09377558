/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "contrib/k8s/api_watch.h"
#include "contrib/k8s/kubelet.h"
#include "contrib/k8s/pod_json.h"
#include "contrib/k8s/pod_tree.h"
#include "contrib/k8s/slices.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/notify.h"
#include "lib/service.h"
#include "lib/signals.h"

#define TICK_MS 1000u
#define API_AFTER_NS (3 * NSEC_PER_SEC) /* kubelet is asked first */
#define API_SOURCE 1u
#define HOST_SIZE 256

struct watch {
	const struct options *options;
	/* the loop's thread and that of the API server, one at a time */
	pthread_mutex_t mutex;
	struct pods *pods;
	struct slices *slices;
	struct pod_tree *tree;
	struct loop *loop;
	struct loop_watch tree_watch, signal_watch;
	int signalfd;
	atomic_bool stop;
	struct loop_hook tick;
	struct kubelet *kubelet;
	struct kubeconfig kubeconfig;
	bool api_tried;
	int api_rc; /* of reading it */
	struct err api_err;
	struct api_watch *pod_watch, *slice_watch;
	bool pods_tried, slices_tried;
	uint64_t began_ns, tick_ns, refresh_ns; /* the latter: when they are due */
	uint64_t starts; /* of pods, when devices were asked for */
	bool listed, said;
};

static void end_watch(struct watch *w)
{
	api_watch_stop(w->pod_watch);
	api_watch_stop(w->slice_watch);
	kubeconfig_done(&w->kubeconfig);
	kubelet_free(w->kubelet);
	pod_tree_free(w->tree);
	pods_free(w->pods);
	slices_free(w->slices);
	loop_free(w->loop);
	if (w->signalfd >= 0)
		close(w->signalfd);
}

static int begin_watch(struct watch *w, const struct options *o,
		       const struct pods_place *place, struct err *err)
{
	*w = (struct watch){.options = o,
			    .signalfd = -1,
			    .mutex = PTHREAD_MUTEX_INITIALIZER,
			    .pods = pods_new(place),
			    .slices = slices_new(),
			    .began_ns = clock_boottime_ns()};
	if (!w->pods || !w->slices)
		return err_set(err, -ENOMEM, "out of memory");
	return pod_tree_new(place, o->cgroup_root, w->pods, &w->tree, err);
}

int watch_list(const struct options *o, const struct pods_place *place, struct err *err)
{
	struct watch w;
	int rc = begin_watch(&w, o, place, err);

	if (rc == 0 && !pod_tree_look(w.tree, true, true))
		rc = err_set(err, -ENODEV, "no control group of kubelet below %s",
			     o->path_cgroupfs);
	end_watch(&w);
	return rc;
}

/* ---- the API server -------------------------------------------------------------- */

static void begin_pod_list(void *arg)
{
	struct watch *w = arg;

	pthread_mutex_lock(&w->mutex);
	pods_list_infos_begin(w->pods, API_SOURCE);
	pthread_mutex_unlock(&w->mutex);
}

static int take_pod_event(void *arg, const struct api_event *e, struct err *err)
{
	struct watch *w = arg;
	struct pod_info info;
	int rc = pod_json_read(e->object, &info, err);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&w->mutex);
	if (e->type == API_EVENT_CHANGED)
		pods_see_info(w->pods, API_SOURCE, &info);
	else
		pods_drop_info(w->pods, API_SOURCE, info.uid);
	pthread_mutex_unlock(&w->mutex);
	return 0;
}

static void end_pod_list(void *arg)
{
	struct watch *w = arg;

	pthread_mutex_lock(&w->mutex);
	pods_list_infos_end(w->pods, API_SOURCE);
	pthread_mutex_unlock(&w->mutex);
}

static void begin_slice_list(void *arg)
{
	struct watch *w = arg;

	pthread_mutex_lock(&w->mutex);
	slices_list_begin(w->slices);
	pthread_mutex_unlock(&w->mutex);
}

static int take_slice_event(void *arg, const struct api_event *e, struct err *err)
{
	struct watch *w = arg;

	pthread_mutex_lock(&w->mutex);
	int rc = e->type == API_EVENT_CHANGED ? slices_see(w->slices, e->object, err)
					      : slices_drop(w->slices, e->object, err);
	pthread_mutex_unlock(&w->mutex);
	return rc;
}

static void end_slice_list(void *arg)
{
	struct watch *w = arg;

	pthread_mutex_lock(&w->mutex);
	slices_list_end(w->slices);
	pthread_mutex_unlock(&w->mutex);
}

static const char *find_node_name(const struct options *o, char *host, size_t size)
{
	const char *name = getenv("NODE_NAME");

	if (*o->node_name)
		return o->node_name;
	if (name && *name)
		return name;
	if (gethostname(host, size) < 0)
		host[0] = '\0';
	host[size - 1] = '\0';
	return host;
}

static int find_api(struct watch *w, struct err *err)
{
	if (!w->api_tried)
		w->api_rc = kubeconfig_read(w->options->kubeconfig, &w->kubeconfig,
					    &w->api_err);
	w->api_tried = true;
	*err = w->api_err;
	return w->api_rc;
}

static void start_api_watch(struct watch *w, const struct api_kind *kind,
			    const struct api_sink *sink, struct api_watch **ret)
{
	const struct options *o = w->options;
	char host[HOST_SIZE];
	struct err err = {""};
	int rc = find_api(w, &err);

	if (rc == 0)
		rc = api_watch_start(&w->kubeconfig, kind,
				     find_node_name(o, host, sizeof(host)), sink, ret,
				     &err);
	if (rc == -ENOENT && o->api == API_AUTO && !*o->kubeconfig)
		log_info("there is no API server to ask: %s", kind->without);
	else if (rc < 0)
		log_warn("API server: %s: %s", err.text, kind->without);
}

static void start_pod_watch(struct watch *w)
{
	static const struct api_kind pods = {
		.path = "/api/v1/pods",
		.name = "pods",
		.without = "names and requests of new pods are not known",
		.refused_ms = 30000,
	};
	const struct api_sink sink = {.begin = begin_pod_list,
				      .event = take_pod_event,
				      .whole = end_pod_list,
				      .arg = w};

	w->pods_tried = true;
	start_api_watch(w, &pods, &sink, &w->pod_watch);
}

static void start_slice_watch(struct watch *w)
{
	static const struct api_kind slices = {
		.path = "/apis/resource.k8s.io/v1/resourceslices",
		.name = "resourceslices",
		.without = "devices of dynamic resource allocation have the names of "
			   "their drivers and pools instead of UUIDs",
		.refused_ms = 300000,
	};
	const struct api_sink sink = {.begin = begin_slice_list,
				      .event = take_slice_event,
				      .whole = end_slice_list,
				      .arg = w};

	w->slices_tried = true;
	start_api_watch(w, &slices, &sink, &w->slice_watch);
}

static void look_at_api(struct watch *w, uint64_t now_ns)
{
	int api = w->options->api;

	if (api == API_OFF || now_ns - w->began_ns < API_AFTER_NS)
		return;
	if (!w->pods_tried && (api == API_ON || !kubelet_tells_pods(w->kubelet)))
		start_pod_watch(w);
	pthread_mutex_lock(&w->mutex);
	bool asked = slices_are_asked(w->slices);
	pthread_mutex_unlock(&w->mutex);
	if (asked && !w->slices_tried)
		start_slice_watch(w);
}

/* ---- the loop -------------------------------------------------------------------- */

static void read_tree(struct loop_watch *lw, uint32_t events)
{
	struct watch *w = (void *)((char *)lw - offsetof(struct watch, tree_watch));

	(void)events;
	pthread_mutex_lock(&w->mutex);
	pod_tree_read(w->tree);
	pthread_mutex_unlock(&w->mutex);
}

static void take_signal(struct loop_watch *lw, uint32_t events)
{
	struct watch *w = (void *)((char *)lw - offsetof(struct watch, signal_watch));
	int signo = service_take_signal(w->signalfd);

	(void)events;
	if (signo && signo != SIGHUP) /* there is nothing to reload */
		atomic_store(&w->stop, true);
}

/* What runs before the first folder is found has perhaps run for long. */
static void look_at_tree(struct watch *w, bool refresh)
{
	struct pods_stats s;
	bool first = !w->listed;
	unsigned folders = pod_tree_look(w->tree, refresh, first);

	w->listed = true;
	if (!first && !folders == w->said)
		return;
	w->said = !folders;
	pods_stats(w->pods, &s);
	if (folders)
		log_info("kubelet's control groups are there: %u pods run", s.running);
	else
		log_info("no control group of kubelet below %s yet: waiting",
			 w->options->path_cgroupfs);
}

static int run_tick(struct loop_hook *h)
{
	struct watch *w = (void *)((char *)h - offsetof(struct watch, tick));
	uint64_t now_ns = clock_boottime_ns();
	bool refresh = now_ns >= w->refresh_ns;

	if (now_ns >= w->tick_ns || refresh) {
		pthread_mutex_lock(&w->mutex);
		look_at_tree(w, refresh);
		bool more = pods_starts(w->pods) != w->starts;
		w->starts = pods_starts(w->pods);
		kubelet_tick(w->kubelet, refresh || more);
		if (refresh)
			pods_refresh(w->pods);
		pthread_mutex_unlock(&w->mutex);
		look_at_api(w, now_ns);
		w->tick_ns = now_ns + TICK_MS * NSEC_PER_MSEC;
	}
	if (refresh)
		w->refresh_ns = now_ns + w->options->refresh_ms * NSEC_PER_MSEC;
	uint64_t due_ns = w->tick_ns < w->refresh_ns ? w->tick_ns : w->refresh_ns;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / NSEC_PER_MSEC) + 1 : 1;
}

static int begin_loop(struct watch *w, struct err *err)
{
	int rc = loop_new(&w->loop, err);

	if (rc < 0)
		return rc;
	w->kubelet = kubelet_new(w->loop, w->options, w->pods, w->slices, &w->mutex);
	if (!w->kubelet)
		return err_set(err, -ENOMEM, "out of memory");
	w->signal_watch.ready = take_signal;
	w->tree_watch.ready = read_tree;
	w->tick.run = run_tick;
	loop_add_hook(w->loop, &w->tick);
	rc = loop_watch(w->loop, pod_tree_fd(w->tree), EPOLLIN, &w->tree_watch);
	if (rc == 0)
		rc = loop_watch(w->loop, w->signalfd, EPOLLIN, &w->signal_watch);
	return rc < 0 ? err_set(err, rc, "epoll: control groups and signals") : 0;
}

int watch_run(const struct options *o, const struct pods_place *place, struct err *err)
{
	struct watch w;
	int rc = begin_watch(&w, o, place, err);

	if (rc == 0)
		rc = signals_open(&w.signalfd, err); /* before threads */
	if (rc == 0)
		rc = begin_loop(&w, err);
	if (rc == 0) {
		(void)run_tick(&w.tick);
		(void)notify_send("READY=1");
		log_info("ready");
		loop_run(w.loop, &w.stop);
		(void)notify_send("STOPPING=1");
	}
	end_watch(&w);
	return rc;
}
