/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/ticker/gpu_sharing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/energy.h"
#include "daemon/sources/child_link.h"
#include "daemon/sources/meters.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"

#define PROCESSES CHILD_GPU_PROCESSES_MAX

struct sharing_process {
	uint32_t pid, unit; /* UNITS_NONE: of none */
	uint64_t serial;    /* of the unit */
	uint64_t busy_ns;   /* as last read */
	uint32_t use_ppm;   /* between the last two readings */
	uint32_t have;      /* bits 1 << enum child_gpu_process_value */
	bool ended;
	uint64_t memory_bytes;
};

struct sharing_device {
	uint64_t read_ns;
	uint32_t count;
	struct sharing_process process[PROCESSES]; /* ascending by pid */
};

struct gpu_sharing {
	const struct env *env;
	struct sharing_device *device[METERS_GPUS]; /* NULL: nothing was told of it */
	union {
		struct child_gpu_processes m;
		char bytes[sizeof(struct child_gpu_processes) +
			   PROCESSES * sizeof(struct child_gpu_process)];
	} in;
};

struct gpu_sharing *gpu_sharing_new(const struct env *env)
{
	struct gpu_sharing *s = calloc(1, sizeof(*s));

	if (s)
		s->env = env;
	return s;
}

void gpu_sharing_free(struct gpu_sharing *s)
{
	for (size_t i = 0; s && i < METERS_GPUS; i++)
		free(s->device[i]);
	free(s);
}

static const struct sharing_process *
find_sharing_process(const struct sharing_device *d, uint32_t pid)
{
	for (uint32_t i = 0; i < d->count; i++) {
		if (d->process[i].pid == pid)
			return &d->process[i];
	}
	return NULL;
}

static void find_process_unit(const struct gpu_sharing *s, const struct units *u,
			      struct sharing_process *p)
{
	char path[RECORD_CGROUP_MAX];

	cgroup_unit_of_pid(s->env->procfd, p->pid, path);
	uint32_t step = *path ? steps_find_path(u, path) : UNITS_NONE;
	p->unit = step == UNITS_NONE ? UNITS_NONE : steps_unit(u, step);
	p->serial = p->unit == UNITS_NONE ? 0 : unit_serial(u, p->unit);
}

/* A process that is new has a busy time, but not of this time. */
static void take_process(const struct gpu_sharing *s, const struct units *u,
			 const struct sharing_device *last, uint64_t passed_ns,
			 const struct child_gpu_process *in, struct sharing_process *p)
{
	const struct sharing_process *was = find_sharing_process(last, in->pid);

	*p = (struct sharing_process){.pid = in->pid,
				      .unit = UNITS_NONE,
				      .have = in->have,
				      .ended = in->ended,
				      .memory_bytes = in->memory_bytes};
	if (was) {
		p->unit = was->unit;
		p->serial = was->serial;
	}
	if (p->unit == UNITS_NONE && !in->ended)
		find_process_unit(s, u, p);
	p->busy_ns = in->have >> CHILD_GPU_PROCESS_BUSY & 1 ? in->busy_ns : 0;
	if (was && p->busy_ns > was->busy_ns && passed_ns) {
		uint64_t ppm = (uint64_t)((unsigned __int128)ENERGY_ONE_PPM *
					  (p->busy_ns - was->busy_ns) / passed_ns);
		p->use_ppm = ppm < ENERGY_ONE_PPM ? (uint32_t)ppm : ENERGY_ONE_PPM;
	}
}

static void take_sharing_device(struct gpu_sharing *s, const struct units *u,
				struct sharing_device *d)
{
	static const struct sharing_device nothing;
	const struct child_gpu_processes *m = &s->in.m;
	auto_free struct sharing_device *last = NULL;
	uint64_t passed_ns = m->read_ns - d->read_ns;

	if (m->read_ns <= d->read_ns) /* nothing new: what was still holds */
		return;
	last = malloc(sizeof(*last));
	if (last)
		memcpy(last, d, sizeof(*last));
	if (!d->read_ns || passed_ns > CHILD_GPU_STALE_NS)
		passed_ns = 0;
	d->read_ns = m->read_ns;
	d->count = 0;
	for (uint32_t i = 0; i < m->head.count; i++) {
		/* on a divided device nobody measures it */
		if (m->items[i].gi == CHILD_GPU_NONE)
			take_process(s, u, last ? last : &nothing, passed_ns,
				     &m->items[i], &d->process[d->count++]);
	}
}

void gpu_sharing_take(struct gpu_sharing *s, const struct units *u, uint32_t count)
{
	char name[CHILD_NAME_BYTES];

	for (uint32_t i = 0; i < count && i < METERS_GPUS && s->env->gpu; i++) {
		(void)snprintf(name, sizeof(name), "gpu%u", i);
		if (child_link_get(s->env->gpu, CHILD_GPU_PROCESSES, name, &s->in,
				   sizeof(s->in)) < 0)
			continue;
		if (!s->device[i])
			s->device[i] = calloc(1, sizeof(*s->device[i]));
		if (s->device[i])
			take_sharing_device(s, u, s->device[i]);
	}
}

uint32_t gpu_sharing_ppm(const struct gpu_sharing *s, const struct units *u,
			 uint32_t device, uint32_t unit)
{
	const struct sharing_device *d =
		s && device < METERS_GPUS ? s->device[device] : NULL;
	uint64_t ppm = 0;

	if (!d || s->env->boottime_ns() > d->read_ns + CHILD_GPU_STALE_NS)
		return 0;
	for (uint32_t i = 0; i < d->count; i++) {
		const struct sharing_process *p = &d->process[i];
		if (p->unit == unit && p->serial == unit_serial(u, unit))
			ppm += p->use_ppm;
	}
	return ppm < ENERGY_ONE_PPM ? (uint32_t)ppm : ENERGY_ONE_PPM;
}

/* A process that has not run since it was listed has no busy time: some other has. */
struct gpu_shared_use gpu_sharing_use(const struct gpu_sharing *s,
				      const struct units *u, uint32_t device,
				      uint32_t unit)
{
	const struct sharing_device *d =
		s && device < METERS_GPUS ? s->device[device] : NULL;
	struct gpu_shared_use use = {.has_memory = false};

	if (!d || !d->read_ns ||
	    s->env->boottime_ns() > d->read_ns + CHILD_GPU_STALE_NS)
		return use;
	use.has_memory = true;
	use.has_busy = !d->count;
	for (uint32_t i = 0; i < d->count; i++) {
		const struct sharing_process *p = &d->process[i];
		use.has_busy |= p->have >> CHILD_GPU_PROCESS_BUSY & 1;
		if (p->ended)
			continue;
		use.has_memory &= p->have >> CHILD_GPU_PROCESS_MEMORY & 1;
		if (p->unit == unit && p->serial == unit_serial(u, unit))
			use.memory_bytes += p->memory_bytes;
	}
	use.busy_ppm = gpu_sharing_ppm(s, u, device, unit);
	return use;
}
