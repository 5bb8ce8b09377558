/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The devices of a unit, and what they do, as samples. */
#include "daemon/gpus/unit_gpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gpus/driver_gpus.h"
#include "daemon/gpus/gpu_maps.h"
#include "daemon/gpus/unit_gpu_labels.h"
#include "daemon/sources/child_link.h"
#include "lib/log.h"

void unit_gpus_export_open(struct unit_gpus_export *x, const struct env *env)
{
	*x = (struct unit_gpus_export){.env = env};
}

void unit_gpus_export_close(struct unit_gpus_export *x)
{
	gpu_vgpus_free(x->vgpus);
	*x = (struct unit_gpus_export){.vgpus = NULL};
}

void unit_gpus_done(struct unit_gpus *u)
{
	for (size_t i = 0; i < u->count; i++)
		buf_done(&u->use[i].labels);
	free(u->use);
	*u = (struct unit_gpus){0};
}

static int render_gpu_labels(const struct unit_gpus_export *x, const struct unit *unit,
			     const struct gpu_use *use, struct unit_gpu *out)
{
	struct unit_gpu_labels l;

	unit_gpu_labels(&l, x->env, unit, use->gpu->index, use->gpu->uuid,
			use->gpu->instance);
	prom_render_labels(&out->labels, l.label, UNIT_GPU_LABELS);
	out->share = use->share;
	out->device = use->share < 1 ? GPUS_NONE : use->gpu->smi_index;
	out->instance = use->gpu->instance;
	out->compute = use->gpu->compute;
	out->is_part = use->gpu->siblings > 1;
	return buf_error(&out->labels);
}

static int take_unit_gpus(const struct unit_gpus_export *x, const struct unit *unit,
			  const struct gpu_use *use, int n, struct unit_gpus *u)
{
	u->done = true;
	if (!n)
		return 0;
	u->use = calloc((size_t)n, sizeof(*u->use));
	if (!u->use)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		int rc = render_gpu_labels(x, unit, &use[i], &u->use[u->count++]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void find_unit_gpus(struct unit_gpus_export *x, const struct unit *unit,
			   struct unit_gpus *u)
{
	struct gpu_use use[GPUS_MAX];
	struct err err = {""};
	int n = gpu_maps_of(x->env->gpu_maps, unit, true, use, GPUS_MAX, &err);

	if (n == -EAGAIN)
		return;
	if (n >= 0 && take_unit_gpus(x, unit, use, n, u) < 0)
		n = err_set(&err, -ENOMEM, "no memory");
	/* it will not be understood at the next scrape either */
	u->done |= n == -EINVAL || n == -ERANGE;
	if (n < 0 && log_repeat_due(&x->unknown, x->env->boottime_ns()))
		log_warn("%s: unit %s: gpus %s: %s: not exported",
			 record_manager_name((uint8_t)unit->manager), unit->id,
			 unit->gpus, err.text);
}

static const struct prom_family family_flag = {
	"ceems_compute_unit_gpu_index_flag", PROM_GAUGE,
	"Share of the device that the unit holds, 1 = all of it"};

static const struct prom_family
	family_power = {"ceems_compute_unit_gpu_power_watts", PROM_GAUGE,
			"Power of a device that the unit holds as a whole"},
	family_busy = {"ceems_compute_unit_gpu_busy_ratio", PROM_GAUGE,
		       "Share of the driver's last sample period in which a kernel ran "
		       "on a device that the unit holds as a whole"},
	family_memory_size = {"ceems_compute_unit_gpu_memory_size_bytes", PROM_GAUGE,
			      "Memory of a device that the unit holds as a whole, or "
			      "of its instance"},
	family_sm_count = {"ceems_compute_unit_gpu_sm_count", PROM_GAUGE,
			   "Multiprocessors, or compute units, of a device that the "
			   "unit holds as a whole, or of its instance (the driver's "
			   "count)"};

/* What is told of a device by itself, in the order of their samples */
static const struct unit_gpu_column {
	enum child_gpu_value value;
	const struct prom_family *family;
	unsigned decimals;
} unit_gpu_columns[] = {
	{CHILD_GPU_POWER, &family_power, 6},
	{CHILD_GPU_BUSY, &family_busy, 6},
	{CHILD_GPU_MEMORY_USED, &unit_gpu_memory_used, 0},
	{CHILD_GPU_MEMORY_TOTAL, &family_memory_size, 0},
	{CHILD_GPU_SM_COUNT, &family_sm_count, 0},
};

static const struct prom_family unit_gpu_figures[CHILD_GPU_FIGURES] = {
	[CHILD_GPU_GRAPHICS] = {"ceems_compute_unit_gpu_graphics_active_ratio",
				PROM_GAUGE,
				"Any engine active, of the device or instance that the "
				"unit holds (performance counters)"},
	[CHILD_GPU_SM] = {"ceems_compute_unit_gpu_sm_active_ratio", PROM_GAUGE,
			  "Multiprocessors with a warp, of the device or instance that "
			  "the unit holds (performance counters)"},
	[CHILD_GPU_OCCUPANCY] = {"ceems_compute_unit_gpu_sm_occupancy_ratio",
				 PROM_GAUGE,
				 "Warps on the multiprocessors, of the device or "
				 "instance that the unit holds (performance counters)"},
	[CHILD_GPU_TENSOR] = {"ceems_compute_unit_gpu_tensor_active_ratio", PROM_GAUGE,
			      "Tensor cores in use, of the device or instance that the "
			      "unit holds (performance counters)"},
	[CHILD_GPU_FP64] = {"ceems_compute_unit_gpu_fp64_active_ratio", PROM_GAUGE,
			    "FP64 units in use, of the device or instance that the "
			    "unit holds (performance counters)"},
	[CHILD_GPU_FP32] = {"ceems_compute_unit_gpu_fp32_active_ratio", PROM_GAUGE,
			    "FP32 units in use, of the device or instance that the "
			    "unit holds (performance counters)"},
	[CHILD_GPU_FP16] = {"ceems_compute_unit_gpu_fp16_active_ratio", PROM_GAUGE,
			    "FP16 units in use, of the device or instance that the "
			    "unit holds (performance counters)"},
	[CHILD_GPU_DRAM] = {"ceems_compute_unit_gpu_dram_active_ratio", PROM_GAUGE,
			    "Bandwidth to memory in use, of the device or instance "
			    "that the unit holds (performance counters)"},
};

/* The last message of use's device, if it is not too old */
union gpu_message {
	struct child_gpu gpu;
	struct child_gpu_instances instances;
	char bytes[sizeof(struct child_gpu_instances) +
		   CHILD_GPU_INSTANCES_MAX * sizeof(struct child_gpu_instance)];
};
_Static_assert(sizeof(union gpu_message) >=
		       sizeof(struct child_gpu) +
			       CHILD_GPU_POINTS_MAX * sizeof(struct child_gpu_point),
	       "both kinds fit");

static bool get_gpu_message(const struct unit_gpus_export *x,
			    const struct unit_gpu *use, enum child_kind kind,
			    union gpu_message *ret)
{
	char name[CHILD_NAME_BYTES];
	uint64_t now_ns = x->env->boottime_ns();

	(void)snprintf(name, sizeof(name), "gpu%u", use->device);
	if (!x->env->gpu || use->device == GPUS_NONE ||
	    child_link_get(x->env->gpu, kind, name, ret, sizeof(*ret)) < 0)
		return false;
	uint64_t read_ns =
		kind == CHILD_GPU ? ret->gpu.read_ns : ret->instances.read_ns;
	return now_ns <= read_ns + CHILD_GPU_STALE_NS;
}

static void put_unit_figures(const struct unit_gpu *use,
			     const struct child_gpu_profile *p, struct prom *out)
{
	for (unsigned i = 0; i < CHILD_GPU_FIGURES; i++) {
		if (!(p->have >> i & 1))
			continue;
		prom_family(out, &unit_gpu_figures[i]);
		prom_put_block_scaled(out, &use->labels, p->ppm[i], 6);
	}
}

/* A device that one unit holds has that unit's figures. */
static void put_device_values(const struct unit_gpus_export *x,
			      const struct unit_gpu *use, struct prom *out)
{
	static const size_t n = sizeof(unit_gpu_columns) / sizeof(unit_gpu_columns[0]);
	union gpu_message in;

	if (!get_gpu_message(x, use, CHILD_GPU, &in))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct unit_gpu_column *c = &unit_gpu_columns[i];
		if (!child_gpu_has(&in.gpu, c->value))
			continue;
		prom_family(out, c->family);
		prom_put_block_scaled(out, &use->labels, in.gpu.value[c->value],
				      c->decimals);
	}
	put_unit_figures(use, &in.gpu.profile, out);
}

/* The message's entry of what use holds; *alone: no other one is of its GPU instance.
 */
static const struct child_gpu_instance *
find_held_instance(const struct child_gpu_instances *m, const struct unit_gpu *use,
		   bool *alone)
{
	const struct child_gpu_instance *g = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_gpu_instance *in = &m->items[i];
		if (in->gi != use->instance)
			continue;
		count++;
		if (!g && (use->compute == GPUS_NONE || use->compute == in->ci))
			g = in;
	}
	*alone = count == 1 && !use->is_part;
	return *alone || use->compute != GPUS_NONE ? g : NULL;
}

static void put_instance_memory(const struct unit_gpu *use,
				const struct child_gpu_instance *g, struct prom *out)
{
	static const struct {
		enum child_gpu_instance_value which;
		const struct prom_family *family;
	} values[] = {{CHILD_GPU_INSTANCE_USED, &unit_gpu_memory_used},
		      {CHILD_GPU_INSTANCE_TOTAL, &family_memory_size}};

	for (size_t i = 0; i < 2; i++) {
		if (!(g->have >> values[i].which & 1))
			continue;
		prom_family(out, values[i].family);
		prom_put_block_u64(out, &use->labels, g->value[values[i].which]);
	}
}

/* An instance has no power, and how busy it is only its figures tell. Memory and
 * figures are the GPU instance's: of one of several compute instances they are not. */
static void put_instance_values(const struct unit_gpus_export *x,
				const struct unit_gpu *use, struct prom *out)
{
	union gpu_message in;
	bool alone;

	if (!get_gpu_message(x, use, CHILD_GPU_INSTANCES, &in))
		return;
	const struct child_gpu_instance *g =
		find_held_instance(&in.instances, use, &alone);
	if (!g)
		return;
	if (alone)
		put_instance_memory(use, g, out);
	if (g->sm_count) {
		prom_family(out, &family_sm_count);
		prom_put_block_u64(out, &use->labels, g->sm_count);
	}
	if (alone)
		put_unit_figures(use, &g->profile, out);
}

void unit_gpus_export_begin(struct unit_gpus_export *x, enum record_manager manager)
{
	if (manager == MANAGER_K8S)
		driver_gpus_look(x->env->driver_gpus, x->env->units);
	if (manager != MANAGER_LIBVIRT)
		return;
	if (!x->vgpus && x->env->gpu)
		x->vgpus = gpu_vgpus_new(x->env);
	if (x->vgpus)
		gpu_vgpus_take(x->vgpus, CHILD_GPUS_MAX);
}

static const struct prom_family vgpu_info = {
	"ceems_compute_unit_gpu_vgpu_info", PROM_GAUGE,
	"A part of a device (vGPU) that the virtual machine has, and its type"};

static void put_vgpu(const struct unit_gpus_export *x, const struct unit *unit,
		     const struct gpu_vgpu *v, struct prom *out)
{
	const struct child_gpu_vgpu *said = &v->said;
	const struct {
		enum child_gpu_vgpu_value which;
		const struct prom_family *family;
		uint64_t value;
		unsigned decimals;
	} values[] = {{CHILD_GPU_VGPU_BUSY, &family_busy, said->busy_ppm, 6},
		      {CHILD_GPU_VGPU_USED, &unit_gpu_memory_used, said->used_bytes, 0},
		      {CHILD_GPU_VGPU_SIZE, &family_memory_size, said->size_bytes, 0}};
	struct unit_gpu_labels l;
	char id[16];

	_Static_assert(CHILD_GPU_NONE == GPUS_NONE, "no instance is the same to both");
	(void)snprintf(id, sizeof(id), "%u", said->id);
	unit_gpu_labels(&l, x->env, unit, v->device, v->gpu_uuid, said->gi);
	l.label[UNIT_GPU_LABELS] = (struct prom_label){"vgpu", id};
	l.label[UNIT_GPU_LABELS + 1] = (struct prom_label){"type", said->type};
	prom_family(out, &vgpu_info);
	prom_put_u64(out, l.label, UNIT_GPU_LABELS + 2, 1);
	prom_family(out, &family_flag);
	prom_put_scaled(out, l.label, UNIT_GPU_LABELS + 1, v->share_ppm, 6);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (!(said->have >> values[i].which & 1))
			continue;
		prom_family(out, values[i].family);
		prom_put_scaled(out, l.label, UNIT_GPU_LABELS + 1, values[i].value,
				values[i].decimals);
	}
}

static void export_vgpus(const struct unit_gpus_export *x, const struct unit *unit,
			 struct prom *out)
{
	const struct gpu_vgpu *v = NULL;

	while ((v = gpu_vgpus_next(x->vgpus, unit->id, v)))
		put_vgpu(x, unit, v, out);
}

void unit_gpus_put(struct unit_gpus_export *x, const struct unit *unit,
		   struct unit_gpus *u, struct prom *out)
{
	if (unit->manager != MANAGER_SLURM)
		export_vgpus(x, unit, out);
	if (unit->manager == MANAGER_LIBVIRT || !unit->gpus[0])
		return;
	if (unit->manager == MANAGER_K8S) /* who shares a device changes */
		unit_gpus_done(u);
	if (!u->done)
		find_unit_gpus(x, unit, u);
	prom_family(out, &family_flag);
	for (size_t i = 0; i < u->count; i++)
		prom_put_block_f64(out, &u->use[i].labels, u->use[i].share);
	for (size_t i = 0; i < u->count; i++)
		if (u->use[i].instance == GPUS_NONE)
			put_device_values(x, &u->use[i], out);
		else
			put_instance_values(x, &u->use[i], out);
}
