/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the unit table to the inputs of the attribution: CPU time since the last tick,
 * allocations, memory, GPUs. */
#include "daemon/ticker/usage_deltas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sources/meters.h"
#include "lib/clock.h"

#define GPUS_PER_UNIT METERS_GPUS

void usage_deltas_done(struct usage_deltas *w)
{
	free(w->use);
	free(w->accounts);
	free(w->gpus);
	free(w->parts);
	free(w->map);
	*w = (struct usage_deltas){0};
}

static int reserve_usage_deltas(struct usage_deltas *w, size_t n)
{
	if (n <= w->cap)
		return 0;
	size_t cap = n + n / 2;
	struct energy_use *use = calloc(cap, sizeof(*use));
	struct energy_account **accounts = calloc(cap, sizeof(struct energy_account *));
	if (!use || !accounts) {
		free(use);
		free(accounts);
		return -ENOMEM;
	}
	free(w->use);
	free(w->accounts);
	w->use = use;
	w->accounts = accounts;
	w->cap = cap;
	return 0;
}

static int reserve_gpus(struct usage_deltas *w, size_t units)
{
	size_t n = units * GPUS_PER_UNIT;
	if (n > w->gpu_cap) {
		free(w->gpus);
		free(w->parts);
		w->gpu_cap = 0;
		w->gpus = calloc(n, sizeof(*w->gpus));
		w->parts = calloc(n, sizeof(*w->parts));
		if (!w->gpus || !w->parts)
			return -ENOMEM;
		w->gpu_cap = n;
	}
	if (w->map)
		return 0;
	/* sensors number devices as Slurm does, as far as known */
	w->map = calloc(1, sizeof(*w->map));
	if (!w->map)
		return -ENOMEM;
	w->map->managed = true;
	w->map->count = METERS_GPUS;
	for (uint32_t i = 0; i < METERS_GPUS; i++)
		w->map->gpu[i] = (struct gpu){
			.index = i, .instance = GPUS_NONE, .compute = GPUS_NONE};
	return 0;
}

/* The unit's GPUs by Slurm's map, which says the size of a share and which device of
 * the driver an index is. Where slurmd is of no help the indices are taken for the
 * sensors' own; while it has not answered they are if that cannot be wrong, else nobody
 * is charged. */
static int find_gpus(struct usage_deltas *w, const struct usage_deltas_params *p,
		     const struct unit *unit, struct gpu_use *ret, bool *mapped)
{
	int n = -ENOENT;

	if ((unit->gpu_share[0] || p->gpus_by_driver) && p->gpu_maps)
		n = gpu_maps_of(p->gpu_maps, unit, p->gpus_by_driver, ret,
				GPUS_PER_UNIT, NULL);
	*mapped = p->gpus_by_driver && n >= 0;
	if (n == -EAGAIN && p->gpus_by_driver && p->gpus > 1)
		return 0;
	return n >= 0 ? n
		      : gpus_of(w->map, unit->gpus, unit->gpu_share, ret, GPUS_PER_UNIT,
				NULL);
}

/* Instances of a divided device (MIG), and compute instances of those, by what
 * ceems-gpu tells of them; while it has not told, in equal parts. */
static struct gpu_weight weigh_gpu(const struct usage_deltas_params *p, uint32_t unit,
				   const struct gpu_use *use, uint32_t device,
				   bool mapped)
{
	const struct gpu *g = use->gpu;
	struct gpu_weight w = {
		.share_ppm = ENERGY_ONE_PPM / (mapped && g->parts ? g->parts : 1),
		.is_part = mapped && g->siblings > 1,
	};

	if (mapped && g->instance != GPUS_NONE &&
	    gpu_weights_of(p->gpu_weights, device, g->instance, g->compute, &w) &&
	    g->compute == GPUS_NONE && g->siblings > 1) {
		/* which of the instance's compute instances it is is not known */
		w.share_ppm /= g->siblings;
		w.use_ppm /= g->siblings;
		w.is_part = true;
	}
	w.share_ppm = (uint32_t)(use->share * w.share_ppm);
	w.use_ppm = (uint32_t)(use->share * w.use_ppm);
	if (mapped && use->share < 1 && g->instance == GPUS_NONE)
		w.use_ppm = gpu_sharing_ppm(p->gpu_sharing, p->units, device, unit);
	return w;
}

static void take_gpus(struct usage_deltas *w, const struct usage_deltas_params *p,
		      uint32_t i_unit, struct energy_use *use)
{
	const struct unit *unit = units_get(p->units, i_unit);
	struct gpu_use found[GPUS_PER_UNIT];
	bool mapped;
	int n = find_gpus(w, p, unit, found, &mapped);

	w->gpus_unclear |= n <= 0;
	use->gpus = &w->gpus[w->gpu_count];
	for (int i = 0; i < n; i++) {
		const struct gpu *g = found[i].gpu;
		uint32_t index =
			mapped && g->smi_index != GPUS_NONE ? g->smi_index : g->index;
		if (index >= p->gpus)
			continue;
		struct gpu_weight part = weigh_gpu(p, i_unit, &found[i], index, mapped);
		w->parts[w->gpu_count] = (struct gpu_part){
			.instance = mapped ? g->instance : GPUS_NONE,
			.share_ppm = (uint32_t)(found[i].share * ENERGY_ONE_PPM),
			.by_mps = strncmp(unit->gpu_share, "mps", 3) == 0,
			.is_compute = part.is_part};
		w->gpus[w->gpu_count++] =
			(struct energy_gpu_share){index, part.share_ppm, part.use_ppm};
		use->gpu_count++;
	}
}

/* A virtual machine's parts of devices, by the host's figures of them. What it has as a
 * whole (PCI passthrough) no driver of the host sees: it is not measured. */
static void take_vgpus(struct usage_deltas *w, const struct usage_deltas_params *p,
		       const struct unit *unit, struct energy_use *use)
{
	const struct gpu_vgpu *v = NULL;

	use->gpus = &w->gpus[w->gpu_count];
	while (use->gpu_count < GPUS_PER_UNIT &&
	       (v = gpu_vgpus_next(p->gpu_vgpus, unit->id, v))) {
		const struct child_gpu_vgpu *said = &v->said;
		struct gpu_weight in = {.share_ppm = ENERGY_ONE_PPM};
		uint64_t use_ppm = said->busy_ppm;
		if (v->device >= p->gpus)
			continue;
		if (said->gi != CHILD_GPU_NONE) {
			(void)gpu_weights_of(p->gpu_weights, v->device, said->gi,
					     GPUS_NONE, &in);
			use_ppm = (uint64_t)in.use_ppm * v->share_ppm / ENERGY_ONE_PPM;
		}
		w->parts[w->gpu_count] = (struct gpu_part){
			.instance = GPUS_NONE, .share_ppm = v->share_ppm, .vgpu = v};
		w->gpus[w->gpu_count++] = (struct energy_gpu_share){
			v->device,
			(uint32_t)((uint64_t)in.share_ppm * v->share_ppm /
				   ENERGY_ONE_PPM),
			(uint32_t)use_ppm};
		use->gpu_count++;
	}
}

static uint64_t totals_cpu_ns(const struct unit_totals *t)
{
	return t->cpu_user_ns + t->cpu_system_ns;
}

/* Use of a discovered step before it was found is not charged. */
static void greet_steps(struct units *u, uint32_t i, struct unit_energy *energy)
{
	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s)) {
		const struct step *step = steps_get(u, s);
		struct step_energy *e = step_energy_draft(u, s);
		if (!e->seen && step->discovered) {
			e->charged_cpu_ns = totals_cpu_ns(&step->totals);
			energy->charged_cpu_ns += e->charged_cpu_ns;
		}
		e->seen = 1;
	}
}

static uint64_t lived_ms(const struct usage_deltas_params *p, uint64_t started_ns,
			 uint64_t ended_ns)
{
	uint64_t from = started_ns > p->t0_ns ? started_ns : p->t0_ns;
	uint64_t to = ended_ns && ended_ns < p->t1_ns ? ended_ns : p->t1_ns;
	return to > from ? (to - from) / NSEC_PER_MSEC : 0;
}

static uint64_t rss_kib(const struct usage_deltas_params *p, uint32_t i)
{
	uint64_t bytes = 0;
	for (uint32_t s = units_first_step(p->units, i); p->sample && s != UNITS_NONE;
	     s = steps_after(p->units, s))
		bytes += sample_rss_bytes(p->sample, s);
	return bytes / 1024;
}

/* For a unit found by its directory the CPUs of its cpuset. */
static uint32_t cpus_of(const struct usage_deltas_params *p, const struct unit *unit,
			uint32_t i)
{
	return unit->cpus || !p->sample ? unit->cpus : sample_job_cpus(p->sample, i);
}

static void take_unit_use(struct usage_deltas *w, const struct usage_deltas_params *p,
			  uint32_t i)
{
	const struct unit *unit = units_get(p->units, i);
	struct unit_energy *energy = unit_energy_draft(p->units, i);
	struct unit_totals t;

	w->accounts[w->account_count++] = &energy->account;
	greet_steps(p->units, i, energy);
	unit_total(p->units, i, &t);
	if (unit->marks & UNIT_UNREAD) /* its earlier use is not charged */
		energy->charged_cpu_ns = totals_cpu_ns(&t);
	uint64_t used = totals_cpu_ns(&t), charged = energy->charged_cpu_ns;
	uint64_t new_ns = used > charged ? used - charged : 0;
	bool ended = unit->state == UNIT_ENDED;
	/* its device's counter may tell only now what it took until the end */
	bool held = unit->gpus[0] && p->gpus_from_ns &&
		    unit->ended_boottime_ns > p->gpus_from_ns;
	if (ended && unit->ended_boottime_ns <= p->t0_ns && !new_ns && !held)
		return;
	energy->charged_cpu_ns = charged + new_ns;
	struct energy_use *use = &w->use[w->count++];
	*use = (struct energy_use){
		.account = &energy->account,
		.started_ns = unit->started_boottime_ns,
		.ended_ns = ended ? unit->ended_boottime_ns : 0,
		.cpu_ns = new_ns,
		.activity_ppm = p->activity_ppm ? p->activity_ppm[i] : ENERGY_ONE_PPM,
		.alloc_mcpu = cpus_of(p, unit, i) * 1000,
		.alloc_kib = unit->memory_bytes / 1024,
	};
	use->memory_kib_ms =
		rss_kib(p, i) * lived_ms(p, use->started_ns, use->ended_ns);
	if (p->gpus && unit->manager == MANAGER_LIBVIRT)
		take_vgpus(w, p, unit, use);
	else if (p->gpus && unit->gpus[0])
		take_gpus(w, p, i, use);
	w->cpu_ns += new_ns;
	w->memory_kib_ms += use->memory_kib_ms;
}

static void take_leaver(struct usage_deltas *w, struct energy_state *draft,
			const struct energy_leaver *l)
{
	w->use[w->count++] = (struct energy_use){
		.account = &draft->node.ended,
		.started_ns = l->started_ns,
		.ended_ns = l->ended_ns ? l->ended_ns : 1,
		.cpu_ns = l->cpu_ns,
		.activity_ppm = ENERGY_ONE_PPM,
		.alloc_mcpu = l->alloc_mcpu,
		.alloc_kib = l->alloc_kib,
	};
	w->cpu_ns += l->cpu_ns;
}

int usage_deltas_accounts(struct usage_deltas *w, struct units *u, struct err *err)
{
	w->account_count = 0;
	if (reserve_usage_deltas(w, units_used(u) + ENERGY_LEAVERS) < 0)
		return err_set(err, -ENOMEM, "energy: out of memory");
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1))
		w->accounts[w->account_count++] = &unit_energy_draft(u, i)->account;
	return 0;
}

int usage_deltas_fill(struct usage_deltas *w, const struct usage_deltas_params *p,
		      struct energy_state *draft, struct err *err)
{
	struct units *u = p->units;

	w->count = w->account_count = w->gpu_count = 0;
	w->cpu_ns = w->memory_kib_ms = 0;
	w->gpus_unclear = false;
	if (reserve_usage_deltas(w, units_used(u) + ENERGY_LEAVERS) < 0 ||
	    (p->gpus && reserve_gpus(w, units_used(u)) < 0))
		return err_set(err, -ENOMEM, "energy: out of memory");
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1))
		take_unit_use(w, p, i);
	for (uint64_t l = 0; l < draft->leavers && l < ENERGY_LEAVERS; l++)
		take_leaver(w, draft, &draft->leaver[l]);
	draft->leavers = 0;
	return 0;
}

void usage_deltas_skip(const struct usage_deltas_params *p, struct energy_state *draft)
{
	struct units *u = p->units;

	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		struct unit_totals t;
		unit_total(u, i, &t);
		unit_energy_draft(u, i)->charged_cpu_ns = totals_cpu_ns(&t);
	}
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		struct step_energy *e = step_energy_draft(u, i);
		e->charged_cpu_ns = totals_cpu_ns(&steps_get(u, i)->totals);
		e->seen = 1;
	}
	draft->leavers = 0;
}
