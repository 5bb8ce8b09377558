/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node's GPUs, from the last messages of ceems-gpu. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/options.h"
#include "daemon/sources/child_link.h"
#include "daemon/sources/gpu_values.h"
#include "daemon/sources/names/gpu_names.h"
#include "daemon/sources/source_view.h"
#include "lib/log.h"

union gpu_view_message {
	struct child_gpu gpu;
	struct child_gpu_instances instances;
	char bytes[CHILD_MESSAGE_MAX];
};

struct gpu_view {
	struct source_view *source;
	bool names; /* of other exporters, too */
	union gpu_view_message in, device;
};

static const struct prom_family gpu_info = {
	"ceems_gpu_info", PROM_GAUGE,
	"A device that ceems-gpu reads: its name, PCI "
	"address and whether it is divided "
	"into instances"};
static const struct prom_family gpu_energy = {
	"ceems_gpu_energy_joules_total", PROM_COUNTER,
	"Growth of the device's energy counter since ceemsd first read it"};
static const struct prom_family gpu_restarts = {
	"ceems_gpu_restarts_total", PROM_COUNTER,
	"Times that ceems-gpu was started again, after it died"};

static void gpu_view_close(void *state)
{
	struct gpu_view *v = state;

	if (!v)
		return;
	source_view_close(v->source);
	free(v);
}

static int gpu_view_open(const struct env *env, void **ret_state, struct err *err)
{
	struct gpu_view *v = calloc(1, sizeof(*v));
	void *source = NULL;

	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = source_view_open(env, &source_gpu, &source, err);
	if (rc < 0) {
		free(v);
		return rc;
	}
	v->source = source;
	v->names = env->options && env->options->gpu_dcgm_names;
	if (v->names && gpu_names_are_taken(env->procfd))
		log_warn("gpu: something listens on port 9400, as dcgm-exporter does: "
			 "with "
			 "--collector.gpu.dcgm-names its series are exported twice");
	*ret_state = v;
	return 0;
}

static void put_gpu(const struct gpu_view *v, struct prom *out, uint64_t now_ns)
{
	const struct child_gpu *m = &v->in.gpu;
	static const char *const vendors[CHILD_GPU_VENDORS] = {"nvidia", "amd",
							       "intel"};
	char index[16];
	struct prom_label labels[] = {
		{"hostname", v->source->env->hostname},
		{"index", index},
		{"gpuuuid", m->uuid},
		{"vendor", vendors[m->vendor]},
		{"pci", m->pci},
		{"model", m->model},
		{"mig", m->mig ? "true" : "false"},
	};

	(void)snprintf(index, sizeof(index), "%u", m->index);
	prom_family(out, &gpu_info);
	prom_put_u64(out, labels, sizeof(labels) / sizeof(labels[0]), 1);
	/* an outdated gauge is worse than none */
	if (now_ns > m->read_ns && now_ns - m->read_ns > CHILD_GPU_STALE_NS)
		return;
	gpu_values_put(out, m, labels, 3);
}

static void put_gpu_instances(const struct gpu_view *v, struct prom *out,
			      uint64_t now_ns)
{
	const struct child_gpu_instances *m = &v->in.instances;
	char index[16];
	struct prom_label labels[] = {{"hostname", v->source->env->hostname},
				      {"index", index},
				      {"gpuuuid", m->uuid}};

	if (now_ns > m->read_ns && now_ns - m->read_ns > CHILD_GPU_STALE_NS)
		return;
	(void)snprintf(index, sizeof(index), "%u", m->index);
	gpu_instances_put(out, m, labels, 3);
}

static void put_gpu_names(struct gpu_view *v, struct prom *out, const char *name,
			  uint64_t now_ns)
{
	const struct env *env = v->source->env;

	if (now_ns > v->in.gpu.read_ns + CHILD_GPU_STALE_NS)
		return;
	v->device = v->in;
	bool divided = child_link_get(env->gpu, CHILD_GPU_INSTANCES, name, &v->in,
				      sizeof(v->in)) > 0;
	gpu_names_put(out, &v->device.gpu, divided ? &v->in.instances : NULL,
		      env->hostname);
}

static void put_gpu_energy(const struct gpu_view *v, struct prom *out)
{
	const struct source_snapshot *last = &v->source->last;

	for (size_t i = 0; i < last->count; i++) {
		const struct source_channel *c = &last->channels[i];
		struct prom_label labels[] = {{"hostname", v->source->env->hostname},
					      {"index", c->name},
					      {"gpuuuid", c->chip}};
		if (c->kind != SOURCE_ENERGY)
			continue;
		prom_family(out, &gpu_energy);
		prom_put_scaled(out, labels, 3, c->value, 6);
	}
}

static int gpu_view_collect(void *state, struct prom *out, struct err *err)
{
	struct gpu_view *v = state;
	const struct env *env = v->source->env;
	uint64_t now_ns = env->boottime_ns();
	uint64_t starts = child_link_starts(env->gpu);
	char name[CHILD_NAME_BYTES];

	prom_put_one(out, &gpu_restarts, "hostname", env->hostname,
		     starts ? starts - 1 : 0);
	for (unsigned i = 0; i < CHILD_GPUS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "gpu%u", i);
		if (child_link_get(env->gpu, CHILD_GPU, name, &v->in, sizeof(v->in)) >
		    0) {
			put_gpu(v, out, now_ns);
			if (v->names)
				put_gpu_names(v, out, name, now_ns);
		}
		if (child_link_get(env->gpu, CHILD_GPU_INSTANCES, name, &v->in,
				   sizeof(v->in)) > 0)
			put_gpu_instances(v, out, now_ns);
	}
	int rc = source_view_read(v->source, err);
	if (rc < 0)
		return rc == -EAGAIN ? 0 : rc;
	put_gpu_energy(v, out);
	source_put_health(out, "gpu", &v->source->last, now_ns);
	return 0;
}

const struct collector collector_gpu = {
	.name = "gpu",
	.source = &source_gpu,
	.open = gpu_view_open,
	.collect = gpu_view_collect,
	.close = gpu_view_close,
};
