/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/gpus/pod_gpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

void pod_gpus_done(struct pod_gpus *p)
{
	free(p->waiting);
	*p = (struct pod_gpus){.waiting = NULL};
}

static void say_pod_gpus(struct pod_gpus *p, const struct env *env,
			 const struct record *r, const struct err *err)
{
	if (log_repeat_due(&p->unknown, env->boottime_ns()))
		log_warn("pod %s%s%s: %s: it is not exported, nor is its energy "
			 "charged",
			 r->unit, *r->name ? " " : "", r->name, err_text(err));
}

static bool is_same_run(const struct record *a, const struct record *b)
{
	return strcmp(a->unit, b->unit) == 0 && a->restarts == b->restarts &&
	       a->step == b->step;
}

/* The place of a record of the same pod, or a free one; NULL: there is none. */
static struct pod_gpus_waiting *waiting_place(struct pod_gpus *p,
					      const struct record *r)
{
	struct pod_gpus_waiting *place = NULL;

	if (!p->waiting)
		p->waiting = calloc(POD_GPUS_WAITING, sizeof(*p->waiting));
	for (size_t i = 0; p->waiting && i < POD_GPUS_WAITING; i++) {
		struct pod_gpus_waiting *w = &p->waiting[i];
		if (w->until_ns && is_same_run(&w->r, r))
			return w;
		if (!w->until_ns)
			place = w;
	}
	return place;
}

void pod_gpus_take(struct pod_gpus *p, const struct env *env, struct record *r)
{
	struct err err = {""};

	if (r->manager != MANAGER_K8S || !r->device_count)
		return;
	int n = driver_gpus_take(env->driver_gpus, r, &err);
	struct pod_gpus_waiting *w = n == -EAGAIN && r->type == RECORD_STEP_START
					     ? waiting_place(p, r)
					     : NULL;
	if (w) {
		w->until_ns = env->boottime_ns() + POD_GPUS_WAIT_NS;
		w->r = *r;
	} else if (n < 0 || *err.text) {
		say_pod_gpus(p, env, r, &err);
	}
}

/* A pod that has ended meanwhile is not told of again: it would run once more. */
static bool still_runs(struct units *u, const struct record *r)
{
	uint32_t unit = units_find(u, r->manager, r->node, r->unit, r->restarts);
	uint32_t step = unit == UNITS_NONE ? UNITS_NONE : steps_find(u, unit, r->step);

	return step != UNITS_NONE && steps_get(u, step)->state == UNIT_RUNNING;
}

void pod_gpus_again(struct pod_gpus *p, const struct env *env, struct units *u)
{
	uint64_t now_ns = env->boottime_ns();

	if (!p->waiting || now_ns < p->next_ns)
		return;
	p->next_ns = now_ns + NSEC_PER_SEC;
	for (size_t i = 0; i < POD_GPUS_WAITING; i++) {
		struct pod_gpus_waiting *w = &p->waiting[i];
		struct err err = {""};
		if (!w->until_ns)
			continue;
		if (!still_runs(u, &w->r)) {
			w->until_ns = 0;
			continue;
		}
		int n = driver_gpus_take(env->driver_gpus, &w->r, &err);
		if (n == -EAGAIN && now_ns < w->until_ns)
			continue;
		w->until_ns = 0;
		if (n > 0)
			n = units_apply(u, &w->r, UINT64_MAX, now_ns,
					env->realtime_ns(), &err);
		if (n < 0 || *err.text)
			say_pod_gpus(p, env, &w->r, &err);
	}
}
