/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/watch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "contrib/k8s/pod_tree.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/notify.h"

#define TICK_MS 1000u

struct watch {
	const struct options *options;
	struct pods *pods;
	struct pod_tree *tree;
	struct loop *loop;
	struct loop_watch tree_watch;
	struct loop_hook tick;
	uint64_t tick_ns, refresh_ns; /* when they are due */
	bool listed, said;
};

static void end_watch(struct watch *w)
{
	pod_tree_free(w->tree);
	pods_free(w->pods);
	loop_free(w->loop);
}

static int begin_watch(struct watch *w, const struct options *o,
		       const struct pods_place *place, struct err *err)
{
	*w = (struct watch){.options = o, .pods = pods_new(place)};
	if (!w->pods)
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

static void read_tree(struct loop_watch *lw, uint32_t events)
{
	struct watch *w = (void *)((char *)lw - offsetof(struct watch, tree_watch));

	(void)events;
	pod_tree_read(w->tree);
}

/* What runs before the first folder is found has perhaps run for long. */
static void look_at_tree(struct watch *w, bool refresh)
{
	struct pods_stats s;
	unsigned folders = pod_tree_look(w->tree, refresh, !w->listed);

	w->listed = true;
	if (!folders == w->said)
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
		look_at_tree(w, refresh);
		w->tick_ns = now_ns + TICK_MS * NSEC_PER_MSEC;
	}
	if (refresh) {
		pods_refresh(w->pods);
		w->refresh_ns = now_ns + w->options->refresh_ms * NSEC_PER_MSEC;
	}
	uint64_t due_ns = w->tick_ns < w->refresh_ns ? w->tick_ns : w->refresh_ns;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / NSEC_PER_MSEC) + 1 : 1;
}

int watch_run(const struct options *o, const struct pods_place *place, struct err *err)
{
	atomic_bool stop = false;
	struct watch w;
	int rc = begin_watch(&w, o, place, err);

	if (rc == 0)
		rc = loop_new(&w.loop, err);
	if (rc == 0) {
		w.tree_watch.ready = read_tree;
		w.tick.run = run_tick;
		loop_add_hook(w.loop, &w.tick);
		rc = loop_watch(w.loop, pod_tree_fd(w.tree), EPOLLIN, &w.tree_watch);
		if (rc < 0)
			(void)err_set(err, rc, "epoll: control groups");
	}
	if (rc == 0) {
		(void)run_tick(&w.tick);
		(void)notify_send("READY=1");
		log_info("ready");
		loop_run(w.loop, &stop);
	}
	end_watch(&w);
	return rc;
}
