/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attribution of what a node's sensors measured. Each amount is split once, exactly, so
 * that units + idle + system is always the node; see the invariants in the header. */
#include "daemon/energy_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

#define QUIET_DIVISOR 50u /* a tick is quiet below 1/50 of the node's CPU time */
#define LEARN_WINDOW_NS (10 * NSEC_PER_SEC)
#define LEARN_RANK 3u /* the fourth lowest: outliers and sensor noise are below it */

const char *energy_domain_name(enum energy_domain d)
{
	static const char *const names[ENERGY_DOMAINS] = {
		[ENERGY_PACKAGE] = "package", [ENERGY_DRAM] = "dram",
		[ENERGY_PSYS] = "psys",       [ENERGY_GPU] = "gpu",
		[ENERGY_HOST] = "host",       [ENERGY_OTHER] = "other",
	};
	return d < ENERGY_DOMAINS ? names[d] : "";
}

void energy_config_defaults(struct energy_config *ret)
{
	*ret = (struct energy_config){.idle = ENERGY_IDLE_ALLOCATION};
	for (size_t d = 0; d < ENERGY_DOMAINS; d++)
		ret->idle_uw[d] = ENERGY_LEARN;
}

void energy_node_init(struct energy_node *node)
{
	*node = (struct energy_node){0};
	node->idle.key = SLOT_IDLE;
	node->system.key = SLOT_SYSTEM;
	node->ended.key = SLOT_ENDED;
}

void energy_account_init(struct energy_account *a, uint64_t key)
{
	*a = (struct energy_account){.key = key};
}

int energy_work_reserve(struct energy_work *w, size_t units)
{
	size_t need = units + SLOT_UNITS;
	if (need <= w->capacity)
		return 0;
	if (units > UINT32_MAX / 2)
		return -ENOMEM;
	need += need / 2;
	struct energy_work grown = {
		.capacity = need,
		.slots = calloc(need, sizeof(*grown.slots)),
		.shares = calloc(need, sizeof(*grown.shares)),
		.others = calloc(need, sizeof(*grown.others)),
		.idles = calloc(need, sizeof(*grown.idles)),
		.order = calloc(need, sizeof(*grown.order)),
	};
	if (!grown.slots || !grown.shares || !grown.others || !grown.idles ||
	    !grown.order) {
		energy_work_done(&grown);
		return -ENOMEM;
	}
	energy_work_done(w);
	*w = grown;
	return 0;
}

void energy_work_done(struct energy_work *w)
{
	free(w->slots);
	free(w->shares);
	free(w->others);
	free(w->idles);
	free(w->order);
	*w = (struct energy_work){0};
}

/* ---- weights --------------------------------------------------------------------- */

struct energy_account *energy_party(const struct split *s, size_t i)
{
	switch (i) {
	case SLOT_IDLE:
		return &s->node->idle;
	case SLOT_SYSTEM:
		return &s->node->system;
	case SLOT_ENDED:
		return &s->node->ended;
	default:
		return s->tick ? s->uses[i - SLOT_UNITS].account
			       : s->accounts[i - SLOT_UNITS];
	}
}

/* The part of the tick in which the unit ran, by its own timestamps */
static uint64_t unit_lived_ns(const struct energy_use *u, uint64_t from, uint64_t to)
{
	from = u->started_ns > from ? u->started_ns : from;
	to = u->ended_ns && u->ended_ns < to ? u->ended_ns : to;
	return to > from ? to - from : 0;
}

static uint64_t unit_lived_in_tick_ns(const struct energy_tick *t,
				      const struct energy_use *u)
{
	return unit_lived_ns(u, t->t0_ns, t->t1_ns);
}

static uint64_t active_ns(const struct energy_use *u)
{
	return to_u64((u128)u->cpu_ns * u->activity_ppm / ENERGY_ONE_PPM);
}

static u128 cpus_ns(const struct energy_tick *t, const struct energy_use *u)
{
	return (u128)u->alloc_mcpu * unit_lived_in_tick_ns(t, u);
}

/* In thousandths of KiB, so that rounding a share of the CPUs does not matter */
static u128 memory_allocated(const struct energy_tick *t, const struct energy_use *u)
{
	u128 mkib = u->alloc_kib ? (u128)u->alloc_kib * 1000
				 : (u128)t->node_memory_kib * 1000 * u->alloc_mcpu /
					   t->node_mcpu;
	if (mkib >> 63)
		mkib = INT64_MAX;
	return mkib * unit_lived_in_tick_ns(t, u);
}

uint64_t energy_gpu_part_ppm(const struct split *s, const struct energy_use *u,
			     bool used)
{
	uint64_t ppm = 0;
	for (size_t i = 0; i < u->gpu_count; i++)
		if (u->gpus[i].gpu == s->gpu)
			ppm += used ? u->gpus[i].use_ppm : u->gpus[i].share_ppm;
	return ppm;
}

static u128 gpu_held(const struct split *s, const struct energy_use *u, bool used)
{
	const struct energy_history *h = s->history;
	uint64_t ns = h ? unit_lived_ns(u, h->from_ns, h->to_ns)
			: unit_lived_in_tick_ns(s->tick, u);
	return (u128)energy_gpu_part_ppm(s, u, used) * ns;
}

static bool is_device_used(const struct split *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (gpu_held(s, &s->uses[i], true))
			return true;
	}
	return false;
}

/* The time in which the device's meter measured */
static uint64_t gpu_time_ns(const struct split *s)
{
	return s->history ? s->history->to_ns - s->history->from_ns
			  : s->tick->t1_ns - s->tick->t0_ns;
}

static u128 unit_weight(const struct split *s, enum by by, const struct energy_use *u)
{
	switch (by) {
	case BY_CPU_TIME:
		return u->cpu_ns;
	case BY_ACTIVITY:
		return active_ns(u);
	case BY_CPUS:
		return cpus_ns(s->tick, u);
	case BY_CPUS_RUNNING:
		return u->cpu_ns ? cpus_ns(s->tick, u) : 0;
	case BY_MEMORY:
		return u->cpu_ns ? u->memory_kib_ms : 0;
	case BY_MEMORY_ALLOCATED:
		return memory_allocated(s->tick, u);
	case BY_GPU:
		return gpu_held(s, u, false);
	case BY_GPU_HELD:
	case BY_GPU_USED:
		return gpu_held(s, u, by == BY_GPU_USED);
	case BY_GPU_DRAWN: /* energy_weigh_drawn() */
	case BY_GPU_ABOVE_IDLE:
	case BY_NOBODY:
		break;
	}
	return 0;
}

static u128 split_capacity(const struct split *s, enum by by)
{
	const struct energy_tick *t = s->tick;
	uint64_t dt = t->t1_ns - t->t0_ns;
	switch (by) {
	case BY_CPUS:
		return (u128)t->node_mcpu * dt;
	case BY_MEMORY_ALLOCATED:
		return (u128)to_u64((u128)t->node_memory_kib * 1000) * dt;
	case BY_GPU:
		return (u128)ENERGY_ONE_PPM * gpu_time_ns(s);
	default:
		return 0;
	}
}

static uint64_t system_weight(const struct energy_tick *t, enum by by)
{
	if (by == BY_MEMORY)
		return t->system_memory_kib_ms;
	return by == BY_CPU_TIME || by == BY_ACTIVITY ? t->system_cpu_ns : 0;
}

static void fill_tick(const struct split *s, enum by by)
{
	struct energy_slot *slots = s->w->slots;
	u128 taken = 0, all = split_capacity(s, by);
	for (size_t i = 0; i < s->n; i++) {
		struct energy_slot *slot = &slots[SLOT_UNITS + i];
		slot->weight = unit_weight(s, by, &s->uses[i]);
		slot->key = s->uses[i].account->key;
		taken += slot->weight;
	}
	slots[SLOT_ENDED].weight = 0;
	slots[SLOT_SYSTEM].weight = system_weight(s->tick, by);
	slots[SLOT_IDLE].weight = all > taken ? all - taken : 0;
	if (by == BY_GPU_DRAWN || by == BY_GPU_ABOVE_IDLE)
		energy_weigh_drawn(s, by == BY_GPU_ABOVE_IDLE ? s->gpu_idle_uw : 0);
}

static void fill_interval(const struct split *s, enum by by)
{
	struct energy_slot *slots = s->w->slots;
	u128 taken = 0, all = by == BY_CPUS ? s->node->waiting.capacity_us : 0;
	for (size_t i = 0; i < SLOT_UNITS + s->n; i++) {
		const struct energy_account *a = energy_party(s, i);
		const struct energy_open *o = &a->waiting;
		bool alloc = by == BY_CPUS || (by == BY_CPUS_RUNNING && o->used_ns);
		slots[i].key = a->key;
		slots[i].weight = by == BY_CPU_TIME   ? o->used_ns
				  : by == BY_ACTIVITY ? o->active_ns
				  : alloc             ? o->alloc_us
						      : 0;
		taken += slots[i].weight;
	}
	if (all > taken)
		slots[SLOT_IDLE].weight += all - taken;
}

/* ---- charging -------------------------------------------------------------------- */

/* Puts everybody's share of uj into w->shares. */
void energy_divide(const struct split *s, enum by by, uint64_t uj)
{
	struct energy_work *w = s->w;
	for (size_t i = 0; i < SLOT_UNITS; i++)
		w->slots[i].key = i;
	if (s->tick)
		fill_tick(s, by);
	else
		fill_interval(s, by);
	if (!energy_split(uj, w->slots, SLOT_UNITS + s->n, w->shares, w->order))
		w->shares[SLOT_IDLE] = uj;
}

enum target { SETTLED, SETTLED_PART, PROVISIONAL };

static void charge_domain(const struct split *s, enum energy_domain d, enum by by,
			  uint64_t uj, bool idle, enum target target)
{
	if (!uj)
		return;
	energy_divide(s, by, uj);
	for (size_t i = 0; i < SLOT_UNITS + s->n; i++) {
		struct energy_account *a = energy_party(s, i);
		uint64_t share = s->w->shares[i];
		if (target == PROVISIONAL) {
			a->open.other_uj += share;
			continue;
		}
		a->settled_uj[d] += share;
		a->idle_uj[d] += idle ? share : 0;
		if (target != SETTLED_PART)
			continue;
		a->open.parts_uj += share;
		a->open.idle_uj += idle ? share : 0;
	}
}

enum by energy_idle_by(const struct split *s, const struct rule *rule)
{
	switch (s->c->idle) {
	case ENERGY_IDLE_USAGE:
		return rule->usage;
	case ENERGY_IDLE_NONE:
		return BY_NOBODY;
	case ENERGY_IDLE_ALLOCATION:
		break;
	}
	return rule->allocation;
}

static void charge_both(const struct split *s, enum energy_domain d,
			const struct rule *rule, uint64_t uj, uint64_t idle_uj,
			enum target target)
{
	uint64_t idle = idle_uj < uj ? idle_uj : uj;
	charge_domain(s, d, energy_idle_by(s, rule), idle, true, target);
	charge_domain(s, d, rule->dynamic, uj - idle, false, target);
}

/* ---- idle power ------------------------------------------------------------------ */

void energy_learn(struct energy_learner *l, uint64_t uj, uint64_t ns)
{
	l->window_uj = add_sat(l->window_uj, uj);
	l->window_ns = add_sat(l->window_ns, ns);
	if (l->window_ns < LEARN_WINDOW_NS)
		return;
	l->power_uw[l->windows % ENERGY_LEARN_WINDOWS] =
		energy_power_of(l->window_uj, l->window_ns);
	l->windows++;
	l->window_uj = l->window_ns = 0;
}

static uint64_t ranked_baseline(const struct energy_learner *l)
{
	uint64_t sorted[ENERGY_LEARN_WINDOWS];
	size_t n = 0, most = l->windows < ENERGY_LEARN_WINDOWS ? (size_t)l->windows
							       : ENERGY_LEARN_WINDOWS;
	for (size_t i = 0; i < most; i++) {
		size_t k = n++;
		for (; k > 0 && sorted[k - 1] > l->power_uw[i]; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = l->power_uw[i];
	}
	return n > LEARN_RANK ? sorted[LEARN_RANK] : sorted[0];
}

uint64_t energy_idle_uw(const struct energy_node *node, const struct energy_config *c,
			enum energy_domain d, bool *ret_known)
{
	bool configured = c->idle_uw[d] != ENERGY_LEARN;
	bool known = configured || node->learner[d].windows > 0;
	if (ret_known)
		*ret_known = known;
	if (configured)
		return c->idle_uw[d];
	return known ? ranked_baseline(&node->learner[d]) : 0;
}

bool energy_learned(const struct energy_learner *l, uint64_t *ret_uw)
{
	if (l->windows)
		*ret_uw = ranked_baseline(l);
	return l->windows;
}

/* A source appears, goes or changes, and what was learned about the old one is lost. A
 * source that only pauses keeps it. */
void energy_set_source(struct energy_node *node, enum energy_domain d, uint32_t source)
{
	if (source == ENERGY_NO_SOURCE || node->source[d] == source)
		return;
	if (node->source[d] != ENERGY_NO_SOURCE) {
		node->learner[d] = (struct energy_learner){0};
		node->changes++;
	}
	node->source[d] = source;
}

/* ---- tick ------------------------------------------------------------------------ */

static int check_use(const struct energy_tick *t, const struct energy_use *u)
{
	if (!u->account || u->account->key < SLOT_ENDED)
		return -EINVAL;
	for (size_t i = 0; i < u->gpu_count; i++)
		if (u->gpus[i].gpu >= t->gpu_count)
			return -EINVAL;
	return 0;
}

static int check_tick(const struct energy_node *node, const struct energy_tick *t,
		      const struct energy_use *uses, size_t n, struct err *err)
{
	if (t->t1_ns <= t->t0_ns || t->t0_ns < node->last_ns)
		return err_set(err, -EINVAL,
			       "energy: tick [%llu, %llu) after one that ended at %llu",
			       (unsigned long long)t->t0_ns,
			       (unsigned long long)t->t1_ns,
			       (unsigned long long)node->last_ns);
	if (!t->node_mcpu)
		return err_set(err, -EINVAL, "energy: the node has no CPUs");
	for (size_t i = 0; i < n; i++)
		if (check_use(t, &uses[i]) < 0)
			return err_set(err, -EINVAL,
				       "energy: use %zu has a bad key or GPU", i);
	return 0;
}

static bool is_quiet(const struct energy_tick *t, const struct energy_use *uses,
		     size_t n)
{
	u128 busy = t->system_cpu_ns;
	for (size_t i = 0; i < n; i++)
		busy += uses[i].cpu_ns;
	return !t->partial &&
	       busy * 1000 * QUIET_DIVISOR < (u128)t->node_mcpu * (t->t1_ns - t->t0_ns);
}

static const struct rule package = {BY_CPUS, BY_CPU_TIME, BY_ACTIVITY};
static const struct rule memory = {BY_MEMORY_ALLOCATED, BY_MEMORY, BY_MEMORY};
static const struct rule device = {BY_GPU, BY_GPU_HELD, BY_GPU_HELD};
static const struct rule device_used = {BY_GPU, BY_GPU_USED, BY_GPU_USED};
static const struct rule device_with_history = {BY_GPU, BY_GPU_DRAWN,
						BY_GPU_ABOVE_IDLE};

static void close_meter(const struct split *s, enum energy_domain d,
			const struct energy_meter *m, bool quiet)
{
	if (m->source == ENERGY_NO_SOURCE)
		return;
	struct energy_node *node = s->node;
	uint64_t dt = s->tick->t1_ns - s->tick->t0_ns;
	bool part = d != ENERGY_PSYS && node->source[ENERGY_HOST] != ENERGY_NO_SOURCE;
	energy_set_source(node, d, m->source);
	if (quiet)
		energy_learn(&node->learner[d], m->energy_uj, dt);
	uint64_t idle_uw = energy_idle_uw(node, s->c, d, NULL);
	charge_both(s, d, d == ENERGY_DRAM ? &memory : &package, m->energy_uj,
		    energy_of_power(idle_uw, dt), part ? SETTLED_PART : SETTLED);
	node->measured_uj[d] += m->energy_uj;
	if (part)
		node->open.parts_uj += m->energy_uj;
	if (part && d == ENERGY_PACKAGE)
		node->open.package_ticks++;
}

/* Of the device of this split */
static uint64_t gpu_idle_uw(const struct split *s)
{
	uint64_t uw = s->c->idle_uw[ENERGY_GPU];

	if (uw == ENERGY_LEARN)
		uw = s->tick->gpu_idle_uw ? s->tick->gpu_idle_uw[s->gpu] : 0;
	return uw;
}

static void close_gpus(struct split *s)
{
	struct energy_node *node = s->node;
	bool part = s->c->host_includes_gpu &&
		    node->source[ENERGY_HOST] != ENERGY_NO_SOURCE;
	for (size_t g = 0; g < s->tick->gpu_count; g++) {
		const struct energy_meter *m = &s->tick->gpus[g];
		if (m->source == ENERGY_NO_SOURCE)
			continue;
		s->gpu = (uint32_t)g;
		node->source[ENERGY_GPU] = m->source;
		s->history = s->tick->histories && energy_history_covers(
							   &s->tick->histories[g])
				     ? &s->tick->histories[g]
				     : NULL;
		s->gpu_idle_uw = gpu_idle_uw(s);
		const struct rule *rule = s->history          ? &device_with_history
					  : is_device_used(s) ? &device_used
							      : &device;
		charge_both(s, ENERGY_GPU, rule, m->energy_uj,
			    energy_of_power(s->gpu_idle_uw, gpu_time_ns(s)),
			    part ? SETTLED_PART : SETTLED);
		node->measured_uj[ENERGY_GPU] += m->energy_uj;
		if (part)
			node->open.parts_uj += m->energy_uj;
	}
}

struct rule energy_other_rule(const struct split *s, const struct energy_interval *i)
{
	bool allocation = s->c->idle == ENERGY_IDLE_ALLOCATION && i->package_ticks;
	bool cpu = s->c->other == ENERGY_OTHER_CPU ||
		   (s->c->other == ENERGY_OTHER_AUTO && !allocation);
	return (struct rule){BY_CPUS, BY_CPU_TIME, cpu ? BY_ACTIVITY : BY_CPUS_RUNNING};
}

/* Collects the weights for splitting the host interval when its reading comes, and
 * gives provisional shares */
static void accumulate_host(const struct split *s, bool quiet)
{
	const struct energy_tick *t = s->tick;
	struct energy_node *node = s->node;
	uint64_t dt = t->t1_ns - t->t0_ns;
	for (size_t i = 0; i < s->n; i++) {
		struct energy_open *o = &s->uses[i].account->open;
		uint64_t us = to_u64(cpus_ns(t, &s->uses[i]) / 1000000);
		o->alloc_us = add_sat(o->alloc_us, us);
		o->used_ns = add_sat(o->used_ns, s->uses[i].cpu_ns);
		o->active_ns = add_sat(o->active_ns, active_ns(&s->uses[i]));
	}
	struct energy_open *system = &node->system.open;
	system->used_ns = add_sat(system->used_ns, t->system_cpu_ns);
	system->active_ns = add_sat(system->active_ns, t->system_cpu_ns);
	node->open.elapsed_ns += dt;
	node->open.capacity_us = add_sat(node->open.capacity_us,
					 to_u64((u128)t->node_mcpu * dt / 1000000));
	node->open.quiet_ns += quiet ? dt : 0;
	if (!t->host_fresh || !node->host_known)
		return;
	uint64_t idle_uw = energy_idle_uw(node, s->c, ENERGY_OTHER, NULL);
	struct rule rule = energy_other_rule(s, &node->open);
	charge_both(s, ENERGY_OTHER, &rule, energy_of_power(node->host_uw, dt),
		    energy_of_power(idle_uw, dt), PROVISIONAL);
}

int energy_tick(struct energy_node *node, const struct energy_config *c,
		const struct energy_tick *t, const struct energy_use *uses, size_t n,
		struct energy_work *w, struct err *err)
{
	int r = check_tick(node, t, uses, n, err);
	if (r < 0)
		return r;
	if (energy_work_reserve(w, n) < 0)
		return err_set(err, -ENOMEM, "energy: no memory for %zu units", n);
	struct split s = {
		.node = node, .c = c, .tick = t, .uses = uses, .n = n, .w = w};
	bool quiet = is_quiet(t, uses, n);
	close_meter(&s, ENERGY_PACKAGE, &t->package, quiet);
	close_meter(&s, ENERGY_DRAM, &t->dram, quiet);
	close_meter(&s, ENERGY_PSYS, &t->psys, quiet);
	close_gpus(&s);
	if (node->source[ENERGY_HOST] != ENERGY_NO_SOURCE)
		accumulate_host(&s, quiet);
	node->last_ns = t->t1_ns;
	return 0;
}
