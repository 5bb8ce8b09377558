/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/ticker/gpu_weights.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/energy.h"
#include "daemon/gpus/gpus.h"
#include "daemon/sources/child_link.h"
#include "daemon/sources/meters.h"

/* Below this mean use of a whole device its counters' noise would divide its energy. */
#define LEAST_USE_PPM (ENERGY_ONE_PPM / 100)

struct instance_weight {
	uint32_t gi;
	struct gpu_weight weight;
};

struct compute_weight {
	uint32_t gi, ci, slices; /* slices 0: unknown */
};

struct device_weights {
	uint32_t count, compute_count;
	struct instance_weight instance[CHILD_GPU_INSTANCES_MAX];
	struct compute_weight compute[CHILD_GPU_INSTANCES_MAX];
};

struct gpu_weights {
	const struct env *env;
	struct device_weights device[METERS_GPUS];
	union {
		struct child_gpu_instances m;
		char bytes[sizeof(struct child_gpu_instances) +
			   CHILD_GPU_INSTANCES_MAX * sizeof(struct child_gpu_instance)];
	} in;
};

struct gpu_weights *gpu_weights_new(const struct env *env)
{
	struct gpu_weights *w = calloc(1, sizeof(*w));

	if (w)
		w->env = env;
	return w;
}

void gpu_weights_free(struct gpu_weights *w)
{
	free(w);
}

/* One place for each GPU instance; slices 0: how many it has is unknown. */
static uint32_t list_instances(const struct child_gpu_instances *m,
			       const struct child_gpu_instance **ret, uint32_t *slices)
{
	uint32_t n = 0;

	*slices = 0;
	for (uint32_t i = 0; i < m->head.count; i++) {
		if (n && ret[n - 1]->gi == m->items[i].gi)
			continue;
		ret[n++] = &m->items[i];
		*slices += m->items[i].slices;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!ret[i]->slices)
			*slices = 0;
	}
	return n;
}

static bool is_figure_known(const struct child_gpu_instance **list, uint32_t n,
			    enum child_gpu_figure figure, uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct child_gpu_profile *p = &list[i]->profile;
		if (!(p->have >> figure & 1) || now_ns > p->at_ns + CHILD_GPU_STALE_NS)
			return false;
	}
	return n > 0;
}

/* How busy its multiprocessors were between the last samples: a second, as the tick.
 * AMD's partitions tell of whole compute dies. */
static void weigh_use(struct device_weights *d, const struct child_gpu_instance **list,
		      uint32_t n, uint32_t slices, uint64_t now_ns)
{
	enum child_gpu_figure figure = CHILD_GPU_SM;
	uint64_t all_ppm = 0;

	if (!is_figure_known(list, n, figure, now_ns))
		figure = CHILD_GPU_GRAPHICS;
	if (!is_figure_known(list, n, figure, now_ns))
		return;
	for (uint32_t i = 0; i < n; i++)
		all_ppm += (uint64_t)list[i]->profile.ppm[figure] * list[i]->slices;
	if (all_ppm < (uint64_t)LEAST_USE_PPM * slices)
		return;
	for (uint32_t i = 0; i < n; i++)
		d->instance[i].weight.use_ppm =
			(uint32_t)((uint64_t)list[i]->profile.ppm[figure] *
				   list[i]->slices / slices);
}

static void weigh_device(struct gpu_weights *w, struct device_weights *d)
{
	const struct child_gpu_instances *m = &w->in.m;
	const struct child_gpu_instance *list[CHILD_GPU_INSTANCES_MAX];
	uint32_t slices;

	d->count = list_instances(m, list, &slices);
	uint32_t of = m->slices > slices ? m->slices : slices;
	for (uint32_t i = 0; i < d->count; i++) {
		uint64_t part = slices ? (uint64_t)ENERGY_ONE_PPM * list[i]->slices / of
				       : ENERGY_ONE_PPM / d->count;
		d->instance[i] = (struct instance_weight){
			list[i]->gi, {.share_ppm = (uint32_t)part}};
	}
	d->compute_count = m->head.count;
	for (uint32_t i = 0; i < m->head.count; i++)
		d->compute[i] = (struct compute_weight){m->items[i].gi, m->items[i].ci,
							m->items[i].ci_slices};
	if (slices)
		weigh_use(d, list, d->count, of, w->env->boottime_ns());
}

void gpu_weights_take(struct gpu_weights *w, uint32_t count)
{
	char name[CHILD_NAME_BYTES];

	for (uint32_t i = 0; i < count && i < METERS_GPUS; i++) {
		w->device[i].count = w->device[i].compute_count = 0;
		(void)snprintf(name, sizeof(name), "gpu%u", i);
		if (w->env->gpu && child_link_get(w->env->gpu, CHILD_GPU_INSTANCES,
						  name, &w->in, sizeof(w->in)) > 0)
			weigh_device(w, &w->device[i]);
	}
}

/* Which part of its GPU instance a compute instance is. false: there is no such one. */
static bool divide_instance(const struct device_weights *d, uint32_t gi, uint32_t ci,
			    struct gpu_weight *w)
{
	uint64_t own = 0, all = 0;
	uint32_t count = 0;
	bool is_there = false, is_known = true;

	for (uint32_t i = 0; i < d->compute_count; i++) {
		const struct compute_weight *c = &d->compute[i];
		if (c->gi != gi)
			continue;
		count++;
		all += c->slices;
		is_known &= c->slices > 0;
		if (c->ci != ci)
			continue;
		own = c->slices;
		is_there = true;
	}
	if (!is_there)
		return false;
	if (!is_known) {
		own = 1;
		all = count;
	}
	w->is_part = count > 1;
	w->share_ppm = (uint32_t)(w->share_ppm * own / all);
	w->use_ppm = (uint32_t)(w->use_ppm * own / all);
	return true;
}

bool gpu_weights_of(const struct gpu_weights *w, uint32_t device, uint32_t instance,
		    uint32_t compute, struct gpu_weight *ret)
{
	if (!w || device >= METERS_GPUS)
		return false;
	const struct device_weights *d = &w->device[device];
	for (uint32_t i = 0; i < d->count; i++) {
		struct gpu_weight own = d->instance[i].weight;
		if (d->instance[i].gi != instance)
			continue;
		if (compute != GPUS_NONE &&
		    !divide_instance(d, instance, compute, &own))
			return false;
		*ret = own;
		return true;
	}
	return false;
}
