/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a device that virtual machines have (vGPU), as the driver of the host tells
 * of them: whose each is, how large it is, and how much it does. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/nvml_impl.h"
#include "lib/clock.h"

#define VGPUS CHILD_GPU_VGPUS_MAX
/* Of all vGPUs, in the time since the last reading: the driver keeps many more, which
 * are asked for by nobody */
#define SAMPLES (16 * VGPUS)
#define FIRST_US 2000000u /* how far back the first reading looks */

static void keep_vgpu_value(struct child_gpu_vgpu *v, enum child_gpu_vgpu_value which)
{
	v->have |= 1u << which;
}

static void read_vgpu_vm(struct nvml *n, struct child_gpu_vgpu *v)
{
	char text[NVML_VM_ID_BYTES] = "";
	unsigned kind = 0;

	if (!n->vgpu_vm ||
	    n->vgpu_vm(v->id, text, sizeof(text), &kind) != NVML_SUCCESS ||
	    kind != NVML_VM_ID_UUID)
		return;
	nvml_copy_text(v->vm, sizeof(v->vm), text, sizeof(text));
	for (char *p = v->vm; *p; p++)
		*p = (char)tolower((unsigned char)*p);
}

static void read_vgpu_type(struct nvml *n, struct child_gpu_vgpu *v)
{
	char text[NVML_VGPU_TYPE_BYTES] = "";
	unsigned type = 0, size = sizeof(text);
	unsigned long long bytes = 0;

	if (!n->vgpu_type || n->vgpu_type(v->id, &type) != NVML_SUCCESS)
		return;
	if (n->vgpu_type_name && n->vgpu_type_name(type, text, &size) == NVML_SUCCESS)
		nvml_copy_text(v->type, sizeof(v->type), text, sizeof(text));
	if (n->vgpu_type_size && n->vgpu_type_size(type, &bytes) == NVML_SUCCESS) {
		v->size_bytes = bytes;
		keep_vgpu_value(v, CHILD_GPU_VGPU_SIZE);
	}
}

static void read_vgpu(struct nvml *n, unsigned id, struct child_gpu_vgpu *v)
{
	unsigned long long bytes = 0;
	unsigned gi = 0;

	*v = (struct child_gpu_vgpu){.id = id, .gi = CHILD_GPU_NONE};
	/* all ones: it is not in one */
	if (n->vgpu_gi && n->vgpu_gi(id, &gi) == NVML_SUCCESS)
		v->gi = gi;
	if (n->vgpu_used && n->vgpu_used(id, &bytes) == NVML_SUCCESS) {
		v->used_bytes = bytes;
		keep_vgpu_value(v, CHILD_GPU_VGPU_USED);
	}
	read_vgpu_vm(n, v);
	read_vgpu_type(n, v);
}

static uint64_t percent_of(unsigned type, union nvml_number value)
{
	double v = type == NVML_DOUBLE ? value.d : 0;
	unsigned long long u = type == NVML_ULONGLONG ? value.ull
			       : type == NVML_UINT    ? value.ui
						      : 0;

	if (v > 0)
		u = v < 100 ? (unsigned long long)v : 100;
	return u < 100 ? u : 100;
}

/* The mean of a vGPU's samples since the last reading. One without a sample has not
 * run, as far as the driver looked. */
static void mean_vgpu_use(const struct nvml_vgpu_use *use, unsigned count,
			  unsigned type, unsigned long long after_us,
			  struct child_gpu_vgpu *v)
{
	uint64_t sum = 0, samples = 0;

	for (unsigned i = 0; i < count; i++) {
		if (use[i].id != v->id || use[i].at_us <= after_us)
			continue;
		sum += percent_of(type, use[i].sm);
		samples++;
	}
	v->busy_ppm = samples ? (uint32_t)(sum * 10000 / samples) : 0;
	keep_vgpu_value(v, CHILD_GPU_VGPU_BUSY);
}

static int read_vgpu_use(struct nvml *n, nvml_device d, struct nvml_vgpus *l,
			 struct err *err)
{
	struct nvml_vgpu_use use[SAMPLES];
	unsigned count = SAMPLES, type = NVML_UINT;
	uint64_t now_us = clock_realtime_ns() / 1000;
	unsigned long long after_us = l->last_us ? l->last_us : now_us - FIRST_US;

	if (!n->vgpu_use || !l->count)
		return 0;
	int rc = n->vgpu_use(d, after_us, &type, &count, use);
	if (rc == NVML_ERROR_INSUFFICIENT_SIZE) {
		l->last_us = now_us; /* else it would be so for ever */
		return 0;
	}
	if (rc == NVML_ERROR_NOT_FOUND) /* nothing has run */
		count = 0;
	else if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlDeviceGetVgpuUtilization", err);
	count = count < SAMPLES ? count : SAMPLES;
	for (uint32_t i = 0; i < l->count; i++)
		mean_vgpu_use(use, count, type, after_us, &l->item[i]);
	for (unsigned i = 0; i < count; i++)
		l->last_us = use[i].at_us > l->last_us ? use[i].at_us : l->last_us;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

int nvml_list_vgpus(struct nvml *n, nvml_device d, struct nvml_vgpus *l,
		    struct err *err)
{
	unsigned id[VGPUS], count = VGPUS;

	l->count = 0;
	if (!n->vgpus)
		return err_set(err, -EOPNOTSUPP, "this release tells no vGPUs");
	int rc = n->vgpus(d, &count, id);
	if (rc == NVML_ERROR_NOT_FOUND)
		return 0;
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlDeviceGetActiveVgpus", err);
	count = count < VGPUS ? count : VGPUS;
	qsort(id, count, sizeof(id[0]), compare_ids);
	for (unsigned i = 0; i < count; i++) {
		if (!i || id[i] != id[i - 1])
			read_vgpu(n, id[i], &l->item[l->count++]);
	}
	return read_vgpu_use(n, d, l, err);
}
