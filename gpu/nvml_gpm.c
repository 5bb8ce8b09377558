/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of the device's performance counters (GPM, from Hopper on): the library
 * compares two samples. It takes no lock, and runs beside profilers. An instance of a
 * divided device is sampled by its parent's handle and its number. */
#include <errno.h>
#include <string.h>

#include "gpu/nvml_impl.h"

static const unsigned gpm_ids[CHILD_GPU_FIGURES] = {
	[CHILD_GPU_GRAPHICS] = NVML_GPM_GRAPHICS,
	[CHILD_GPU_SM] = NVML_GPM_SM,
	[CHILD_GPU_OCCUPANCY] = NVML_GPM_OCCUPANCY,
	[CHILD_GPU_TENSOR] = NVML_GPM_TENSOR,
	[CHILD_GPU_FP64] = NVML_GPM_FP64,
	[CHILD_GPU_FP32] = NVML_GPM_FP32,
	[CHILD_GPU_FP16] = NVML_GPM_FP16,
	[CHILD_GPU_DRAM] = NVML_GPM_DRAM,
};

static int open_gpm(struct nvml *n, nvml_device d, struct nvml_gpm *g, struct err *err)
{
	struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};

	if (!n->gpm_support || !n->gpm_alloc || !n->gpm_free || !n->gpm_metrics ||
	    !n->gpm_sample)
		return err_set(err, -EOPNOTSUPP, "this release has no GPM");
	int rc = n->gpm_support(d, &support);
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlGpmQueryDeviceSupport", err);
	if (!support.supported)
		return err_set(err, -EOPNOTSUPP, "the device has no GPM");
	for (unsigned i = 0; i < 2 && !g->sample[i]; i++) {
		rc = n->gpm_alloc(&g->sample[i]);
		if (rc != NVML_SUCCESS) {
			g->sample[i] = NULL;
			return nvml_fail(n, rc, "nvmlGpmSampleAlloc", err);
		}
	}
	g->is_open = true;
	return 0;
}

static void add_figure(struct child_gpu_profile *p, unsigned which, double percent,
		       uint64_t ns)
{
	if (!(percent >= 0)) /* nor a number that is none */
		return;
	p->ppm[which] = percent < 100 ? (uint32_t)(percent * 10000) : 1000000;
	p->have |= 1u << which;
	p->covered_ns[which] += ns;
	p->total_ns[which] +=
		(uint64_t)((unsigned __int128)ns * p->ppm[which] / 1000000);
}

static int compare_samples(struct nvml *n, struct nvml_gpm *g, uint64_t ns,
			   struct child_gpu_profile *p, struct err *err)
{
	struct nvml_gpm_metrics m;

	memset(&m, 0, sizeof(m));
	m.version = NVML_GPM_VERSION;
	m.count = CHILD_GPU_FIGURES;
	m.first = g->sample[!g->newest];
	m.second = g->sample[g->newest];
	for (unsigned i = 0; i < CHILD_GPU_FIGURES; i++)
		m.metrics[i] = (struct nvml_gpm_metric){.id = gpm_ids[i],
							.rc = NVML_ERROR_UNKNOWN};
	int rc = n->gpm_metrics(&m);
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlGpmMetricsGet", err);
	for (unsigned i = 0; i < CHILD_GPU_FIGURES; i++) {
		if (m.metrics[i].rc == NVML_SUCCESS)
			add_figure(p, i, m.metrics[i].value, ns);
	}
	return 0;
}

int nvml_profile(struct nvml *n, nvml_device parent, uint32_t gi, struct nvml_gpm *g,
		 uint64_t now_ns, struct child_gpu_profile *p, struct err *err)
{
	int rc = g->is_open ? 0 : open_gpm(n, parent, g, err);
	unsigned next = !g->newest;

	p->have = 0;
	if (rc < 0)
		return rc;
	if (gi != CHILD_GPU_NONE && !n->gpm_mig_sample)
		return err_set(err, -EOPNOTSUPP, "this release has no GPM for MIG");
	rc = gi == CHILD_GPU_NONE ? n->gpm_sample(parent, g->sample[next])
				  : n->gpm_mig_sample(parent, gi, g->sample[next]);
	if (rc != NVML_SUCCESS) {
		g->at_ns = 0; /* the other one is too old to be compared with */
		return nvml_fail(n, rc, "nvmlGpmSampleGet", err);
	}
	uint64_t last_ns = g->at_ns;
	g->newest = next;
	g->at_ns = p->at_ns = now_ns;
	return last_ns && now_ns > last_ns
		       ? compare_samples(n, g, now_ns - last_ns, p, err)
		       : 0;
}

void nvml_profile_end(struct nvml *n, struct nvml_gpm *g)
{
	for (unsigned i = 0; i < 2; i++) {
		if (g->sample[i])
			(void)n->gpm_free(g->sample[i]);
	}
	*g = (struct nvml_gpm){.newest = 0};
}
