/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/ticker/gpu_readings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sources/child_link.h"
#include "daemon/sources/meters.h"
#include "lib/clock.h"

#define SILENT_NS                                                                      \
	(5 * NSEC_PER_SEC) /* a device that says nothing new is not waited for */

/* The GPU instances of a divided device */
struct instance_readings {
	uint32_t count;
	uint32_t number[CHILD_GPU_INSTANCES_MAX];
	struct gpu_reading last[CHILD_GPU_INSTANCES_MAX];
};

struct gpu_readings {
	const struct env *env;
	uint32_t count;
	struct energy_history histories[METERS_GPUS];
	struct gpu_reading last[METERS_GPUS];
	struct energy_point points[METERS_GPUS][CHILD_GPU_POINTS_MAX];
	struct instance_readings *instances[METERS_GPUS]; /* NULL: never divided */
	union {
		struct child_gpu gpu;
		struct child_gpu_processes processes;
		struct child_gpu_instances instances;
		char bytes[CHILD_MESSAGE_MAX];
	} in;
};

struct gpu_readings *gpu_readings_new(const struct env *env)
{
	struct gpu_readings *r = calloc(1, sizeof(*r));

	if (r)
		r->env = env;
	return r;
}

void gpu_readings_free(struct gpu_readings *r)
{
	for (size_t i = 0; r && i < METERS_GPUS; i++)
		free(r->instances[i]);
	free(r);
}

static void take_figures(struct gpu_reading *last, const struct child_gpu_profile *p)
{
	last->figures = p->have;
	memcpy(last->ppm, p->ppm, sizeof(last->ppm));
}

static struct gpu_reading *find_instance(struct instance_readings *d, uint32_t gi)
{
	for (uint32_t i = 0; i < d->count; i++) {
		if (d->number[i] == gi)
			return &d->last[i];
	}
	return NULL;
}

/* Compute instances of one GPU instance say the same. Those that are gone keep what
 * they said, which ages. */
static void take_instance(struct instance_readings *d, uint64_t read_ns,
			  const struct child_gpu_instance *in)
{
	struct gpu_reading *last = find_instance(d, in->gi);

	if (!last && d->count == CHILD_GPU_INSTANCES_MAX)
		d->count = 0;
	if (!last) {
		d->number[d->count] = in->gi;
		last = &d->last[d->count++];
		*last = (struct gpu_reading){0};
	}
	last->read_ns = read_ns;
	last->have = 0;
	if (in->have >> CHILD_GPU_INSTANCE_USED & 1)
		last->have |= 1u << CHILD_GPU_MEMORY_USED;
	if (in->have >> CHILD_GPU_INSTANCE_TOTAL & 1)
		last->have |= 1u << CHILD_GPU_MEMORY_TOTAL;
	last->value[CHILD_GPU_MEMORY_USED] = in->value[CHILD_GPU_INSTANCE_USED];
	last->value[CHILD_GPU_MEMORY_TOTAL] = in->value[CHILD_GPU_INSTANCE_TOTAL];
	take_figures(last, &in->profile);
}

static void read_instances(struct gpu_readings *r, uint32_t index, const char *name)
{
	const struct child_gpu_instances *m = &r->in.instances;

	if (child_link_get(r->env->gpu, CHILD_GPU_INSTANCES, name, &r->in,
			   sizeof(r->in)) < 0)
		return;
	if (!r->instances[index])
		r->instances[index] = calloc(1, sizeof(*r->instances[index]));
	for (uint32_t i = 0; r->instances[index] && i < m->head.count; i++)
		take_instance(r->instances[index], m->read_ns, &m->items[i]);
}

/* Of a driver that lists them */
static uint32_t count_processes(struct gpu_readings *r, const char *name)
{
	const struct child_gpu_processes *p = &r->in.processes;
	uint32_t n = 0;

	if (child_link_get(r->env->gpu, CHILD_GPU_PROCESSES, name, &r->in,
			   sizeof(r->in)) < 0)
		return 0;
	for (uint32_t i = 0; i < p->head.count; i++)
		n += !p->items[i].ended;
	return n;
}

static size_t read_points(struct gpu_readings *r, uint32_t index)
{
	const struct child_gpu *m = &r->in.gpu;
	char name[CHILD_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "gpu%u", index);
	if (!r->env->gpu ||
	    child_link_get(r->env->gpu, CHILD_GPU, name, &r->in, sizeof(r->in)) < 0)
		return 0;
	struct gpu_reading *last = &r->last[index];
	last->read_ns = m->read_ns;
	last->have = m->have;
	memcpy(last->value, m->value, sizeof(last->value));
	for (uint32_t i = 0; i < m->head.count; i++)
		r->points[index][i] =
			(struct energy_point){m->points[i].at_ns, m->points[i].uj};
	uint32_t count = m->head.count;
	bool is_divided = m->mig;
	take_figures(last, &m->profile);
	last->processes = count_processes(r, name);
	if (is_divided)
		read_instances(r, index, name);
	return count;
}

const struct energy_history *
gpu_readings_take(struct gpu_readings *r, const uint64_t *measured_ns, uint32_t count)
{
	r->count = count < METERS_GPUS ? count : METERS_GPUS;
	for (uint32_t i = 0; i < r->count; i++) {
		struct energy_history *h = &r->histories[i];
		h->points = r->points[i];
		h->count = read_points(r, i);
		h->to_ns = measured_ns[i];
	}
	return r->histories;
}

void gpu_readings_window(const struct gpu_readings *r, uint64_t *t0_ns, uint64_t *t1_ns)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct energy_history *h = &r->histories[i];
		if (!h->count || h->to_ns <= h->from_ns)
			continue;
		if (!energy_history_covers(h))
			return;
		from = h->from_ns < from ? h->from_ns : from;
		to = h->to_ns > to ? h->to_ns : to;
	}
	if (from >= to)
		return;
	*t0_ns = from;
	*t1_ns = to;
}

void gpu_readings_commit(struct gpu_readings *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		r->histories[i].from_ns = r->histories[i].to_ns;
		r->last[i].used_ns = r->last[i].read_ns;
		struct instance_readings *d = r->instances[i];
		for (uint32_t k = 0; d && k < d->count; k++)
			d->last[k].used_ns = d->last[k].read_ns;
	}
}

const struct gpu_reading *gpu_readings_last(const struct gpu_readings *r,
					    uint32_t device)
{
	return device < r->count && r->last[device].read_ns ? &r->last[device] : NULL;
}

const struct gpu_reading *gpu_readings_instance(const struct gpu_readings *r,
						uint32_t device, uint32_t instance)
{
	return device < r->count && r->instances[device]
		       ? find_instance(r->instances[device], instance)
		       : NULL;
}

uint64_t gpu_reading_ns(const struct gpu_reading *g)
{
	if (g->read_ns <= g->used_ns)
		return 0;
	/* what was before a gap is not known */
	return g->used_ns && g->read_ns - g->used_ns < CHILD_GPU_STALE_NS
		       ? g->read_ns - g->used_ns
		       : NSEC_PER_SEC;
}

uint64_t gpu_readings_charged_ns(const struct gpu_readings *r, uint64_t now_ns)
{
	uint64_t least = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		uint64_t at = r->histories[i].from_ns;
		if (r->histories[i].count && at + SILENT_NS > now_ns &&
		    (!least || at < least))
			least = at;
	}
	return least;
}
