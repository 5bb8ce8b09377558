/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a unit's energy between its steps, exactly, with a rest that is only the
 * unit's. */
#include "daemon/steps_energy.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/clamp.h"

#define NSEC_PER_USEC 1000u

/* One unit's steps during the split; slot 0 is the rest */
struct family {
	struct steps_energy *s;
	struct units *u;
	uint32_t i; /* the unit */
	const struct unit *unit;
	size_t n;
};

void steps_energy_done(struct steps_energy *s)
{
	energy_work_done(&s->work);
	free(s->host);
	*s = (struct steps_energy){0};
}

static uint64_t step_cpu_ns(const struct step *step)
{
	return step->totals.cpu_user_ns + step->totals.cpu_system_ns;
}

static uint64_t lived_us(uint64_t started_ns, uint64_t ended_ns, uint64_t t0_ns,
			 uint64_t t1_ns)
{
	uint64_t from = started_ns > t0_ns ? started_ns : t0_ns;
	uint64_t to = ended_ns && ended_ns < t1_ns ? ended_ns : t1_ns;
	return clamp_minus(to, from) / NSEC_PER_USEC;
}

/* The extern step has the job's processes that belong to no other step; it has no
 * allocation of its own. */
static uint64_t alloc_us(const struct step *step, uint64_t t0_ns, uint64_t t1_ns)
{
	if (step->step == RECORD_STEP_EXTERN)
		return 0;
	return step->cpus * lived_us(step->started_boottime_ns, step->ended_boottime_ns,
				     t0_ns, t1_ns);
}

/* f->s->work.slots have their weights, the rest's in slot 0. */
static void give_to_steps(struct family *f, enum energy_domain d, uint64_t uj)
{
	struct energy_work *w = &f->s->work;
	size_t k = 1;

	if (!uj || !energy_split(uj, w->slots, f->n + 1, w->shares, w->order))
		return;
	for (uint32_t s = units_first_step(f->u, f->i); s != UNITS_NONE && k <= f->n;
	     s = steps_after(f->u, s))
		step_energy_draft(f->u, s)->uj[d] += w->shares[k++];
}

/* What the unit has beyond its steps belongs to the rest. `all` may be less if steps
 * overlap. */
static void weigh_rest(struct family *f, uint64_t all)
{
	struct energy_slot *slots = f->s->work.slots;
	unsigned __int128 sum = 0;

	for (size_t k = 1; k <= f->n; k++) {
		slots[k].key = k;
		sum += slots[k].weight;
	}
	slots[0].key = 0;
	slots[0].weight = all > sum ? all - sum : 0;
}

static int begin_family(struct family *f)
{
	f->n = 0;
	for (uint32_t s = units_first_step(f->u, f->i); s != UNITS_NONE;
	     s = steps_after(f->u, s))
		f->n++;
	return energy_work_reserve(&f->s->work, f->n);
}

enum by { BY_CPU_NOW, BY_ALLOC_NOW, BY_CPU_WAITING, BY_ALLOC_WAITING };

static void weigh_steps(struct family *f, enum by by, uint64_t t0_ns, uint64_t t1_ns,
			uint64_t all)
{
	size_t k = 1;

	for (uint32_t s = units_first_step(f->u, f->i); s != UNITS_NONE && k <= f->n;
	     s = steps_after(f->u, s), k++) {
		const struct step *step = steps_get(f->u, s);
		const struct step_energy *e = step_energy_draft(f->u, s);
		uint64_t w = by == BY_CPU_NOW
				     ? clamp_minus(step_cpu_ns(step), e->charged_cpu_ns)
			     : by == BY_ALLOC_NOW   ? alloc_us(step, t0_ns, t1_ns)
			     : by == BY_CPU_WAITING ? e->waiting.used_ns
						    : e->waiting.alloc_us;
		f->s->work.slots[k].weight = w;
	}
	weigh_rest(f, all);
}

/* What the unit's allocated CPUs were held for in this time */
static uint64_t unit_alloc_us(const struct unit *unit, uint64_t t0_ns, uint64_t t1_ns)
{
	return unit->cpus * lived_us(unit->started_boottime_ns, unit->ended_boottime_ns,
				     t0_ns, t1_ns);
}

static void charge_now(struct family *f, uint32_t i,
		       const struct steps_energy_window *w)
{
	const struct unit_energy *was = unit_energy(f->u, i);
	const struct unit_energy *is = unit_energy_draft(f->u, i);
	uint64_t cpu = clamp_minus(is->charged_cpu_ns, was->charged_cpu_ns);

	for (int d = ENERGY_PACKAGE; d <= ENERGY_GPU; d++) {
		uint64_t all = is->account.settled_uj[d] - was->account.settled_uj[d];
		uint64_t idle = is->account.idle_uj[d] - was->account.idle_uj[d];
		if (!all)
			continue;
		bool by_cpu = d != ENERGY_GPU;
		uint64_t t0_ns = by_cpu ? w->t0_ns : w->gpu_t0_ns;
		uint64_t t1_ns = by_cpu ? w->t1_ns : w->gpu_t1_ns;
		uint64_t alloc = unit_alloc_us(f->unit, t0_ns, t1_ns);
		weigh_steps(f, by_cpu ? BY_CPU_NOW : BY_ALLOC_NOW, t0_ns, t1_ns,
			    by_cpu ? cpu : alloc);
		give_to_steps(f, (enum energy_domain)d, all - idle);
		weigh_steps(f, BY_ALLOC_NOW, t0_ns, t1_ns, alloc);
		give_to_steps(f, (enum energy_domain)d, idle);
	}
}

static void note_use(struct family *f, uint64_t t0_ns, uint64_t t1_ns)
{
	size_t k = 0;

	for (uint32_t s = units_first_step(f->u, f->i); s != UNITS_NONE && k < f->n;
	     s = steps_after(f->u, s), k++) {
		const struct step *step = steps_get(f->u, s);
		struct step_energy *e = step_energy_draft(f->u, s);
		uint64_t used = clamp_minus(step_cpu_ns(step), e->charged_cpu_ns);
		e->open.used_ns += used;
		e->open.alloc_us += alloc_us(step, t0_ns, t1_ns);
		e->charged_cpu_ns += used;
	}
}

int steps_energy_tick(struct steps_energy *s, struct units *u,
		      const struct steps_energy_window *w)
{
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		struct family f = {.s = s, .u = u, .i = i, .unit = units_get(u, i)};
		if (units_first_step(u, i) == UNITS_NONE)
			continue;
		if (begin_family(&f) < 0)
			return -ENOMEM;
		charge_now(&f, i, w);
		note_use(&f, w->t0_ns, w->t1_ns);
	}
	return 0;
}

void steps_energy_mark(struct units *u)
{
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		struct step_energy *e = step_energy_draft(u, i);
		e->waiting.used_ns += e->open.used_ns;
		e->waiting.alloc_us += e->open.alloc_us;
		e->open = (struct step_energy_open){0};
	}
}

void steps_energy_unmark(struct units *u)
{
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		struct step_energy *e = step_energy_draft(u, i);
		e->open.used_ns += e->waiting.used_ns;
		e->open.alloc_us += e->waiting.alloc_us;
		e->waiting = (struct step_energy_open){0};
	}
}

void steps_energy_drop(struct units *u)
{
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		struct step_energy *e = step_energy_draft(u, i);
		e->open = e->waiting = (struct step_energy_open){0};
	}
}

int steps_energy_before_close(struct steps_energy *s, struct units *u, bool marked)
{
	uint32_t n = 0;

	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1))
		n = i + 1;
	if (s->host_cap < n) {
		struct energy_account *host = realloc(s->host, n * sizeof(*host));
		if (!host)
			return -ENOMEM;
		s->host = host;
		s->host_cap = n;
	}
	s->marked = marked;
	if (!marked)
		steps_energy_mark(u);
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1))
		s->host[i] = unit_energy_draft(u, i)->account;
	return 0;
}

static void charge_host(struct family *f, uint32_t i)
{
	const struct energy_account *was = &f->s->host[i];
	const struct energy_account *is = &unit_energy_draft(f->u, i)->account;
	const struct energy_open *over = f->s->marked ? &was->waiting : &was->open;

	for (int d = ENERGY_HOST; d <= ENERGY_OTHER; d++) {
		uint64_t all = is->settled_uj[d] - was->settled_uj[d];
		uint64_t idle = is->idle_uj[d] - was->idle_uj[d];
		weigh_steps(f, BY_CPU_WAITING, 0, 0, over->used_ns);
		give_to_steps(f, (enum energy_domain)d, all - idle);
		weigh_steps(f, BY_ALLOC_WAITING, 0, 0, over->alloc_us);
		give_to_steps(f, (enum energy_domain)d, idle);
	}
}

void steps_energy_after_close(struct steps_energy *s, struct units *u)
{
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		struct family f = {.s = s, .u = u, .i = i, .unit = units_get(u, i)};
		if (units_first_step(u, i) != UNITS_NONE && begin_family(&f) == 0)
			charge_host(&f, i);
	}
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1))
		step_energy_draft(u, i)->waiting = (struct step_energy_open){0};
}
