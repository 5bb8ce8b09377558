/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills in reports. */
#include "daemon/reports/report_fill.h"

#include <string.h>

#include "daemon/gpus/driver_gpus.h"
#include "daemon/units_energy.h"
#include "daemon/units_found.h"
#include "lib/clamp.h"
#include "lib/clock.h"
#include "lib/crc32c.h"
#include "lib/parse.h"

#define SET(r, member, text) report_set(r, (r)->member, sizeof((r)->member), text)

/* Numbers on the wire are independent of enum energy_domain. */
_Static_assert(ENERGY_PACKAGE + 1 == REPORT_PACKAGE && ENERGY_DRAM + 1 == REPORT_DRAM &&
		       ENERGY_PSYS + 1 == REPORT_PSYS && ENERGY_GPU + 1 == REPORT_GPU &&
		       ENERGY_HOST + 1 == REPORT_HOST &&
		       ENERGY_OTHER + 1 == REPORT_OTHER,
	       "domains");
_Static_assert((int)UNIT_END_COMPLETED == (int)REPORT_END_COMPLETED &&
		       (int)UNIT_END_FAILED == (int)REPORT_END_FAILED &&
		       (int)UNIT_END_OOM == (int)REPORT_END_OOM &&
		       (int)UNIT_END_LOST == (int)REPORT_END_LOST,
	       "ends");
_Static_assert((unsigned)UNIT_GPU_FIGURES == COUNT_GPU_FIGURES, "figures of GPUs");

uint64_t report_time_of(const struct unit *unit, uint64_t boottime_ns)
{
	if (!boottime_ns)
		return 0;
	return unit->started_realtime_ns + (boottime_ns - unit->started_boottime_ns);
}

void report_fill_unit(struct report *r, enum report_type type, const struct units *u,
		      uint32_t i, const struct report_who *who)
{
	const struct unit *unit = units_get((struct units *)u, i);
	bool guess = unit->marks & UNIT_DISCOVERED;

	report_init(r, type, (enum record_manager)unit->manager);
	r->instance = unit_report(u, i)->instance;
	r->flags |= unit->flags & RECORD_CUT ? REPORT_CUT : 0;
	r->flags |= unit->flags & RECORD_GPUS_TRUSTED ? REPORT_GPUS_TRUSTED : 0;
	r->flags |= guess ? REPORT_DISCOVERED : 0;
	r->flags |= unit->marks & UNIT_FOUND ? REPORT_FOUND : 0;
	r->flags |= unit->marks & UNIT_SLUID ? REPORT_SLUID : 0;
	r->before = unit_before(u, i)->all;
	SET(r, cluster, who->cluster);
	SET(r, node, *unit->node ? unit->node : who->hostname);
	SET(r, boot_id, who->boot_id);
	SET(r, unit, unit->id);
	r->restarts = unit->restarts;
	r->uid = guess ? RECORD_NO_VAL : unit->uid;
	r->gid = guess ? RECORD_NO_VAL : unit->gid;
	r->array_job = unit->array_job;
	r->array_task = unit->array_task;
	r->cpus = unit_cpus(unit);
	r->millicpus = unit->flags & RECORD_MILLICPUS ? unit->cpus : 0;
	r->memory_bytes = unit->memory_bytes;
	SET(r, gpus, unit->gpus);
	SET(r, gpu_share, unit->gpu_share);
	uint32_t gpus;
	if (unit->manager == MANAGER_K8S)
		r->gpu_count = driver_gpus_count(unit->gpus);
	else if (*unit->gpus &&
		 parse_list_count(unit->gpus, strlen(unit->gpus), &gpus) == 0)
		r->gpu_count = gpus;
	r->started_ns = unit->started_realtime_ns;
	r->started_boottime_ns = unit->started_boottime_ns;
	SET(r, hints.sluid, unit->sluid);
	SET(r, hints.name, unit->name);
	SET(r, hints.account, unit->account);
	SET(r, hints.partition, unit->partition);
	r->hints.het_job = unit->het_job;
	r->steps_started = unit->steps_started;
}

static void fill_use(struct report *r, const struct report_sums *from,
		     const struct report_sums *to, uint64_t peak_bytes)
{
	struct report_use *use = &r->use;
	uint64_t ms = clamp_minus(to->memory_ms, from->memory_ms);

	use->known = REPORT_HAS_CPU;
	use->cpu_user_ns = clamp_minus(to->cpu_user_ns, from->cpu_user_ns);
	use->cpu_system_ns = clamp_minus(to->cpu_system_ns, from->cpu_system_ns);
	use->cpu_throttled_ns = clamp_minus(to->throttled_ns, from->throttled_ns);
	use->oom_kills = clamp_minus(to->oom_kills, from->oom_kills);
	use->io_read_bytes = clamp_minus(to->io_read_bytes, from->io_read_bytes);
	use->io_write_bytes = clamp_minus(to->io_write_bytes, from->io_write_bytes);
	if (to->io_read_bytes || to->io_write_bytes)
		use->known |= REPORT_HAS_IO;
	if (ms) {
		use->known |= REPORT_HAS_MEMORY_AVERAGE;
		use->memory_average_bytes =
			clamp_minus(to->memory_kib_ms, from->memory_kib_ms) / ms * 1024;
	}
	if (peak_bytes) {
		use->known |= REPORT_HAS_MEMORY_PEAK;
		use->memory_peak_bytes = peak_bytes;
	}
	r->observed_ns = clamp_minus(to->observed_ns, from->observed_ns);
	if (r->observed_ns > r->t1_ns - r->t0_ns)
		r->observed_ns = r->t1_ns - r->t0_ns;
}

/* Readings stand for all of the time in which the unit held its devices. */
static uint64_t held_part(const struct report *r, uint64_t part, uint64_t of)
{
	unsigned __int128 held =
		(unsigned __int128)r->gpu_count * (r->t1_ns - r->t0_ns);

	return part > of ? 0 : (uint64_t)(held * part / of);
}

static void fill_gpu_use(struct report *r, const struct unit_gpu_sums *from,
			 const struct unit_gpu_sums *to)
{
	struct report_use *use = &r->use;
	uint64_t of_ns = clamp_minus(to->busy_of_ns, from->busy_of_ns);
	uint64_t of_ms = clamp_minus(to->memory_of_ms, from->memory_of_ms);

	if (of_ns) {
		use->known |= REPORT_HAS_GPU_BUSY;
		use->gpu_busy_ns =
			held_part(r, clamp_minus(to->busy_ns, from->busy_ns), of_ns);
	}
	if (of_ms) {
		use->known |= REPORT_HAS_GPU_MEMORY;
		use->gpu_memory_bytes =
			clamp_minus(to->memory_kib_ms, from->memory_kib_ms) / of_ms *
			1024 * r->gpu_count;
	}
}

static void fill_gpu_figures(struct report *r, const struct unit_gpu_figures *from,
			     const struct unit_gpu_figures *to)
{
	for (unsigned k = 0; k < UNIT_GPU_FIGURES; k++) {
		uint64_t ppm_ms = clamp_minus(to->ppm_ms[k], from->ppm_ms[k]);
		uint64_t of_ms = clamp_minus(to->of_ms[k], from->of_ms[k]);
		if (of_ms)
			report_count_set(&r->counts, COUNT_GPU_FIGURE + k,
					 held_part(r, ppm_ms, of_ms * 1000000));
	}
}

static void fill_gpu_counts(struct report *r, const struct unit_gpu_use *g)
{
	if (g->live.busy_of_ns)
		report_count_set(&r->counts, COUNT_GPU_IDLE_NS,
				 held_part(r, g->live.idle_ns, g->live.busy_of_ns));
	if (!g->live.memory_of_ms)
		return;
	report_count_set(&r->counts, COUNT_GPU_MEMORY_PEAK_BYTES,
			 g->memory_peak_kib * 1024);
	report_count_set(&r->counts, COUNT_GPU_MEMORY_SIZE_BYTES,
			 g->memory_size_kib * 1024);
}

static void fill_energy(struct report *r, const struct unit_report *ur,
			const struct report_sums *from, const struct report_sums *to,
			const struct report_who *who)
{
	for (uint32_t k = 0; k < ur->energies && k < REPORT_ENERGIES_MAX; k++) {
		uint32_t source = ur->energy[k].source;
		const char *name = source ? who->source_name(source) : "unknown";
		uint64_t uj = clamp_minus(to->uj[k], from->uj[k]);
		if (uj)
			(void)report_add_energy(r, ur->energy[k].domain + 1, name, uj);
	}
}

void report_fill_window(struct report *r, const struct units *u, uint32_t i,
			const struct report_who *who)
{
	const struct unit_report *ur = unit_report(u, i);

	r->t0_ns = ur->t0_ns;
	r->t1_ns = ur->t1_ns;
	fill_use(r, &ur->told, &ur->next, ur->pending_peak_bytes);
	fill_gpu_use(r, &unit_gpu_use(u, i)->told, &unit_gpu_use(u, i)->next);
	fill_gpu_figures(r, &unit_gpu_profile(u, i)->told,
			 &unit_gpu_profile(u, i)->next);
	fill_energy(r, ur, &ur->told, &ur->next, who);
}

void report_fill_totals(struct report *r, const struct units *u, uint32_t i,
			const struct report_sums *sums, const struct report_who *who)
{
	const struct unit *unit = units_get((struct units *)u, i);
	static const struct unit_gpu_sums no_gpus;
	static const struct unit_gpu_figures no_figures;
	const struct unit_report *ur = unit_report(u, i);
	struct unit_totals t;

	const struct report_before *before = &unit_before(u, i)->all;
	const struct report_sums from = {
		.cpu_user_ns = before->cpu_user_ns,
		.cpu_system_ns = before->cpu_system_ns,
		.io_read_bytes = before->io_read_bytes,
		.io_write_bytes = before->io_write_bytes,
	};

	unit_total(u, i, &t);
	r->t0_ns = unit->started_realtime_ns;
	r->ended_ns = report_time_of(unit, unit->ended_boottime_ns);
	if (r->ended_ns < r->t0_ns)
		r->ended_ns = r->t0_ns;
	r->end = (uint8_t)(unit->end ? unit->end : UNIT_END_COMPLETED);
	r->t1_ns = r->ended_ns > r->t0_ns ? r->ended_ns : r->t0_ns + NSEC_PER_MSEC;
	fill_use(r, &from, sums,
		 t.memory_peak_bytes > ur->peak_bytes ? t.memory_peak_bytes
						      : ur->peak_bytes);
	fill_gpu_use(r, &no_gpus, &unit_gpu_use(u, i)->live);
	fill_gpu_counts(r, unit_gpu_use(u, i));
	fill_gpu_figures(r, &no_figures, &unit_gpu_profile(u, i)->live);
	fill_energy(r, ur, &from, sums, who);
}

bool report_fill_step(struct report *r, const struct units *u, uint32_t i,
		      uint32_t step)
{
	if (r->step_count == REPORT_STEPS_MAX) {
		r->flags |= REPORT_STEPS_CUT;
		return false;
	}
	const struct unit *unit = units_get((struct units *)u, i);
	const struct step *s = steps_get((struct units *)u, step);
	const struct step_energy *e = step_energy(u, step);
	struct report_step *to = &r->steps[r->step_count++];
	*to = (struct report_step){
		.step = s->step,
		.flags = (s->state == UNIT_RUNNING ? REPORT_STEP_RUNNING : 0u) |
			 (s->lost == STEP_LOST ? REPORT_STEP_LOST : 0u) |
			 (s->lost == STEP_LOST && (s->flags & STEP_POLLED)
				  ? REPORT_STEP_POLLED
				  : 0u) |
			 (s->flags & RECORD_SIGNALLED ? REPORT_STEP_SIGNALLED : 0u) |
			 (s->discovered ? REPORT_STEP_DISCOVERED : 0u),
		.exit_status = s->exit_status,
		.tasks = s->tasks,
		.cpus = s->cpus,
		.started_ns = report_time_of(unit, s->started_boottime_ns),
		.ended_ns = report_time_of(unit, s->ended_boottime_ns),
		.cpu_user_ns = s->totals.cpu_user_ns,
		.cpu_system_ns = s->totals.cpu_system_ns,
		.memory_peak_bytes = s->totals.memory_peak_bytes,
		.io_read_bytes = s->totals.io_read_bytes,
		.io_write_bytes = s->totals.io_write_bytes,
		.oom_kills = s->totals.oom_kills,
	};
	for (uint32_t d = 0; d < ENERGY_DOMAINS; d++)
		to->energy_uj[d + 1] = e->uj[d];
	const struct step_name *name = steps_name(u, step);
	report_set(r, to->command, sizeof(to->command), name->command);
	report_set(r, to->label, sizeof(to->label), name->label);
	return true;
}

uint32_t report_fill_hash(const struct units *u, uint32_t i)
{
	const struct unit *unit = units_get((struct units *)u, i);
	const uint32_t told = UNIT_DISCOVERED | UNIT_FOUND | UNIT_SLUID;
	const uint64_t numbers[] = {
		unit->restarts,     unit->uid,
		unit->gid,          unit->array_job,
		unit->array_task,   unit->het_job,
		unit_mcpus(unit),   unit->marks & told,
		unit->memory_bytes, unit->started_realtime_ns,
	};
	uint32_t h = crc32c(0, numbers, sizeof(numbers));

	h = crc32c(h, unit->id, sizeof(unit->id));
	h = crc32c(h, unit->node, sizeof(unit->node));
	h = crc32c(h, unit->gpus, sizeof(unit->gpus));
	h = crc32c(h, unit->gpu_share, sizeof(unit->gpu_share));
	h = crc32c(h, unit->name, sizeof(unit->name));
	h = crc32c(h, unit->account, sizeof(unit->account));
	h = crc32c(h, unit->partition, sizeof(unit->partition));
	h = crc32c(h, unit->sluid, sizeof(unit->sluid));
	return h ? h : 1;
}
