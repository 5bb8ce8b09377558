/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the readings of devices to totals of the units that hold them. */
#include "daemon/ticker/gpu_use.h"

#include "lib/clock.h"

/* A unit's devices in one tick, together */
struct gpu_use_sum {
	struct unit_gpu_sums more;
	struct unit_gpu_figures figures;
	uint64_t used_kib, size_kib;
};

static bool held_then(const struct energy_use *use, uint64_t at_ns)
{
	return use->started_ns < at_ns && (!use->ended_ns || at_ns < use->ended_ns);
}

static void add_figures(const struct gpu_reading *g, uint64_t ms,
			struct unit_gpu_figures *sum)
{
	static const enum child_gpu_figure figures[UNIT_GPU_FIGURES] = {
		[UNIT_GPU_SM] = CHILD_GPU_SM,
		[UNIT_GPU_OCCUPANCY] = CHILD_GPU_OCCUPANCY,
		[UNIT_GPU_TENSOR] = CHILD_GPU_TENSOR,
		[UNIT_GPU_FP64] = CHILD_GPU_FP64,
		[UNIT_GPU_FP32] = CHILD_GPU_FP32,
		[UNIT_GPU_FP16] = CHILD_GPU_FP16,
		[UNIT_GPU_DRAM] = CHILD_GPU_DRAM,
	};

	for (unsigned k = 0; k < UNIT_GPU_FIGURES; k++) {
		uint64_t ppm = g->ppm[figures[k]];
		if (!(g->figures >> figures[k] & 1))
			continue;
		sum->of_ms[k] += ms;
		sum->ppm_ms[k] += (ppm < ENERGY_ONE_PPM ? ppm : ENERGY_ONE_PPM) * ms;
	}
}

static void add_reading(const struct gpu_reading *g, uint64_t ns,
			struct gpu_use_sum *sum)
{
	if (g->have >> CHILD_GPU_BUSY & 1) {
		uint64_t ppm = g->value[CHILD_GPU_BUSY];
		ppm = ppm < ENERGY_ONE_PPM ? ppm : ENERGY_ONE_PPM;
		sum->more.busy_of_ns += ns;
		sum->more.busy_ns += ns / 1000 * ppm / 1000;
		sum->more.idle_ns += ppm ? 0 : ns;
	}
	if (g->have >> CHILD_GPU_MEMORY_USED & 1) {
		uint64_t ms = (ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
		sum->more.memory_of_ms += ms;
		sum->more.memory_kib_ms += g->value[CHILD_GPU_MEMORY_USED] / 1024 * ms;
		add_figures(g, ms, &sum->figures);
	}
}

static void add_held_device(const struct energy_use *use, const struct gpu_reading *g,
			    struct gpu_use_sum *sum)
{
	uint64_t ns = gpu_reading_ns(g);

	if (!held_then(use, g->read_ns))
		return;
	if (ns > g->read_ns - use->started_ns)
		ns = g->read_ns - use->started_ns;
	if (ns)
		add_reading(g, ns, sum);
	if (g->have >> CHILD_GPU_MEMORY_USED & 1)
		sum->used_kib += g->value[CHILD_GPU_MEMORY_USED] / 1024;
	if (g->have >> CHILD_GPU_MEMORY_TOTAL & 1)
		sum->size_kib += g->value[CHILD_GPU_MEMORY_TOTAL] / 1024;
}

static uint32_t unit_of_use(const struct energy_use *use)
{
	return (uint32_t)(use->account->key - ENERGY_KEYS_RESERVED);
}

/* With MPS the driver may take all clients for the server: how busy they are is not
 * told, as long as no real device has shown otherwise. */
static void add_shared_device(const struct energy_use *use, const struct gpu_part *part,
			      const struct gpu_reading *g,
			      const struct gpu_shared_use *own, struct gpu_use_sum *sum)
{
	const uint64_t total = g->have & 1u << CHILD_GPU_MEMORY_TOTAL;
	struct gpu_reading r = {.read_ns = g->read_ns, .used_ns = g->used_ns};

	if (own->has_busy && !part->by_mps && g->have >> CHILD_GPU_BUSY & 1)
		r.have |= 1u << CHILD_GPU_BUSY;
	if (own->has_memory)
		r.have |= 1u << CHILD_GPU_MEMORY_USED | total;
	r.value[CHILD_GPU_BUSY] = own->busy_ppm;
	r.value[CHILD_GPU_MEMORY_USED] = own->memory_bytes;
	r.value[CHILD_GPU_MEMORY_TOTAL] = g->value[CHILD_GPU_MEMORY_TOTAL];
	add_held_device(use, &r, sum);
}

static void add_vgpu(const struct energy_use *use, const struct child_gpu_vgpu *v,
		     const struct gpu_reading *g, struct gpu_use_sum *sum)
{
	struct gpu_reading r = {.read_ns = g->read_ns, .used_ns = g->used_ns};

	if (v->have >> CHILD_GPU_VGPU_BUSY & 1)
		r.have |= 1u << CHILD_GPU_BUSY;
	if (v->have >> CHILD_GPU_VGPU_USED & 1)
		r.have |= 1u << CHILD_GPU_MEMORY_USED;
	if (v->have >> CHILD_GPU_VGPU_SIZE & 1)
		r.have |= 1u << CHILD_GPU_MEMORY_TOTAL;
	r.value[CHILD_GPU_BUSY] = v->busy_ppm;
	r.value[CHILD_GPU_MEMORY_USED] = v->used_bytes;
	r.value[CHILD_GPU_MEMORY_TOTAL] = v->size_bytes;
	add_held_device(use, &r, sum);
}

/* The unit's devices, and who shares them */
struct gpu_use_of {
	const struct units *units;
	const struct usage_deltas *deltas;
	const struct gpu_readings *readings;
	const struct gpu_sharing *sharing;
};

static void add_unit_devices(const struct gpu_use_of *of, const struct energy_use *use,
			     struct gpu_use_sum *sum)
{
	const struct gpu_part *part =
		use->gpu_count ? &of->deltas->parts[use->gpus - of->deltas->gpus]
			       : NULL;

	for (size_t i = 0; i < use->gpu_count; i++, part++) {
		uint32_t device = use->gpus[i].gpu;
		const struct gpu_reading *g =
			part->instance == GPUS_NONE
				? gpu_readings_last(of->readings, device)
				: gpu_readings_instance(of->readings, device,
							part->instance);
		/* memory and counters are the GPU instance's */
		if (part->is_compute)
			continue;
		if (g && part->vgpu) {
			add_vgpu(use, &part->vgpu->said, g, sum);
		} else if (g && part->share_ppm == ENERGY_ONE_PPM) {
			add_held_device(use, g, sum);
		} else if (g && part->instance == GPUS_NONE) {
			struct gpu_shared_use own = gpu_sharing_use(
				of->sharing, of->units, device, unit_of_use(use));
			add_shared_device(use, part, g, &own, sum);
		}
	}
}

void gpu_use_add(struct units *u, const struct usage_deltas *w,
		 const struct gpu_readings *r, const struct gpu_sharing *s)
{
	const struct gpu_use_of of = {u, w, r, s};

	for (size_t k = 0; k < w->count; k++) {
		const struct energy_use *use = &w->use[k];
		struct gpu_use_sum sum = {.used_kib = 0};
		if (use->account->key < ENERGY_KEYS_RESERVED)
			continue;
		add_unit_devices(&of, use, &sum);
		if (sum.size_kib || sum.more.busy_of_ns)
			unit_report_gpus(u, unit_of_use(use), &sum.more, &sum.figures,
					 sum.used_kib, sum.size_kib);
	}
}
