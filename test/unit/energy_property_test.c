/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attribution over thousands of random node histories: what must hold in every one of
 * them. CEEMS_SEED=n runs other ones; a failing history prints its seed. */
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/energy.h"

#define UNITS 12
#define GPUS 3
#define SEC 1000000000ull
#define HISTORIES 3000

struct rng {
	uint64_t s;
};

static uint64_t next(struct rng *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t below(struct rng *r, uint64_t n)
{
	return n ? next(r) % n : 0;
}

static bool one_in(struct rng *r, uint64_t n)
{
	return below(r, n) == 0;
}

static uint64_t base_seed(void)
{
	const char *s = getenv("CEEMS_SEED");
	return s ? strtoull(s, NULL, 10) : 20240501;
}

/* ---- a node with a random life --------------------------------------------------- */

/* what would be in a mapping */
struct state {
	struct energy_node node;
	struct energy_account unit[UNITS];
};

struct life {
	uint64_t started_ns, ended_ns;
	uint32_t mcpu;
	uint64_t kib;
	bool uses, gone;
	struct energy_gpu_share gpu[2];
	size_t gpus;
};

struct world {
	struct rng rng;
	struct state s;
	struct energy_config c;
	struct energy_work w;
	struct life life[UNITS];
	uint64_t now_ns, node_mcpu, node_kib, keys, host_source;
	uint64_t parts_uj; /* of package, dram and gpu where included, while host ran */
};

/* the order in which units are handed over; a permutation of 0..UNITS-1 */
struct order {
	size_t at[UNITS];
};

static void shuffle(struct order *o, struct rng *r)
{
	for (size_t i = 0; i < UNITS; i++)
		o->at[i] = i;
	for (size_t i = UNITS - 1; r && i > 0; i--) {
		size_t k = (size_t)below(r, i + 1), tmp = o->at[i];
		o->at[i] = o->at[k];
		o->at[k] = tmp;
	}
}

static void new_life(struct world *w, size_t i)
{
	struct rng *r = &w->rng;
	bool nothing = i == 0;
	w->life[i] = (struct life){
		.started_ns = w->now_ns + below(r, 3 * SEC),
		.mcpu = nothing ? 0 : (uint32_t)below(r, w->node_mcpu / 2),
		.kib = nothing || one_in(r, 3) ? 0 : below(r, w->node_kib),
		.uses = !nothing && !one_in(r, 4),
		.gpus = nothing ? 0 : below(r, 3),
	};
	for (size_t g = 0; g < w->life[i].gpus; g++)
		w->life[i].gpu[g] = (struct energy_gpu_share){
			.gpu = (uint32_t)below(r, GPUS),
			.share_ppm = (uint32_t)below(r, ENERGY_ONE_PPM + 1),
			.use_ppm = one_in(r, 2)
					   ? 0
					   : (uint32_t)below(r, ENERGY_ONE_PPM + 1),
		};
	w->life[i].ended_ns = w->life[i].started_ns + 1 + below(r, 20 * SEC);
	energy_account_init(&w->s.unit[i], ENERGY_KEYS_RESERVED + w->keys++);
}

static void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){.rng = {seed}, .now_ns = SEC};
	struct rng *r = &w->rng;
	energy_node_init(&w->s.node);
	energy_config_defaults(&w->c);
	w->c.idle = (enum energy_idle)below(r, 3);
	w->c.other = (enum energy_other)below(r, 3);
	w->c.host_includes_gpu = one_in(r, 2);
	for (size_t d = 0; d < ENERGY_DOMAINS; d++)
		if (one_in(r, 2) || d == ENERGY_GPU)
			w->c.idle_uw[d] = below(r, 200 * 1000000ull);
	w->node_mcpu = 1000 + below(r, 256000);
	w->node_kib = 1 + below(r, 1u << 30);
	for (size_t i = 0; i < UNITS; i++)
		new_life(w, i);
}

static struct energy_meter meter(struct rng *r, uint64_t dt, uint64_t watts)
{
	struct energy_meter m = {.source = one_in(r, 20)   ? ENERGY_NO_SOURCE
					   : one_in(r, 50) ? 2
							   : 1};
	/* sensors have steps, and some ticks none */
	m.energy_uj = one_in(r, 10) ? below(r, 3)
				    : energy_of_power(below(r, watts * 1000000), dt);
	return m;
}

static bool in_tick(const struct world *w, size_t i, uint64_t t1)
{
	return !w->life[i].gone && w->life[i].started_ns < t1;
}

static void fill_use(struct world *w, size_t i, uint64_t dt, struct energy_use *u)
{
	const struct life *l = &w->life[i];
	struct rng *r = &w->rng;
	*u = (struct energy_use){
		.account = &w->s.unit[i],
		.started_ns = l->started_ns,
		.ended_ns = l->ended_ns,
		.cpu_ns = l->uses ? below(r, (uint64_t)l->mcpu * dt / 1000 + 1) : 0,
		.activity_ppm = one_in(r, 2) ? ENERGY_ONE_PPM
					     : (uint32_t)below(r, 3 * ENERGY_ONE_PPM),
		.alloc_mcpu = l->mcpu,
		.alloc_kib = l->kib,
		.memory_kib_ms =
			l->uses ? below(r, w->node_kib * (dt / 1000000 + 1)) : 0,
		.gpus = l->gpu,
		.gpu_count = l->gpus,
	};
}

struct filled {
	struct energy_tick tick;
	struct energy_meter gpus[GPUS];
	struct energy_use uses[UNITS];
	size_t n;
};

/* Draws the same numbers whatever the order. */
static void fill_tick(struct world *w, struct filled *f, const struct order *o)
{
	struct rng *r = &w->rng;
	uint64_t dt = one_in(r, 4) ? 1 + below(r, 1000) : 1 + below(r, 5 * SEC);
	struct energy_use all[UNITS];
	bool there[UNITS];
	for (size_t g = 0; g < GPUS; g++)
		f->gpus[g] = meter(r, dt, 700);
	f->tick = (struct energy_tick){
		.t0_ns = w->now_ns,
		.t1_ns = w->now_ns + dt,
		.package = meter(r, dt, 500),
		.dram = meter(r, dt, 60),
		.psys = meter(r, dt, 700),
		.gpus = f->gpus,
		.gpu_count = GPUS,
		.host_fresh = !one_in(r, 8),
		.node_mcpu = w->node_mcpu,
		.node_memory_kib = w->node_kib,
		.system_cpu_ns = below(r, dt),
		.system_memory_kib_ms = below(r, w->node_kib),
	};
	for (size_t i = 0; i < UNITS; i++) {
		there[i] = in_tick(w, i, f->tick.t1_ns);
		if (there[i])
			fill_use(w, i, dt, &all[i]);
	}
	f->n = 0;
	for (size_t k = 0; k < UNITS; k++)
		if (there[o->at[k]])
			f->uses[f->n++] = all[o->at[k]];
}

static size_t open_accounts(struct world *w, const struct order *o,
			    struct energy_account **ret)
{
	size_t n = 0;
	for (size_t k = 0; k < UNITS; k++)
		if (energy_account_open(&w->s.unit[o->at[k]]))
			ret[n++] = &w->s.unit[o->at[k]];
	return n;
}

static void host_event(struct world *w, const struct order *o)
{
	struct energy_account *accounts[UNITS];
	size_t n = open_accounts(w, o, accounts);
	struct energy_node *node = &w->s.node;
	uint64_t dice = below(&w->rng, 20), source = 1 + below(&w->rng, 2);
	uint64_t elapsed =
		node->waiting.elapsed_ns + (node->marked ? 0 : node->open.elapsed_ns);
	uint64_t uj = energy_of_power(below(&w->rng, 1500 * 1000000ull), elapsed);
	if (dice == 0)
		energy_host_restart(node, ENERGY_NO_SOURCE, accounts, n);
	else if (dice < 3 || node->source[ENERGY_HOST] == ENERGY_NO_SOURCE)
		energy_host_restart(node, (uint32_t)source, accounts, n);
	else if (dice < 10)
		energy_host_mark(node, accounts, n);
	else
		assert_int_equal(energy_host_close(node, &w->c, uj,
						   node->source[ENERGY_HOST], accounts,
						   n, &w->w),
				 0);
}

/* units that are over leave now or later, whether their host interval is closed or not
 */
static void retire(struct world *w)
{
	for (size_t i = 0; i < UNITS; i++) {
		if (w->life[i].ended_ns > w->now_ns || !one_in(&w->rng, 3))
			continue;
		energy_fold(&w->s.node, &w->s.unit[i]);
		new_life(w, i);
	}
}

static uint64_t tick_parts(const struct world *w, const struct filled *f)
{
	uint64_t uj = f->tick.package.source ? f->tick.package.energy_uj : 0;
	uj += f->tick.dram.source ? f->tick.dram.energy_uj : 0;
	for (size_t g = 0; g < GPUS; g++)
		if (w->c.host_includes_gpu && f->gpus[g].source)
			uj += f->gpus[g].energy_uj;
	return w->s.node.source[ENERGY_HOST] ? uj : 0;
}

static void step(struct world *w, const struct order *o)
{
	struct filled f;
	struct err err = {0};
	fill_tick(w, &f, o);
	w->parts_uj += tick_parts(w, &f);
	assert_int_equal(
		energy_tick(&w->s.node, &w->c, &f.tick, f.uses, f.n, &w->w, &err), 0);
	w->now_ns = f.tick.t1_ns + (one_in(&w->rng, 10) ? below(&w->rng, SEC) : 0);
	if (one_in(&w->rng, 3))
		host_event(w, o);
	retire(w);
}

/* ---- what must hold -------------------------------------------------------------- */

static uint64_t attributed(const struct state *s, enum energy_domain d)
{
	uint64_t sum = s->node.idle.settled_uj[d] + s->node.system.settled_uj[d] +
		       s->node.ended.settled_uj[d];
	for (size_t i = 0; i < UNITS; i++)
		sum += s->unit[i].settled_uj[d];
	return sum;
}

static bool adds_up(const struct state *s)
{
	bool ok = true;
	for (size_t d = 0; d < ENERGY_DOMAINS; d++)
		ok = ok &&
		     attributed(s, (enum energy_domain)d) == s->node.measured_uj[d];
	return ok;
}

static bool account_ok(const struct energy_account *a)
{
	for (size_t d = 0; d < ENERGY_DOMAINS; d++)
		if (a->idle_uj[d] > a->settled_uj[d])
			return false;
	return a->told_other_uj + (uint64_t)a->correction_other_uj ==
		       a->settled_uj[ENERGY_OTHER] &&
	       a->told_host_uj + (uint64_t)a->correction_host_uj ==
		       a->settled_uj[ENERGY_HOST];
}

static bool accounts_ok(const struct state *s)
{
	bool ok = account_ok(&s->node.idle) && account_ok(&s->node.system) &&
		  account_ok(&s->node.ended);
	for (size_t i = 0; i < UNITS; i++)
		ok = ok && account_ok(&s->unit[i]);
	return ok;
}

static bool host_ok(const struct world *w)
{
	const struct energy_node *n = &w->s.node;
	uint64_t parts =
		w->parts_uj - n->given_up_uj - n->open.parts_uj - n->waiting.parts_uj;
	return parts + n->measured_uj[ENERGY_OTHER] ==
	       n->measured_uj[ENERGY_HOST] + n->deficit_uj + n->forgiven_uj;
}

static bool grew(const struct energy_account *was, const struct energy_account *is)
{
	bool ok = true;
	for (size_t d = 0; d < ENERGY_DOMAINS; d++)
		ok = ok &&
		     (was->key != is->key || is->settled_uj[d] >= was->settled_uj[d]);
	return ok && is->settled_uj[ENERGY_HOST] < 1ull << 62;
}

static bool all_grew(const struct state *was, const struct state *is)
{
	bool ok = grew(&was->node.idle, &is->node.idle) &&
		  grew(&was->node.system, &is->node.system) &&
		  grew(&was->node.ended, &is->node.ended);
	for (size_t i = 0; i < UNITS; i++)
		ok = ok && grew(&was->unit[i], &is->unit[i]);
	return ok;
}

#define HOLDS(condition, seed, k)                                                      \
	do {                                                                           \
		if (!(condition))                                                      \
			fail_msg("%s: CEEMS_SEED=%llu, step %d", #condition,           \
				 (unsigned long long)(seed), (k));                     \
	} while (0)

static void every_snapshot_adds_up_and_nothing_falls(void **state)
{
	(void)state;
	uint64_t base = base_seed(), deficits = 0, corrected = 0, cut = 0, changes = 0;
	print_message("seeds %llu to %llu\n", (unsigned long long)base,
		      (unsigned long long)(base + HISTORIES - 1));
	for (uint64_t seed = base; seed < base + HISTORIES; seed++) {
		struct world w;
		struct order o;
		world_init(&w, seed);
		shuffle(&o, NULL);
		for (int k = 0; k < 60; k++) {
			struct state was = w.s;
			step(&w, &o);
			HOLDS(adds_up(&w.s), seed, k);
			HOLDS(accounts_ok(&w.s), seed, k);
			HOLDS(host_ok(&w), seed, k);
			HOLDS(all_grew(&was, &w.s), seed, k);
			deficits += w.s.node.deficit_uj != 0;
			corrected += w.s.node.idle.correction_other_uj != 0;
		}
		cut += w.s.node.given_up_uj != 0;
		changes += w.s.node.changes;
		energy_work_done(&w.w);
	}
	/* the histories did contain what they are to show */
	assert_true(deficits && corrected && cut && changes);
}

static void who_used_and_was_allocated_nothing_gets_nothing(void **state)
{
	(void)state;
	uint64_t base = base_seed() + 1000000;
	for (uint64_t seed = base; seed < base + HISTORIES; seed++) {
		struct world w;
		struct order o;
		world_init(&w, seed);
		shuffle(&o, NULL);
		for (int k = 0; k < 40; k++) {
			step(&w, &o);
			for (size_t d = 0; d < ENERGY_DOMAINS; d++)
				HOLDS(energy_account_now(&w.s.unit[0],
							 (enum energy_domain)d,
							 NULL) == 0,
				      seed, k);
		}
		energy_work_done(&w.w);
	}
}

static void the_order_of_units_changes_nothing(void **state)
{
	(void)state;
	uint64_t base = base_seed() + 2000000;
	for (uint64_t seed = base; seed < base + HISTORIES / 2; seed++) {
		struct world a, b;
		struct order plain, mixed;
		struct rng r = {~seed};
		world_init(&a, seed);
		world_init(&b, seed);
		shuffle(&plain, NULL);
		for (int k = 0; k < 40; k++) {
			shuffle(&mixed, &r);
			step(&a, &plain);
			step(&b, &mixed);
			HOLDS(memcmp(&a.s, &b.s, sizeof(a.s)) == 0, seed, k);
		}
		energy_work_done(&a.w);
		energy_work_done(&b.w);
	}
}

static void a_restart_in_the_middle_equals_none(void **state)
{
	(void)state;
	uint64_t base = base_seed() + 3000000;
	for (uint64_t seed = base; seed < base + HISTORIES / 2; seed++) {
		struct world a, b;
		struct order o;
		struct rng r = {~seed};
		world_init(&a, seed);
		world_init(&b, seed);
		shuffle(&o, NULL);
		for (int k = 0; k < 40; k++) {
			step(&a, &o);
			step(&b, &o);
			if (one_in(&r, 5)) {
				/* all that lives on is the mapping */
				unsigned char file[sizeof(struct state)];
				memcpy(file, &b.s, sizeof(file));
				memset(&b.s, 0xa5, sizeof(b.s));
				energy_work_done(&b.w);
				memcpy(&b.s, file, sizeof(file));
			}
			HOLDS(memcmp(&a.s, &b.s, sizeof(a.s)) == 0, seed, k);
		}
		energy_work_done(&a.w);
		energy_work_done(&b.w);
	}
}

/* the contract for kill -9: work on a copy, flip; killed before the flip, the old copy
 * is whole and exactly that tick's energy is missing */
static void a_tick_that_died_on_its_copy_costs_that_tick_only(void **state)
{
	(void)state;
	uint64_t base = base_seed() + 4000000;
	for (uint64_t seed = base; seed < base + HISTORIES / 2; seed++) {
		struct world w;
		struct order o;
		world_init(&w, seed);
		shuffle(&o, NULL);
		for (int k = 0; k < 20; k++) {
			struct filled f;
			struct state before = w.s;
			struct err err = {0};
			struct order order = o;
			fill_tick(&w, &f, &order);
			assert_int_equal(energy_tick(&w.s.node, &w.c, &f.tick, f.uses,
						     f.n, &w.w, &err),
					 0);
			uint64_t package = w.s.node.measured_uj[ENERGY_PACKAGE];
			w.s = before; /* killed */
			HOLDS(adds_up(&w.s) && accounts_ok(&w.s), seed, k);
			uint64_t lost =
				f.tick.package.source ? f.tick.package.energy_uj : 0;
			HOLDS(package - w.s.node.measured_uj[ENERGY_PACKAGE] == lost,
			      seed, k);
			w.now_ns = f.tick.t1_ns;
			step(&w, &o);
			HOLDS(adds_up(&w.s) && accounts_ok(&w.s) && host_ok(&w), seed,
			      k);
		}
		energy_work_done(&w.w);
	}
}

/* ---- tick length ----------------------------------------------------------------- */

struct steady {
	uint32_t mcpu[4];
	uint64_t use_ppm[4], kib[4], started_ns[4], ended_ns[4];
	uint64_t package_uw, dram_uw, host_uw;
	struct energy_config c;
};

#define STEADY_NS (120 * SEC)

static uint64_t overlap(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1)
{
	uint64_t from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;
	return to > from ? to - from : 0;
}

static uint64_t counted(uint64_t uw, uint64_t t0, uint64_t t1)
{
	return energy_of_power(uw, t1) - energy_of_power(uw, t0);
}

static void run_steady(const struct steady *p, uint64_t tick_ns, struct state *s)
{
	struct energy_work w = {0};
	struct energy_account *accounts[4];
	struct err err = {0};
	energy_node_init(&s->node);
	for (size_t i = 0; i < 4; i++) {
		energy_account_init(&s->unit[i], 10 + i);
		accounts[i] = &s->unit[i];
	}
	energy_host_restart(&s->node, 1, accounts, 0);
	uint64_t closed = 0;
	for (uint64_t t0 = 0, t1; t0 < STEADY_NS; t0 = t1) {
		t1 = t0 + tick_ns > STEADY_NS ? STEADY_NS : t0 + tick_ns;
		struct energy_use uses[4];
		for (size_t i = 0; i < 4; i++) {
			uint64_t in = overlap(t0, t1, p->started_ns[i], p->ended_ns[i]);
			uses[i] = (struct energy_use){
				.account = &s->unit[i],
				.started_ns = p->started_ns[i],
				.ended_ns = p->ended_ns[i],
				.cpu_ns = in * p->mcpu[i] / 1000 * p->use_ppm[i] /
					  ENERGY_ONE_PPM,
				.activity_ppm = ENERGY_ONE_PPM,
				.alloc_mcpu = p->mcpu[i],
				.memory_kib_ms = p->kib[i] * (in / 1000000),
			};
		}
		struct energy_tick t = {
			.t0_ns = t0,
			.t1_ns = t1,
			.package = {1, counted(p->package_uw, t0, t1)},
			.dram = {1, counted(p->dram_uw, t0, t1)},
			.host_fresh = true,
			.node_mcpu = 64000,
			.node_memory_kib = 1 << 28,
			.system_cpu_ns = (t1 - t0) / 4,
		};
		assert_int_equal(energy_tick(&s->node, &p->c, &t, uses, 4, &w, &err),
				 0);
		if (t1 % (60 * SEC) && t1 != STEADY_NS)
			continue;
		assert_int_equal(energy_host_close(&s->node, &p->c,
						   counted(p->host_uw, closed, t1), 1,
						   accounts, 4, &w),
				 0);
		closed = t1;
	}
	energy_work_done(&w);
}

static bool near(uint64_t a, uint64_t b, uint64_t scale)
{
	uint64_t d = a > b ? a - b : b - a, most = a > b ? a : b;
	/* within 1 %, or of nothing: a hundred thousandth of the domain */
	return d <= most / 100 || d <= scale / 100000;
}

/* Units start and end on multiples of 10 s for the weights that follow use (use inside
 * a tick is not known to be at its start or end); allocation follows any edge. */
static void constant_power_does_not_depend_on_the_tick(void **state)
{
	(void)state;
	static const uint64_t lengths[] = {20000000, 100000000, SEC,
					   2 * SEC,  5 * SEC,   10 * SEC};
	uint64_t base = base_seed() + 5000000;
	for (uint64_t seed = base; seed < base + 100; seed++) {
		struct rng r = {seed};
		struct steady p = {.package_uw = 50000000 + below(&r, 400000000),
				   .dram_uw = 5000000 + below(&r, 40000000)};
		p.host_uw = p.package_uw + p.dram_uw + below(&r, 200000000);
		energy_config_defaults(&p.c);
		p.c.idle = (enum energy_idle)below(&r, 3);
		p.c.idle_uw[ENERGY_PACKAGE] = below(&r, p.package_uw);
		p.c.idle_uw[ENERGY_DRAM] = below(&r, p.dram_uw);
		p.c.idle_uw[ENERGY_OTHER] = below(&r, 100000000);
		for (size_t i = 0; i < 4; i++) {
			p.mcpu[i] = 1000 + (uint32_t)below(&r, 15000);
			p.use_ppm[i] = 1000 + below(&r, 999001);
			p.kib[i] = below(&r, 1 << 26);
			p.started_ns[i] = 10 * SEC * below(&r, 6);
			p.ended_ns[i] = p.started_ns[i] + 10 * SEC * (1 + below(&r, 6));
		}
		struct state first, other;
		run_steady(&p, lengths[0], &first);
		for (size_t k = 1; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			run_steady(&p, lengths[k], &other);
			for (size_t i = 0; i < 4 * ENERGY_DOMAINS; i++) {
				size_t u = i / ENERGY_DOMAINS, d = i % ENERGY_DOMAINS;
				HOLDS(near(first.unit[u].settled_uj[d],
					   other.unit[u].settled_uj[d],
					   first.node.measured_uj[d]),
				      seed, (int)i);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_snapshot_adds_up_and_nothing_falls),
		cmocka_unit_test(who_used_and_was_allocated_nothing_gets_nothing),
		cmocka_unit_test(the_order_of_units_changes_nothing),
		cmocka_unit_test(a_restart_in_the_middle_equals_none),
		cmocka_unit_test(a_tick_that_died_on_its_copy_costs_that_tick_only),
		cmocka_unit_test(constant_power_does_not_depend_on_the_tick),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
