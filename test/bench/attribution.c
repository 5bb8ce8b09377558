/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How near attribution comes to the truth. A pretended node runs units whose power is
 * known; its sensors have the steps, delays and wraps of real ones. The same histories
 * are given to the recording rules of CEEMS 0.10 (rate of the last two 15 s scrapes,
 * shares of busy CPU time and of memory.current, 90/10 split), in its favour: no gaps,
 * no jitter, no series that live on after their unit. And what one tick costs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/energy.h"
#include "lib/clock.h"

#define UNITS_MAX 2000
#define NODES 6
#define CPUS 64
#define MEMORY_KIB (256u << 20)
#define GPUS 4
#define STEP_NS 10000000ull /* of the simulated truth */
#define STEP_S 0.01
#define WARM_S 180 /* nothing runs: idle power is learned */
#define HISTORY_S (WARM_S + 3600)
#define SCRAPE_S 15
#define BMC_S 5
#define BMC_WINDOW 100 /* steps: the BMC shows the mean of a second, a second late */
#define RAPL_STEP 61e-6
#define DRAM_STEP 15.3e-6
#define RAPL_RANGE_UJ 262143328850ull
#define DRAM_RANGE_UJ 65712999613ull
#define SHORT_S 15.0

/* watts of the node without load */
#define IDLE_PACKAGE 80.0
#define IDLE_DRAM 12.0
#define IDLE_OTHER 90.0
#define IDLE_GPU 55.0
#define LOSS 0.12       /* power supplies and fans, of dynamic power */
#define SYSTEM_CPUS 0.2 /* daemons and kernel threads */
#define WATTS_PER_CPU 4.0

enum kind { IDLE, COMPUTE, MEMORY, AVX, GPU, KINDS };
static const char *const kind_name[] = {"idle", "compute", "memory", "avx", "gpu"};
static const double kind_load[] = {0.005, 0.99, 0.97, 0.99, 0.6};
static const double kind_watts[] = {3.5, WATTS_PER_CPU, 2.4, 5.6, 3.2};
static const double kind_dram[] = {0.0, 0.08, 0.55, 0.2, 0.1};

struct joules {
	double package, dram, other, gpu;
};

struct unit {
	enum kind kind;
	uint64_t started_ns, ended_ns;
	unsigned cpus, gpu;
	double load, watts, dram_watts, gpu_watts, activity;
	double resident_kib, cache_kib;
	double cpu_s; /* counter */
	/* the truth: its own, and its share of static power by allocation and by use */
	struct joules dynamic, allocation, usage;
	/* what the tick before saw */
	double seen_cpu_s;
	/* the peer */
	double scraped_cpu_s;
	bool scraped;
	double peer_a, peer_b, peer_c, peer_gpu;
};

/* ---- the node -------------------------------------------------------------------- */

struct node {
	uint64_t rng, now_ns;
	struct unit unit[UNITS_MAX];
	size_t count;
	unsigned free_cpus;
	bool gpu_taken[GPUS];
	struct joules total; /* cumulative truth */
	double gpu_j[GPUS], gpu_watts[GPUS];
	double host_j, busy_s, system_s;
	double host_watts[2 * BMC_WINDOW + 1]; /* of the last steps */
	size_t at;
};

static double uniform(struct node *n)
{
	n->rng ^= n->rng << 13;
	n->rng ^= n->rng >> 7;
	n->rng ^= n->rng << 17;
	return (double)(n->rng >> 11) / 9007199254740992.0;
}

static double around(struct node *n, double v, double spread)
{
	return v * (1 + spread * (2 * uniform(n) - 1));
}

static bool alive(const struct unit *u, uint64_t t)
{
	return u->started_ns <= t && t < u->ended_ns;
}

static int free_gpu(const struct node *n)
{
	for (int g = 0; g < GPUS; g++)
		if (!n->gpu_taken[g])
			return g;
	return -1;
}

static void start_unit(struct node *n)
{
	enum kind kind = (enum kind)(uniform(n) * KINDS);
	int gpu = free_gpu(n);
	unsigned cpus = 1 + (unsigned)(uniform(n) * 15);
	if (n->count == UNITS_MAX || cpus > n->free_cpus || (kind == GPU && gpu < 0))
		return;
	double s = uniform(n) < 0.4 ? 0.3 + uniform(n) * 11.7 : 30 + uniform(n) * 570;
	struct unit *u = &n->unit[n->count++];
	*u = (struct unit){
		.kind = kind,
		.started_ns = n->now_ns,
		.ended_ns = n->now_ns + (uint64_t)(s * 100) * STEP_NS,
		.cpus = cpus,
		.gpu = kind == GPU ? (unsigned)gpu : GPUS,
		.load = fmin(1.0, around(n, kind_load[kind], 0.03)),
		.watts = around(n, kind_watts[kind], 0.10),
		.dram_watts = around(n, kind_dram[kind], 0.20),
		.gpu_watts = kind == GPU ? 100 + uniform(n) * 300 : 0,
		/* perf counts tell kinds apart, each with an error of its own */
		.activity = around(n, kind_watts[kind] / WATTS_PER_CPU, 0.10),
		.resident_kib =
			cpus * (kind == MEMORY ? 3e6 : 8e5) * (0.5 + uniform(n)),
	};
	u->cache_kib = u->resident_kib * (uniform(n) < 0.3 ? 2 * uniform(n) : 0.1);
	n->free_cpus -= cpus;
	if (kind == GPU)
		n->gpu_taken[gpu] = true;
}

static void end_units(struct node *n)
{
	for (size_t i = 0; i < n->count; i++) {
		struct unit *u = &n->unit[i];
		if (u->ended_ns != n->now_ns)
			continue;
		n->free_cpus += u->cpus;
		if (u->kind == GPU)
			n->gpu_taken[u->gpu] = false;
	}
}

static void charge_static(struct node *n, double busy, double resident)
{
	for (size_t i = 0; i < n->count; i++) {
		struct unit *u = &n->unit[i];
		if (!alive(u, n->now_ns))
			continue;
		double part = (double)u->cpus / CPUS, use = u->cpus * u->load / busy;
		u->allocation.package += IDLE_PACKAGE * part * STEP_S;
		u->allocation.dram += IDLE_DRAM * part * STEP_S;
		u->allocation.other += IDLE_OTHER * part * STEP_S;
		u->usage.package += IDLE_PACKAGE * use * STEP_S;
		u->usage.dram += IDLE_DRAM * u->resident_kib / resident * STEP_S;
		u->usage.other += IDLE_OTHER * use * STEP_S;
	}
}

/* one step of the truth */
static void simulate(struct node *n)
{
	double package = SYSTEM_CPUS * WATTS_PER_CPU * 0.8, dram = 0.2;
	double busy = SYSTEM_CPUS, resident = 4e6;
	double wave = 1 + 0.15 * sin((double)n->now_ns / 1e9); /* of GPUs */
	end_units(n);
	if (n->now_ns >= WARM_S * NSEC_PER_SEC && uniform(n) < 0.004)
		start_unit(n);
	for (size_t g = 0; g < GPUS; g++)
		n->gpu_watts[g] = IDLE_GPU;
	for (size_t i = 0; i < n->count; i++) {
		struct unit *u = &n->unit[i];
		if (!alive(u, n->now_ns))
			continue;
		double cpus = u->cpus * u->load;
		double p = cpus * u->watts, d = u->cpus * u->dram_watts;
		package += p;
		dram += d;
		busy += cpus;
		resident += u->resident_kib;
		u->cpu_s += cpus * STEP_S;
		u->dynamic.package += p * STEP_S;
		u->dynamic.dram += d * STEP_S;
		u->dynamic.other += (p + d) * LOSS * STEP_S;
		if (u->kind != GPU)
			continue;
		n->gpu_watts[u->gpu] += u->gpu_watts * wave;
		u->dynamic.gpu += n->gpu_watts[u->gpu] * STEP_S;
	}
	charge_static(n, busy, resident);
	double other = IDLE_OTHER + (package + dram) * LOSS;
	package += IDLE_PACKAGE;
	dram += IDLE_DRAM;
	n->total.package += package * STEP_S;
	n->total.dram += dram * STEP_S;
	n->total.other += other * STEP_S;
	for (size_t g = 0; g < GPUS; g++)
		n->gpu_j[g] += n->gpu_watts[g] * STEP_S;
	n->host_j += (package + dram + other) * STEP_S;
	n->busy_s += busy * STEP_S;
	n->system_s += SYSTEM_CPUS * STEP_S;
	n->host_watts[n->at++ % (2 * BMC_WINDOW + 1)] = package + dram + other;
	n->now_ns += STEP_NS;
}

/* ---- its sensors ----------------------------------------------------------------- */

static uint64_t counter(double j, double step, uint64_t range)
{
	return (uint64_t)(floor(j / step) * step * 1e6) % range;
}

/* two packages, 53 to 47: a counter each */
static uint64_t package_counter(const struct node *n, int p)
{
	return counter(n->total.package * (p ? 0.47 : 0.53), RAPL_STEP, RAPL_RANGE_UJ);
}

static uint64_t dram_counter(const struct node *n)
{
	return counter(n->total.dram, DRAM_STEP, DRAM_RANGE_UJ);
}

/* whole watts, mean over one second, one second old */
static double bmc_watts(const struct node *n)
{
	double sum = 0;
	for (size_t k = 0; k < BMC_WINDOW; k++)
		sum += n->host_watts[(n->at + k) % (2 * BMC_WINDOW + 1)];
	return round(sum / BMC_WINDOW);
}

static uint64_t cray_joules(const struct node *n)
{
	return (uint64_t)n->host_j;
}

/* ---- ours ------------------------------------------------------------------------ */

struct ours {
	struct energy_config c;
	bool activity, cray;
	struct energy_node node;
	struct energy_account account[UNITS_MAX];
	struct energy_work w;
	uint64_t last_package[2], last_dram, last_cray, last_gpu[GPUS];
};

static uint64_t unwrapped(uint64_t *last, uint64_t now, uint64_t range)
{
	uint64_t d = now >= *last ? now - *last : now + range - *last;
	*last = now;
	return d;
}

static size_t open_accounts(struct ours *o, size_t n, struct energy_account **ret)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		if (energy_account_open(&o->account[i]))
			ret[k++] = &o->account[i];
	return k;
}

static void ours_init(struct ours *o, const struct node *n)
{
	energy_node_init(&o->node);
	for (size_t i = 0; i < UNITS_MAX; i++)
		energy_account_init(&o->account[i], ENERGY_KEYS_RESERVED + i);
	o->c.idle_uw[ENERGY_GPU] = 0;
	energy_host_restart(&o->node, 1, NULL, 0);
	o->last_package[0] = package_counter(n, 0);
	o->last_package[1] = package_counter(n, 1);
	o->last_dram = dram_counter(n);
	o->last_cray = cray_joules(n);
	for (size_t g = 0; g < GPUS; g++)
		o->last_gpu[g] = (uint64_t)(n->gpu_j[g] * 1e3) * 1000;
}

static size_t make_uses(struct ours *o, const struct node *n, uint64_t t0,
			struct energy_use *uses, struct energy_gpu_share *shares)
{
	size_t k = 0;
	for (size_t i = 0; i < n->count; i++) {
		const struct unit *u = &n->unit[i];
		if (u->ended_ns <= t0)
			continue;
		uint64_t from = u->started_ns > t0 ? u->started_ns : t0;
		uint64_t to = u->ended_ns < n->now_ns ? u->ended_ns : n->now_ns;
		double ppm =
			o->activity ? u->activity * ENERGY_ONE_PPM : ENERGY_ONE_PPM;
		shares[k] = (struct energy_gpu_share){u->gpu, ENERGY_ONE_PPM};
		uses[k] = (struct energy_use){
			.account = &o->account[i],
			.started_ns = u->started_ns,
			.ended_ns = u->ended_ns,
			.cpu_ns = (uint64_t)((u->cpu_s - u->seen_cpu_s) * 1e9),
			.activity_ppm = (uint32_t)ppm,
			.alloc_mcpu = u->cpus * 1000,
			.memory_kib_ms =
				(uint64_t)(u->resident_kib * (double)(to - from) / 1e6),
			.gpus = &shares[k],
			.gpu_count = u->gpu < GPUS,
		};
		k++;
	}
	return k;
}

static void ours_tick(struct ours *o, const struct node *n, uint64_t t0,
		      double system_s)
{
	static struct energy_use uses[UNITS_MAX];
	static struct energy_gpu_share shares[UNITS_MAX];
	struct energy_meter gpus[GPUS];
	for (size_t g = 0; g < GPUS; g++) /* NVML: millijoules */
		gpus[g] = (struct energy_meter){
			1, unwrapped(&o->last_gpu[g],
				     (uint64_t)(n->gpu_j[g] * 1e3) * 1000, 0)};
	struct energy_tick t = {
		.t0_ns = t0,
		.t1_ns = n->now_ns,
		.package = {1, unwrapped(&o->last_package[0], package_counter(n, 0),
					 RAPL_RANGE_UJ) +
				       unwrapped(&o->last_package[1],
						 package_counter(n, 1), RAPL_RANGE_UJ)},
		.dram = {1, unwrapped(&o->last_dram, dram_counter(n), DRAM_RANGE_UJ)},
		.gpus = gpus,
		.gpu_count = GPUS,
		.host_fresh = true,
		.node_mcpu = CPUS * 1000,
		.node_memory_kib = MEMORY_KIB,
		.system_cpu_ns = (uint64_t)(system_s * 1e9),
		.system_memory_kib_ms = 4000000ull * 1000,
	};
	struct err err = {0};
	size_t k = make_uses(o, n, t0, uses, shares);
	if (energy_tick(&o->node, &o->c, &t, uses, k, &o->w, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static void ours_host(struct ours *o, const struct node *n)
{
	static struct energy_account *open[UNITS_MAX];
	size_t k = open_accounts(o, n->count, open);
	uint64_t uj = o->cray ? 1000000 * unwrapped(&o->last_cray, cray_joules(n), 0)
			      : (uint64_t)(bmc_watts(n) * BMC_S * 1e6);
	if (energy_host_close(&o->node, &o->c, uj, 1, open, k, &o->w) < 0)
		exit(1);
}

/* ---- the peer -------------------------------------------------------------------- */

struct peer {
	uint64_t package[2], dram, cray;
	double busy_s;
};

/* a counter that fell is taken for a restart from 0 */
static double increase(uint64_t *last, uint64_t now)
{
	double d = now >= *last ? (double)(now - *last) : (double)now;
	*last = now;
	return d / 1e6;
}

static void peer_scrape(struct peer *p, struct node *n)
{
	double package = increase(&p->package[0], package_counter(n, 0)) +
			 increase(&p->package[1], package_counter(n, 1));
	double dram = increase(&p->dram, dram_counter(n));
	double cray = (double)(cray_joules(n) - p->cray), busy = n->busy_s - p->busy_s;
	double host = bmc_watts(n) * SCRAPE_S, used = 4e6;
	double running = 0;
	p->cray = cray_joules(n);
	p->busy_s = n->busy_s;
	for (size_t i = 0; i < n->count; i++)
		if (alive(&n->unit[i], n->now_ns)) {
			running++;
			used += n->unit[i].resident_kib;
		}
	for (size_t i = 0; i < n->count; i++) {
		struct unit *u = &n->unit[i];
		if (!alive(u, n->now_ns))
			continue;
		if (u->gpu < GPUS)
			u->peer_gpu += n->gpu_watts[u->gpu] * SCRAPE_S;
		if (u->scraped) {
			double c = (u->cpu_s - u->scraped_cpu_s) / busy;
			double m = (u->resident_kib + u->cache_kib) / used;
			double pd = package + dram;
			u->peer_a += package * c + dram * m;
			u->peer_b += 0.9 * host * (package * c + dram * m) / pd +
				     0.1 * host / running;
			u->peer_c += package * c + dram * m + (cray - pd) / running;
		}
		u->scraped = true;
		u->scraped_cpu_s = u->cpu_s;
	}
}

/* ---- results --------------------------------------------------------------------- */

enum variant {
	ALLOCATION,
	ALLOCATION_ACTIVITY,
	USAGE,
	USAGE_ACTIVITY,
	NONE,
	NONE_ACTIVITY,
	ALLOCATION_OTHER_CPU,
	ALLOCATION_CRAY,
	USAGE_CRAY,
	VARIANTS,
};
static const char *const variant_name[] = {
	"allocation, CPU time",
	"allocation, CPU time x activity",
	"usage, CPU time",
	"usage, CPU time x activity",
	"none, CPU time",
	"none, CPU time x activity",
	"allocation, CPU time x activity, other by CPU",
	"allocation, CPU time x activity, Cray",
	"usage, CPU time x activity, Cray",
};

struct mean {
	double sum, n;
};

static void add(struct mean *m, double value, double truth)
{
	if (truth < 1)
		return; /* a share of nothing says nothing */
	m->sum += 100 * fabs(value - truth) / truth;
	m->n++;
}

static double of(const struct mean *m)
{
	return m->n ? m->sum / m->n : 0;
}

/* rapl: package + dram; host: the whole node but its GPUs */
struct score {
	struct mean rapl, host, rapl_short, host_short, rapl_long, host_long, gpu;
	struct mean kind[KINDS];
};
struct peer_score {
	struct score a, b, c;
};
static struct score score[VARIANTS];
/* against the truth with static power by allocation, and by its own way, by use */
static struct peer_score peer_allocation, peer_usage;
static struct mean peer_gpu;
static double short_units, short_seen, units_total, total_error_uj, truth_error;

static void put(const char *metric, double value, const char *unit, const char *reach,
		const char *ok)
{
	printf("{\"bench\":\"attribution\",\"metric\":\"%s\",\"value\":%.4g,"
	       "\"unit\":\"%s\",\"reach\":\"%s\",\"ok\":%s}\n",
	       metric, value, unit, reach, ok);
}

static const char *met(bool ok)
{
	return ok ? "true" : "false";
}

static double lived_s(const struct unit *u)
{
	return (double)(u->ended_ns - u->started_ns) / 1e9;
}

static struct joules truth_of(const struct unit *u, enum energy_idle idle)
{
	struct joules t = u->dynamic;
	const struct joules *s =
		idle == ENERGY_IDLE_ALLOCATION ? &u->allocation : &u->usage;
	if (idle == ENERGY_IDLE_NONE)
		return t;
	t.package += s->package;
	t.dram += s->dram;
	t.other += s->other;
	return t;
}

static void score_one(struct score *s, const struct unit *u, const struct joules *t,
		      double rapl, double host)
{
	double tr = t->package + t->dram, th = tr + t->other;
	bool brief = lived_s(u) < SHORT_S;
	add(&s->rapl, rapl, tr);
	add(&s->host, host, th);
	add(brief ? &s->rapl_short : &s->rapl_long, rapl, tr);
	add(brief ? &s->host_short : &s->host_long, host, th);
	add(&s->kind[u->kind], rapl, tr);
}

static void score_peer(struct peer_score *s, const struct unit *u,
		       enum energy_idle idle)
{
	struct joules t = truth_of(u, idle);
	score_one(&s->a, u, &t, u->peer_a, u->peer_b);
	score_one(&s->c, u, &t, u->peer_a, u->peer_c);
}

static void score_ours(struct ours *o, struct score *s, const struct node *n)
{
	double sum[ENERGY_DOMAINS] = {0};
	uint64_t exact[ENERGY_DOMAINS] = {0};
	for (size_t i = 0; i < n->count; i++) {
		const struct unit *u = &n->unit[i];
		const uint64_t *uj = o->account[i].settled_uj;
		struct joules t = truth_of(u, o->c.idle);
		for (size_t d = 0; d < ENERGY_DOMAINS; d++)
			exact[d] += uj[d];
		if (u->ended_ns > n->now_ns)
			continue;
		score_one(s, u, &t,
			  (double)(uj[ENERGY_PACKAGE] + uj[ENERGY_DRAM]) / 1e6,
			  (double)uj[ENERGY_HOST] / 1e6);
		if (u->kind == GPU)
			add(&s->gpu, (double)uj[ENERGY_GPU] / 1e6, t.gpu);
	}
	for (size_t d = 0; d < ENERGY_DOMAINS; d++) {
		exact[d] += o->node.idle.settled_uj[d] + o->node.system.settled_uj[d];
		sum[d] = fabs((double)(int64_t)(exact[d] - o->node.measured_uj[d]));
		total_error_uj += sum[d];
	}
}

static void set_variant(struct ours *o, enum variant v)
{
	*o = (struct ours){0};
	energy_config_defaults(&o->c);
	o->c.idle = v == USAGE || v == USAGE_ACTIVITY || v == USAGE_CRAY
			    ? ENERGY_IDLE_USAGE
		    : v == NONE || v == NONE_ACTIVITY ? ENERGY_IDLE_NONE
						      : ENERGY_IDLE_ALLOCATION;
	o->activity = v != ALLOCATION && v != USAGE && v != NONE;
	o->cray = v == ALLOCATION_CRAY || v == USAGE_CRAY;
	if (v == ALLOCATION_OTHER_CPU)
		o->c.other = ENERGY_OTHER_CPU;
}

static void run_node(uint64_t seed, struct ours *ours)
{
	static struct node n;
	struct peer peer = {0};
	double system_s = 0;
	n = (struct node){.rng = seed * 0x9e3779b97f4a7c15u, .free_cpus = CPUS};
	for (size_t v = 0; v < VARIANTS; v++) {
		set_variant(&ours[v], (enum variant)v);
		ours_init(&ours[v], &n);
	}
	for (uint64_t s = 1; s <= HISTORY_S; s++) {
		uint64_t t0 = n.now_ns;
		for (size_t k = 0; k < NSEC_PER_SEC / STEP_NS; k++)
			simulate(&n);
		for (size_t v = 0; v < VARIANTS; v++) {
			ours_tick(&ours[v], &n, t0, n.system_s - system_s);
			if (ours[v].cray || s % BMC_S == 0)
				ours_host(&ours[v], &n);
		}
		system_s = n.system_s;
		for (size_t i = 0; i < n.count; i++)
			n.unit[i].seen_cpu_s = n.unit[i].cpu_s;
		if (s % SCRAPE_S == 0)
			peer_scrape(&peer, &n);
	}
	for (size_t v = 0; v < VARIANTS; v++)
		score_ours(&ours[v], &score[v], &n);
	truth_error += 100 *
		       fabs((double)ours[0].node.measured_uj[ENERGY_PACKAGE] / 1e6 -
			    n.total.package) /
		       n.total.package / NODES;
	for (size_t i = 0; i < n.count; i++) {
		const struct unit *u = &n.unit[i];
		if (u->ended_ns > n.now_ns)
			continue;
		units_total++;
		short_units += lived_s(u) < SHORT_S;
		short_seen += lived_s(u) < SHORT_S && u->peer_a > 0;
		score_peer(&peer_allocation, u, ENERGY_IDLE_ALLOCATION);
		score_peer(&peer_usage, u, ENERGY_IDLE_USAGE);
		if (u->kind == GPU)
			add(&peer_gpu, u->peer_gpu, u->dynamic.gpu);
	}
	for (size_t v = 0; v < VARIANTS; v++)
		energy_work_done(&ours[v].w);
}

static void put_mape(const char *who, const char *what, const struct mean *m)
{
	char metric[160];
	(void)snprintf(metric, sizeof(metric), "%s: %s, MAPE per unit", who, what);
	put(metric, of(m), "%", "", "null");
}

static void put_peer(const char *truth, const struct peer_score *p)
{
	char who[80];
	(void)snprintf(who, sizeof(who), "peer, truth by %s", truth);
	put_mape(who, "(a) package+dram", &p->a.rapl);
	put_mape(who, "(a) package+dram, 30 s and longer", &p->a.rapl_long);
	put_mape(who, "(b) host from BMC", &p->a.host);
	put_mape(who, "(b) host from BMC, 30 s and longer", &p->a.host_long);
	put_mape(who, "(c) host from Cray", &p->c.host);
	put_mape(who, "(c) host from Cray, 30 s and longer", &p->c.host_long);
}

static void put_ratio(const char *what, const struct mean *peer, const struct mean *us)
{
	char metric[160];
	double ratio = of(peer) / of(us);
	(void)snprintf(metric, sizeof(metric), "MAPE of the peer over ours, %s", what);
	put(metric, ratio, "x", ">= 3", met(ratio >= 3));
}

static void report(void)
{
	put("units", units_total, "units", "", "null");
	put("sum over units, idle and system minus measured, all domains and nodes",
	    total_error_uj, "uJ", "0", met(total_error_uj == 0));
	put("package energy against the truth, wraps included", truth_error, "%", "",
	    "null");
	for (size_t v = 0; v < VARIANTS; v++) {
		put_mape(variant_name[v], "package+dram", &score[v].rapl);
		put_mape(variant_name[v], "host", &score[v].host);
	}
	for (size_t k = 0; k < KINDS; k++) {
		char what[80];
		(void)snprintf(what, sizeof(what), "%s units, package+dram",
			       kind_name[k]);
		put_mape(variant_name[ALLOCATION], what, &score[ALLOCATION].kind[k]);
		put_mape(variant_name[ALLOCATION_ACTIVITY], what,
			 &score[ALLOCATION_ACTIVITY].kind[k]);
		put_mape("peer (a), truth by allocation", what,
			 &peer_allocation.a.kind[k]);
		put_mape("peer (a), truth by usage", what, &peer_usage.a.kind[k]);
	}
	put_peer("allocation", &peer_allocation);
	put_peer("usage", &peer_usage);
	put_mape("ours", "GPU", &score[ALLOCATION].gpu);
	put_mape("peer", "(d) GPU", &peer_gpu);
	const struct score *a = &score[ALLOCATION_ACTIVITY],
			   *u = &score[USAGE_ACTIVITY];
	put_ratio("(a) package+dram, allocation", &peer_allocation.a.rapl, &a->rapl);
	put_ratio("(a) package+dram, allocation, CPU time alone",
		  &peer_allocation.a.rapl, &score[ALLOCATION].rapl);
	put_ratio("(b) host from BMC, allocation", &peer_allocation.a.host, &a->host);
	put_ratio("(c) host from Cray, allocation", &peer_allocation.c.host,
		  &score[ALLOCATION_CRAY].host);
	put_mape("allocation, CPU time x activity", "package+dram, 30 s and longer",
		 &a->rapl_long);
	put_mape("allocation, CPU time x activity", "host from BMC, 30 s and longer",
		 &a->host_long);
	put_ratio("(a) package+dram, usage", &peer_usage.a.rapl, &u->rapl);
	put_ratio("(b) host from BMC, usage", &peer_usage.a.host, &u->host);
	put_ratio("(c) host from Cray, usage", &peer_usage.c.host,
		  &score[USAGE_CRAY].host);
	put("units below 15 s, package+dram, allocation, MAPE", of(&a->rapl_short), "%",
	    "< 10", met(of(&a->rapl_short) < 10));
	put("the same, CPU time alone", of(&score[ALLOCATION].rapl_short), "%", "< 10",
	    met(of(&score[ALLOCATION].rapl_short) < 10));
	put("units below 15 s, host from BMC, allocation, MAPE", of(&a->host_short),
	    "%", "< 10", met(of(&a->host_short) < 10));
	put("units below 15 s, host from Cray, allocation, MAPE",
	    of(&score[ALLOCATION_CRAY].host_short), "%", "< 10",
	    met(of(&score[ALLOCATION_CRAY].host_short) < 10));
	put("units below 15 s of which the peer has any energy",
	    100 * short_seen / short_units, "%", "", "null");
}

/* ---- what a tick costs ----------------------------------------------------------- */

#define BUSY_UNITS 100
#define ROUNDS 3000

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static void tick_cost(void)
{
	static struct energy_account account[BUSY_UNITS], *accounts[BUSY_UNITS];
	static struct energy_use use[BUSY_UNITS];
	static double us[ROUNDS];
	struct energy_node node;
	struct energy_config c;
	struct energy_work w = {0};
	struct err err = {0};
	energy_node_init(&node);
	energy_config_defaults(&c);
	for (size_t i = 0; i < BUSY_UNITS; i++) {
		energy_account_init(&account[i], 10 + i);
		accounts[i] = &account[i];
		use[i] = (struct energy_use){.account = &account[i],
					     .cpu_ns = 912345678 + i * 7919,
					     .activity_ppm = 900000 + (uint32_t)i,
					     .alloc_mcpu = 1000,
					     .memory_kib_ms = 1000000 + i};
	}
	c.idle_uw[ENERGY_PACKAGE] = c.idle_uw[ENERGY_OTHER] = 80000000;
	c.idle_uw[ENERGY_DRAM] = 10000000;
	energy_host_restart(&node, 1, accounts, BUSY_UNITS);
	for (size_t k = 0; k < ROUNDS; k++) {
		struct energy_tick t = {
			.t0_ns = k * NSEC_PER_SEC,
			.t1_ns = (k + 1) * NSEC_PER_SEC,
			.package = {1, 412345678 + k}, /* the sum of two */
			.dram = {1, 42345678 + k},
			.host_fresh = true,
			.node_mcpu = 128000,
			.node_memory_kib = MEMORY_KIB,
			.system_cpu_ns = 12345678,
		};
		uint64_t from = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
		if (energy_tick(&node, &c, &t, use, BUSY_UNITS, &w, &err) < 0 ||
		    energy_host_close(&node, &c, 600000000, 1, accounts, BUSY_UNITS,
				      &w) < 0)
			exit(1);
		us[k] = (double)(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - from) / 1e3;
	}
	energy_work_done(&w);
	qsort(us, ROUNDS, sizeof(us[0]), compare);
	put("one tick that also closes a host interval, 100 units, 2 packages, CPU p50",
	    us[ROUNDS / 2], "us", "< 150", met(us[ROUNDS / 2] < 150));
	put("the same, p99", us[ROUNDS * 99 / 100], "us", "", "null");
}

int main(void)
{
	struct ours *ours = calloc(VARIANTS, sizeof(*ours));
	if (!ours)
		return 1;
	for (uint64_t seed = 1; seed <= NODES; seed++)
		run_node(seed, ours);
	free(ours);
	report();
	tick_cost();
	return 0;
}
