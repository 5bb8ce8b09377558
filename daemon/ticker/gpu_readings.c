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

struct gpu_readings {
	const struct env *env;
	uint32_t count;
	struct energy_history histories[METERS_GPUS];
	struct gpu_reading last[METERS_GPUS];
	struct energy_point points[METERS_GPUS][CHILD_GPU_POINTS_MAX];
	union {
		struct child_gpu gpu;
		struct child_gpu_processes processes;
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
	free(r);
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
	last->processes = count_processes(r, name);
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
	}
}

const struct gpu_reading *gpu_readings_last(const struct gpu_readings *r,
					    uint32_t device)
{
	return device < r->count && r->last[device].read_ns ? &r->last[device] : NULL;
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
