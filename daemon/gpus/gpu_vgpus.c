/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/gpus/gpu_vgpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/energy.h"
#include "daemon/sources/child_link.h"

#define VGPUS_MAX 512u /* of the host */

struct gpu_vgpus {
	const struct env *env;
	uint32_t count;
	struct gpu_vgpu item[VGPUS_MAX];
	union {
		struct child_gpu gpu;
		struct child_gpu_vgpus m;
		char bytes[CHILD_MESSAGE_MAX];
	} in;
};

struct gpu_vgpus *gpu_vgpus_new(const struct env *env)
{
	struct gpu_vgpus *v = calloc(1, sizeof(*v));

	if (v)
		v->env = env;
	return v;
}

void gpu_vgpus_free(struct gpu_vgpus *v)
{
	free(v);
}

/* Where vGPUs are: the device (gi CHILD_GPU_NONE), or a GPU instance of it */
struct vgpu_place {
	uint32_t gi, count;
	uint64_t bytes, used_bytes; /* 0: not known */
};

static struct vgpu_place measure_place(const struct gpu_vgpu *list, uint32_t count,
				       uint32_t gi, uint64_t device_bytes)
{
	struct vgpu_place p = {.gi = gi};
	bool is_known = true;

	for (uint32_t i = 0; i < count; i++) {
		const struct child_gpu_vgpu *s = &list[i].said;
		if (s->gi != gi)
			continue;
		p.count++;
		p.used_bytes += s->size_bytes;
		is_known &= s->size_bytes > 0;
	}
	p.bytes = gi == CHILD_GPU_NONE && device_bytes > p.used_bytes ? device_bytes
								      : p.used_bytes;
	if (!is_known)
		p.bytes = 0;
	return p;
}

static void divide_device(struct gpu_vgpu *list, uint32_t count, uint64_t device_bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct child_gpu_vgpu *s = &list[i].said;
		struct vgpu_place p = measure_place(list, count, s->gi, device_bytes);
		list[i].share_ppm =
			p.bytes ? (uint32_t)((unsigned __int128)s->size_bytes *
					     ENERGY_ONE_PPM / p.bytes)
				: ENERGY_ONE_PPM / p.count;
	}
}

static uint64_t read_device_bytes(struct gpu_vgpus *v, const char *name)
{
	const struct child_gpu *m = &v->in.gpu;

	return child_link_get(v->env->gpu, CHILD_GPU, name, &v->in, sizeof(v->in)) >=
				       0 &&
			       child_gpu_has(m, CHILD_GPU_MEMORY_TOTAL)
		       ? m->value[CHILD_GPU_MEMORY_TOTAL]
		       : 0;
}

static void take_device_vgpus(struct gpu_vgpus *v, uint32_t device)
{
	const struct child_gpu_vgpus *m = &v->in.m;
	struct gpu_vgpu *list = &v->item[v->count];
	char name[CHILD_NAME_BYTES];
	uint32_t n = 0;

	(void)snprintf(name, sizeof(name), "gpu%u", device);
	if (child_link_get(v->env->gpu, CHILD_GPU_VGPUS, name, &v->in, sizeof(v->in)) <
		    0 ||
	    v->env->boottime_ns() > m->read_ns + CHILD_GPU_STALE_NS)
		return;
	for (; n < m->head.count && v->count + n < VGPUS_MAX; n++) {
		list[n] = (struct gpu_vgpu){.device = device, .said = m->items[n]};
		memcpy(list[n].gpu_uuid, m->uuid, sizeof(list[n].gpu_uuid));
	}
	v->count += n;
	divide_device(list, n, n ? read_device_bytes(v, name) : 0);
}

void gpu_vgpus_take(struct gpu_vgpus *v, uint32_t count)
{
	v->count = 0;
	for (uint32_t i = 0; i < count && v->env->gpu; i++)
		take_device_vgpus(v, i);
}

const struct gpu_vgpu *gpu_vgpus_next(const struct gpu_vgpus *v, const char *vm,
				      const struct gpu_vgpu *after)
{
	for (size_t i = after ? (size_t)(after - v->item) + 1 : 0; v && i < v->count;
	     i++) {
		if (*vm && strcmp(v->item[i].said.vm, vm) == 0)
			return &v->item[i];
	}
	return NULL;
}
