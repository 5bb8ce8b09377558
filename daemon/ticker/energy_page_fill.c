/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The energy page for slurmstepd: node, jobs and steps of one tick, and the rates for
 * extrapolating to the next. */
#include "daemon/ticker/energy_page_fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/emissions.h"
#include "daemon/options.h"
#include "daemon/sample.h"
#include "daemon/sources/meters.h"
#include "daemon/ticker/ticker.h"
#include "daemon/units_energy.h"
#include "lib/clamp.h"
#include "lib/clock.h"
#include "lib/parse.h"

/* If less than this part of the node's CPU time was used, a tick says nothing about the
 * cost of CPU time. */
#define CARD_PARTS 100u

_Static_assert((int)ENERGY_PAGE_DOMAINS == (int)ENERGY_DOMAINS &&
		       (int)ENERGY_PAGE_HOST == (int)ENERGY_HOST &&
		       (int)ENERGY_PAGE_OTHER == (int)ENERGY_OTHER &&
		       (int)ENERGY_PAGE_GPU == (int)ENERGY_GPU,
	       "the page and the accounts have the same domains");

/* Of a unit's GPUs, by slot: energy at this tick, and power in it */
struct gpus_of {
	uint64_t serial, uj, uw;
};

struct energy_page_fill {
	const struct env *env;
	struct sample *sample;
	struct energy_page_writer *writer;
	struct energy_page_node node; /* of this tick; until then of the last one */
	struct gpus_of *gpus;         /* made when a GPU is first measured */
};

/* The baseline for the next tick's energy. */
static void set_page_base(struct energy_page_fill *p)
{
	memcpy(p->node.uj, units_energy(p->env->units)->node.measured_uj,
	       sizeof(p->node.uj));
}

struct energy_page_fill *energy_page_fill_new(const struct env *env,
					      struct sample *sample,
					      struct energy_page_writer *writer)
{
	struct energy_page_fill *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->env = env;
	p->sample = sample;
	p->writer = writer;
	set_page_base(p);
	return p;
}

void energy_page_fill_free(struct energy_page_fill *p)
{
	if (!p)
		return;
	free(p->gpus);
	free(p);
}

/* ---- the node -------------------------------------------------------------------- */

static uint64_t in_mask(const uint64_t v[ENERGY_DOMAINS], uint32_t mask)
{
	uint64_t sum = 0;

	for (int d = 0; d < ENERGY_DOMAINS; d++)
		sum += mask >> d & 1 ? v[d] : 0;
	return sum;
}

/* Once the whole node was measured it is the total, even while its sensor pauses. */
static uint32_t total_mask(const struct energy_node *n)
{
	if (n->source[ENERGY_HOST] || n->measured_uj[ENERGY_HOST])
		return 1u << ENERGY_HOST;
	return 1u << ENERGY_PACKAGE | 1u << ENERGY_DRAM | 1u << ENERGY_GPU;
}

static uint32_t reading_age_s(const struct ticker_view *v, int d)
{
	uint64_t age_s = v->measured_ns[d] ? clamp_minus(v->t1_ns, v->measured_ns[d]) /
						     NSEC_PER_SEC
					   : 0;

	return age_s < ENERGY_PAGE_AGE_MAX_S ? (uint32_t)age_s : ENERGY_PAGE_AGE_MAX_S;
}

static void set_domain(struct energy_page_node *node, const struct energy_node *n,
		       const struct ticker_view *v, int d)
{
	bool host = d == ENERGY_HOST || d == ENERGY_OTHER;
	uint32_t source = n->source[d] ? n->source[d]
			  : host       ? n->source[ENERGY_OTHER]
				       : 0;
	const char *name = meters_source_name(source);

	node->uj[d] = n->measured_uj[d];
	(void)snprintf(node->source[d], sizeof(node->source[d]), "%s", name);
	node->flags[d] = strcmp(name, "model") == 0 ? ENERGY_PAGE_MODELLED : 0;
	if (host && *name)
		node->flags[d] |= n->source[ENERGY_HOST] ? ENERGY_PAGE_PROVISIONAL
							 : ENERGY_PAGE_STALE;
	if (*name)
		node->flags[d] |= reading_age_s(v, d) << ENERGY_PAGE_AGE_SHIFT;
}

/* Mean power in the last tick; for what only the host's sensor measures, in its last
 * interval. */
static void set_power(struct energy_page_fill *p, const struct energy_node *n,
		      const uint64_t was_uj[ENERGY_DOMAINS],
		      const struct ticker_view *v)
{
	struct energy_page_node *node = &p->node;

	for (int d = 0; d <= ENERGY_GPU; d++)
		node->uw[d] = energy_power_of(clamp_minus(node->uj[d], was_uj[d]),
					      v->t1_ns - v->t0_ns);
	node->uw[ENERGY_OTHER] = n->source[ENERGY_HOST] ? n->host_uw : 0;
	node->uw[ENERGY_HOST] = 0;
	if (n->source[ENERGY_HOST] && n->host_known)
		node->uw[ENERGY_HOST] =
			n->host_uw + node->uw[ENERGY_PACKAGE] + node->uw[ENERGY_DRAM] +
			(v->config->host_includes_gpu ? node->uw[ENERGY_GPU] : 0);
}

static uint64_t idle_power(const struct energy_node *n, const struct ticker_view *v,
			   uint32_t mask)
{
	static const enum energy_domain parts[] = {ENERGY_PACKAGE, ENERGY_DRAM,
						   ENERGY_OTHER};
	uint64_t uw = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bool counts = parts[i] != ENERGY_OTHER || mask >> ENERGY_HOST & 1;
		if (counts && n->source[parts[i]])
			uw += energy_idle_uw(n, v->config, parts[i], NULL);
	}
	return uw;
}

/* Rates do not include GPUs: rows have their power. */
static void set_card(struct energy_page_fill *p, const struct energy_node *n,
		     const struct ticker_view *v)
{
	struct energy_page_node *node = &p->node;
	bool gpu_is_in = node->total_mask >> ENERGY_HOST & 1
				 ? v->config->host_includes_gpu
				 : true;
	uint64_t all_uw = in_mask(node->uw, node->total_mask);
	uint64_t power_uw = clamp_minus(all_uw, gpu_is_in ? node->uw[ENERGY_GPU] : 0);
	uint64_t idle_uw = idle_power(n, v, node->total_mask);
	uint64_t dt_ns = v->t1_ns - v->t0_ns;

	if (idle_uw > power_uw)
		idle_uw = power_uw;
	node->idle_uw_per_cpu = v->config->idle == ENERGY_IDLE_ALLOCATION && v->cpus
					? idle_uw / v->cpus
					: 0;
	if (v->cpu_ns < dt_ns / CARD_PARTS * v->cpus)
		return;
	unsigned __int128 uj = (unsigned __int128)(power_uw - idle_uw) * dt_ns;
	node->dynamic_uj_per_cpu_s = (uint64_t)(uj / v->cpu_ns);
}

static void set_emission(struct energy_page_fill *p)
{
	struct emissions *e = p->env->emissions;
	const struct emissions_now *now =
		e ? emissions_tick(e, p->env->courier,
				   p->env->realtime_ns() / NSEC_PER_SEC)
		  : NULL;

	p->node.emission_mg_per_kwh = now ? (uint32_t)now->mg_per_kwh : 0;
	memset(p->node.emission_provider, 0, sizeof(p->node.emission_provider));
	if (now)
		(void)snprintf(p->node.emission_provider,
			       sizeof(p->node.emission_provider), "%s", now->provider);
}

static void set_node(struct energy_page_fill *p, const struct ticker_view *v)
{
	const struct energy_node *n = &units_energy(p->env->units)->node;
	struct energy_page_node *node = &p->node;
	uint64_t was_uj[ENERGY_DOMAINS];

	memcpy(was_uj, node->uj, sizeof(was_uj));
	for (int d = 0; d < ENERGY_DOMAINS; d++)
		set_domain(node, n, v, d);
	node->tick_ns = v->t1_ns;
	node->interval_ns = p->env->options->energy_interval_ms * NSEC_PER_MSEC;
	node->total_mask = total_mask(n);
	node->idle_uj = in_mask(n->idle.settled_uj, node->total_mask);
	node->system_uj = in_mask(n->system.settled_uj, node->total_mask);
	set_power(p, n, was_uj, v);
	set_card(p, n, v);
	set_emission(p);
}

/* ---- jobs and steps -------------------------------------------------------------- */

static void finish_row(const struct energy_page_fill *p, struct energy_page_row *row,
		       uint64_t provisional_uj)
{
	uint32_t mask = p->node.total_mask;

	row->total_uj = in_mask(row->uj, mask);
	row->provisional_uj = mask >> ENERGY_HOST & 1 ? provisional_uj : 0;
	row->flags |= row->provisional_uj ? ENERGY_PAGE_PROVISIONAL : 0;
	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		if (mask >> d & 1 && row->uj[d] &&
		    p->node.flags[d] & ENERGY_PAGE_MODELLED)
			row->flags |= ENERGY_PAGE_MODELLED;
	}
}

/* part of uj, rounded down */
static uint64_t part_of(uint64_t uj, uint64_t part, uint64_t all)
{
	if (!all)
		return 0;
	return part >= all ? uj : (uint64_t)((unsigned __int128)uj * part / all);
}

/* A step's share of its unit's provisional host energy */
static uint64_t step_provisional(const struct unit_energy *unit,
				 const struct step_energy *step, uint64_t *ret_other)
{
	const struct energy_open *o = &unit->account.open, *w = &unit->account.waiting;
	uint64_t used = step->open.used_ns + step->waiting.used_ns;
	uint64_t alloc = step->open.alloc_us + step->waiting.alloc_us;
	uint64_t idle = o->idle_uj + w->idle_uj;
	uint64_t parts = o->parts_uj + w->parts_uj - idle;
	uint64_t other = o->other_uj + w->other_uj;

	*ret_other = part_of(other, alloc, o->alloc_us + w->alloc_us);
	return part_of(parts, used, o->used_ns + w->used_ns) +
	       part_of(idle, alloc, o->alloc_us + w->alloc_us) + *ret_other;
}

static bool holds_cpus(const struct step *step)
{
	return step->state == UNIT_RUNNING && step->step != RECORD_STEP_EXTERN;
}

/* CPUs of all running steps; more than the unit's if they overlap. */
static uint64_t held_cpus(struct units *u, uint32_t i)
{
	uint64_t n = 0;

	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s)) {
		const struct step *step = steps_get(u, s);
		n += holds_cpus(step) ? step->cpus : 0;
	}
	return n;
}

static int put_page_step(struct energy_page_fill *p, uint32_t job, uint32_t i,
			 uint32_t s, uint64_t gpu_uw, uint64_t held)
{
	struct units *u = p->env->units;
	const struct step *step = steps_get(u, s);
	const struct step_energy *e = step_energy(u, s);
	const struct unit *unit = units_get(u, i);
	bool runs = step->state == UNIT_RUNNING, holds = holds_cpus(step);
	uint32_t mcpu = holds ? step->cpus * 1000 : 0;
	struct energy_page_row row = {.job = job,
				      .step = step->step,
				      .stepd_pid = step->stepd_pid,
				      .flags = runs ? 0 : ENERGY_PAGE_ENDED,
				      .cpu_ns = e->charged_cpu_ns,
				      .alloc_mcpu = mcpu};
	uint64_t other, host = step_provisional(unit_energy(u, i), e, &other);

	memcpy(row.uj, e->uj, sizeof(row.uj));
	row.uj[ENERGY_HOST] += host;
	row.uj[ENERGY_OTHER] += other;
	/* concurrent steps share the unit's idle power */
	if (unit->cpus && held > unit->cpus)
		row.alloc_mcpu = (uint32_t)part_of(mcpu, unit->cpus, held);
	row.extra_uw = holds ? part_of(gpu_uw, step->cpus, unit->cpus) : 0;
	finish_row(p, &row, host);
	return energy_page_add(p->writer, &row);
}

static uint32_t extern_pid(struct units *u, uint32_t i)
{
	uint32_t s = steps_find(u, i, RECORD_STEP_EXTERN);

	return s == UNITS_NONE ? 0 : steps_get(u, s)->stepd_pid;
}

/* Power of the unit's GPUs in this tick */
static uint64_t gpu_power(struct energy_page_fill *p, uint32_t i,
			  const struct ticker_view *v)
{
	struct units *u = p->env->units;
	uint64_t uj = unit_energy(u, i)->account.settled_uj[ENERGY_GPU];
	if (!p->gpus && uj)
		p->gpus = calloc(units_capacity(u), sizeof(*p->gpus));
	if (!p->gpus)
		return 0;
	struct gpus_of *g = &p->gpus[i];
	uint64_t grown = g->serial == unit_serial(u, i) ? clamp_minus(uj, g->uj) : 0;

	if (p->node.total_mask >> ENERGY_HOST & 1 && !v->config->host_includes_gpu)
		grown = 0;
	*g = (struct gpus_of){unit_serial(u, i), uj,
			      energy_power_of(grown, v->t1_ns - v->t0_ns)};
	return g->uw;
}

static int put_job(struct energy_page_fill *p, uint32_t job, uint32_t i,
		   uint64_t gpu_uw)
{
	struct units *u = p->env->units;
	const struct unit *unit = units_get(u, i);
	const struct unit_energy *e = unit_energy(u, i);
	bool runs = unit->state == UNIT_RUNNING;
	uint32_t cpus =
		unit->cpus || !p->sample ? unit->cpus : sample_job_cpus(p->sample, i);
	struct energy_page_row row = {.job = job,
				      .step = ENERGY_PAGE_JOB,
				      .stepd_pid = extern_pid(u, i),
				      .flags = runs ? 0 : ENERGY_PAGE_ENDED,
				      .cpu_ns = e->charged_cpu_ns,
				      .extra_uw = runs ? gpu_uw : 0,
				      .alloc_mcpu = runs ? cpus * 1000 : 0};
	uint64_t provisional = 0;

	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		uint64_t some;
		row.uj[d] =
			energy_account_now(&e->account, (enum energy_domain)d, &some);
		provisional = d == ENERGY_HOST ? some : provisional;
	}
	/* its reader, the extern step's slurmstepd, reads the job's control group */
	if (row.stepd_pid && p->sample)
		(void)sample_job_cpu(p->sample, i, &row.cpu_ns);
	finish_row(p, &row, provisional);
	return energy_page_add(p->writer, &row);
}

static void put_page_unit(struct energy_page_fill *p, uint32_t i,
			  const struct ticker_view *v, bool steps)
{
	struct units *u = p->env->units;
	const struct unit *unit = units_get(u, i);
	uint32_t job;

	if (unit->manager != MANAGER_SLURM || parse_u32(unit->id, &job) < 0)
		return;
	if (!steps) {
		(void)put_job(p, job, i, gpu_power(p, i, v));
		return;
	}
	uint64_t held = held_cpus(u, i);
	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s))
		(void)put_page_step(p, job, i, s, p->gpus ? p->gpus[i].uw : 0, held);
}

int energy_page_fill_tick(struct energy_page_fill *p, struct err *err)
{
	struct ticker_view v = ticker_view(p->env->ticker);
	struct units *u = p->env->units;

	if (!v.going)
		return 0;
	if (v.t1_ns <= v.t0_ns) { /* just the start */
		set_page_base(p);
		return 0;
	}
	set_node(p, &v);
	energy_page_begin(p->writer, &p->node);
	for (int steps = 0; steps < 2; steps++) {
		for (uint32_t i = units_next(u, 0); i != UNITS_NONE;
		     i = units_next(u, i + 1))
			put_page_unit(p, i, &v, steps);
	}
	return energy_page_commit(p->writer, err);
}
