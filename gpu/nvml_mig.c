/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device that is divided (MIG): its instances, and what of them is told by their own
 * handles. All else goes by the parent's handle. */
#include <errno.h>
#include <stdlib.h>

#include "gpu/nvml_impl.h"

int nvml_divided(struct nvml *n, nvml_device d, bool *ret, struct err *err)
{
	unsigned now = 0, pending = 0;
	int rc = n->mig ? n->mig(d, &now, &pending) : NVML_ERROR_NOT_SUPPORTED;

	if (rc != NVML_SUCCESS && nvml_errno(rc) != -EOPNOTSUPP)
		return nvml_fail(n, rc, "nvmlDeviceGetMigMode", err);
	*ret = rc == NVML_SUCCESS && now == 1;
	return 0;
}

/* The slices of the whole device: those of its largest profile */
static uint32_t count_slices(struct nvml *n, nvml_device d)
{
	static const unsigned profiles[] = {NVML_GI_PROFILE_8_SLICE,
					    NVML_GI_PROFILE_7_SLICE,
					    NVML_GI_PROFILE_4_SLICE};

	for (size_t i = 0; i < 3 && n->gi_profile; i++) {
		struct nvml_gi_profile p = {0};
		if (n->gi_profile(d, profiles[i], &p) == NVML_SUCCESS && p.slices &&
		    p.slices <= CHILD_GPU_SLICES_MAX)
			return p.slices;
	}
	return 0;
}

static void keep_instance_value(struct child_gpu_instance *g,
				enum child_gpu_instance_value which, uint64_t v)
{
	g->value[which] = v;
	g->have |= 1u << which;
}

static void read_instance_size(struct nvml *n, nvml_device mig,
			       struct child_gpu_instance *g)
{
	struct nvml_attributes a = {0};
	struct nvml_memory memory = {0};

	if (n->attributes && n->attributes(mig, &a) == NVML_SUCCESS &&
	    a.gi_slices <= CHILD_GPU_SLICES_MAX &&
	    a.ci_slices <= CHILD_GPU_SLICES_MAX) {
		g->slices = a.gi_slices;
		g->ci_slices = a.ci_slices;
		g->sm_count = a.sm_count;
	}
	if (n->memory && n->memory(mig, &memory) == NVML_SUCCESS) {
		keep_instance_value(g, CHILD_GPU_INSTANCE_USED, memory.used);
		keep_instance_value(g, CHILD_GPU_INSTANCE_TOTAL, memory.total);
	}
}

/* 0: there is an instance by that number; -ENODATA: none */
static int read_instance(struct nvml *n, nvml_device d, unsigned index,
			 struct nvml_instance *ret, struct err *err)
{
	struct child_gpu_instance *g = &ret->item;
	char text[NVML_UUID_BYTES] = "";
	unsigned gi = 0, ci = 0;
	int rc = n->mig_handle(d, index, &ret->handle);

	if (rc == NVML_ERROR_NOT_FOUND || rc == NVML_ERROR_INVALID_ARGUMENT)
		return -ENODATA;
	if (rc == NVML_SUCCESS)
		rc = n->gi_id(ret->handle, &gi);
	if (rc == NVML_SUCCESS)
		rc = n->ci_id(ret->handle, &ci);
	if (rc == NVML_SUCCESS)
		rc = n->uuid(ret->handle, text, NVML_UUID_BYTES);
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "MIG device", err);
	*g = (struct child_gpu_instance){.gi = gi, .ci = ci};
	nvml_copy_text(g->uuid, sizeof(g->uuid), text, sizeof(text));
	read_instance_size(n, ret->handle, g);
	return 0;
}

static int compare_instances(const void *a, const void *b)
{
	const struct child_gpu_instance *x = &((const struct nvml_instance *)a)->item,
					*y = &((const struct nvml_instance *)b)->item;

	if (x->gi != y->gi)
		return x->gi < y->gi ? -1 : 1;
	return (x->ci > y->ci) - (x->ci < y->ci);
}

static uint32_t drop_doubles(struct nvml_instance *list, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!kept || compare_instances(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	return kept;
}

int nvml_instances(struct nvml *n, nvml_device d, struct nvml_instance *ret,
		   uint32_t *ret_count, uint32_t *ret_slices, struct err *err)
{
	unsigned places = 0;
	uint32_t count = 0;

	if (!n->mig_count || !n->mig_handle || !n->gi_id || !n->ci_id)
		return err_set(err, -EOPNOTSUPP, "this release tells no instances");
	int rc = n->mig_count(d, &places);
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlDeviceGetMaxMigDeviceCount", err);
	for (unsigned i = 0; i < places && count < CHILD_GPU_INSTANCES_MAX; i++) {
		rc = read_instance(n, d, i, &ret[count], err);
		if (rc == 0)
			count++;
		else if (rc != -ENODATA)
			return rc;
	}
	qsort(ret, count, sizeof(*ret), compare_instances);
	*ret_count = drop_doubles(ret, count);
	*ret_slices = count_slices(n, d);
	return 0;
}
