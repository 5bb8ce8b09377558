/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the made-up library (test/fake/nvml.c) that tells of vGPUs, by NVIDIA's
 * published API: no host with vGPUs was at hand. A vGPU's number is its own. */
#include <stdio.h>
#include <string.h>

#include "test/fake/nvml_machine.h"

static int find_vgpu(unsigned int id, struct fake_vgpu *ret, const char *caller)
{
	for (unsigned int n = 0; n < DEVICES; n++) {
		const struct fake_device *d = look_at_device(n);
		for (unsigned int i = 0; d && i < d->vgpu_count; i++) {
			*ret = d->vgpu[i];
			if (d->vgpu[i].id == id)
				return d->lost ? LOST : fault(caller);
		}
	}
	return NOT_FOUND;
}

#define VGPU_NUMBER(name, type, v)                                                     \
	EXPORT int name(unsigned int id, type *ret);                                   \
	EXPORT int name(unsigned int id, type *ret)                                    \
	{                                                                              \
		struct fake_vgpu g = {0};                                              \
		int rc = find_vgpu(id, &g, __func__);                                  \
		if (rc == OK)                                                          \
			*ret = v;                                                      \
		return rc;                                                             \
	}

VGPU_NUMBER(nvmlVgpuInstanceGetFbUsage, unsigned long long, g.used_mib << 20)
VGPU_NUMBER(nvmlVgpuInstanceGetGpuInstanceId, unsigned int, g.gi ? g.gi : ~0u)
/* a type is its size here */
VGPU_NUMBER(nvmlVgpuInstanceGetType, unsigned int, (unsigned int)g.size_mib)

EXPORT int nvmlDeviceGetActiveVgpus(void *handle, unsigned int *count,
				    unsigned int *ret);
EXPORT int nvmlDeviceGetActiveVgpus(void *handle, unsigned int *count,
				    unsigned int *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);
	unsigned int room = *count;

	if (rc != OK)
		return rc;
	*count = d.vgpu_count;
	for (unsigned int i = 0; i < d.vgpu_count && i < room; i++)
		ret[i] = d.vgpu[i].id;
	return d.vgpu_count > room ? TOO_SMALL : OK;
}

EXPORT int nvmlVgpuInstanceGetVmID(unsigned int id, char *text, unsigned int size,
				   unsigned int *kind);
EXPORT int nvmlVgpuInstanceGetVmID(unsigned int id, char *text, unsigned int size,
				   unsigned int *kind)
{
	struct fake_vgpu g = {0};
	int rc = find_vgpu(id, &g, __func__);

	(void)snprintf(text, size, "%s", g.vm);
	*kind = strchr(g.vm, '-') ? 1 : 0;
	return rc;
}

EXPORT int nvmlVgpuTypeGetName(unsigned int type, char *text, unsigned int *size);
EXPORT int nvmlVgpuTypeGetName(unsigned int type, char *text, unsigned int *size)
{
	(void)snprintf(text, *size, "NVIDIA A40-%uQ", type / 1024);
	return fault(__func__);
}

EXPORT int nvmlVgpuTypeGetFramebufferSize(unsigned int type, unsigned long long *ret);
EXPORT int nvmlVgpuTypeGetFramebufferSize(unsigned int type, unsigned long long *ret)
{
	*ret = (unsigned long long)type << 20;
	return fault(__func__);
}

struct vgpu_use {
	unsigned int id;
	unsigned long long at_us;
	unsigned long long sm, memory, encoder, decoder;
};

/* Two samples of each that does something: a moment ago, and now; and, as a real driver
 * keeps them for minutes, too many for anybody who asks for old ones */
EXPORT int nvmlDeviceGetVgpuUtilization(void *handle, unsigned long long last_seen,
					int *type, unsigned int *count,
					struct vgpu_use *ret);
EXPORT int nvmlDeviceGetVgpuUtilization(void *handle, unsigned long long last_seen,
					int *type, unsigned int *count,
					struct vgpu_use *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);
	unsigned int room = *count;
	unsigned long long now = now_us();

	if (rc != OK)
		return rc;
	*type = 1;
	*count = 100000;
	if (now > last_seen + 4000000)
		return TOO_SMALL;
	*count = 0;
	for (unsigned int i = 0; i < d.vgpu_count * 2 && now > last_seen; i++) {
		const struct fake_vgpu *g = &d.vgpu[i / 2];
		if (!g->busy)
			continue;
		if (*count < room)
			ret[*count] = (struct vgpu_use){
				.id = g->id,
				.at_us = i % 2 ? now : now - 100,
				.sm = i % 2 ? g->busy + 1 : g->busy - 1};
		++*count;
	}
	if (*count > room)
		return TOO_SMALL;
	return *count ? OK : NOT_FOUND;
}
