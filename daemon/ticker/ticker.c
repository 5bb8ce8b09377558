/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When an energy tick is made, and from what. energy.c does the arithmetic,
 * units_energy.c the memory; here are the inputs: sensors, CPU time, allocations. */
#include "daemon/ticker/ticker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/energy_options.h"
#include "daemon/gpus/driver_gpus.h"
#include "daemon/gpus/gpu_vgpus.h"
#include "daemon/options.h"
#include "daemon/sample.h"
#include "daemon/sources/meters.h"
#include "daemon/steps_energy.h"
#include "daemon/ticker/gpu_idle.h"
#include "daemon/ticker/gpu_readings.h"
#include "daemon/ticker/gpu_sharing.h"
#include "daemon/ticker/gpu_use.h"
#include "daemon/ticker/gpu_weights.h"
#include "daemon/ticker/node_use.h"
#include "daemon/ticker/usage_deltas.h"
#include "lib/clock.h"
#include "lib/log.h"

#define MEMORY_NS (10 * NSEC_PER_SEC)
/* A sensor that is overdue does not hold up a tick. */
#define PATIENCE_PARTS 3u
/* Do not wait any longer for sensors not read by so long after the start. */
#define RESUME_NS (90 * NSEC_PER_SEC)

struct ticker {
	const struct env *env;
	struct units *units;
	struct sample *sample;
	struct meters *meters;
	struct energy_config configured, config; /* config: in force in this tick */
	struct energy_work work;
	struct usage_deltas deltas;
	struct steps_energy steps;
	struct node_use node;
	uint64_t interval_ns;

	bool going, resumes; /* resumes: the first tick begins at an earlier daemon's
				last one */
	uint64_t born_ns, t0_ns, t1_ns;
	uint64_t memory_until_ns;
	uint64_t cpu_ns; /* in the last tick */
	uint32_t cpus;
	bool host_begun;           /* an interval of its sensor is open */
	bool host_waits;           /* an earlier daemon's, not read again yet */
	uint64_t marked_asking_ns; /* the sampling that was marked last */
	uint64_t gaps_said, gaps[METERS_SOURCES]; /* see struct ticker_view */
	uint32_t cut_said;
	uint64_t measured_ns[ENERGY_DOMAINS];
	struct gpu_readings *gpu_readings; /* likewise, by ceems-gpu */
	struct gpu_weights *gpu_weights;   /* likewise */
	struct gpu_sharing *gpu_sharing;   /* likewise */
	struct gpu_vgpus *gpu_vgpus;       /* likewise */
	struct gpu_idle gpu_idle;
	struct host_check host_check;
};

/* Our first tick begins at an earlier daemon's last one: sensors and the kernel
 * continued to count. */
static void plan_resume(struct ticker *t)
{
	const struct energy_state *e = units_energy(t->units);

	if (!e->node.last_ns || !e->checkpoint.known || e->node.last_ns > t->born_ns)
		return;
	meters_resume(t->meters, &e->checkpoint, t->born_ns);
	node_use_resume(&t->node, e->checkpoint.cpu_ns, e->checkpoint.ahead_ns);
	t->t0_ns = t->t1_ns = e->node.last_ns;
	t->resumes = true;
	/* units that ended meanwhile stay until that tick */
	units_energy_ticking(t->units, true);
}

int ticker_new(const struct env *env, struct sample *sample, struct ticker **ret,
	       struct err *err)
{
	const struct options *o = env->options;
	struct ticker *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set(err, -ENOMEM, "energy: out of memory");
	t->env = env;
	t->units = env->units;
	t->sample = sample;
	t->interval_ns = o->energy_interval_ms * NSEC_PER_MSEC;
	node_use_init(&t->node, env->procfd);
	t->meters = meters_new(env->sampler, energy_host_source(o));
	int rc = t->meters ? energy_options(o, &t->configured, err)
			   : err_set(err, -ENOMEM, "energy: out of memory");
	t->config = t->configured;
	if (rc < 0) {
		ticker_free(t);
		return rc;
	}
	t->born_ns = env->boottime_ns();
	plan_resume(t);
	*ret = t;
	return 0;
}

void ticker_free(struct ticker *t)
{
	if (!t)
		return;
	units_energy_ticking(t->units, false);
	meters_free(t->meters);
	gpu_readings_free(t->gpu_readings);
	gpu_weights_free(t->gpu_weights);
	gpu_sharing_free(t->gpu_sharing);
	gpu_vgpus_free(t->gpu_vgpus);
	usage_deltas_done(&t->deltas);
	steps_energy_done(&t->steps);
	energy_work_done(&t->work);
	node_use_done(&t->node);
	free(t);
}

/* The sensor that determines a tick's end */
static const struct meter *find_leading_meter(const struct ticker *t)
{
	static const enum meters_slot order[] = {METERS_PACKAGE, METERS_PSYS,
						 METERS_HOST};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct meter *m = meters_get(t->meters, order[i]);
		if (m->source)
			return m;
	}
	return NULL;
}

bool ticker_due(struct ticker *t)
{
	uint64_t now_ns = t->env->boottime_ns();
	uint64_t since_ns = now_ns - (t->going ? t->t1_ns : t->born_ns);

	/* rather slightly early than one sampling late */
	if (t->going && since_ns < t->interval_ns - t->interval_ns / 10)
		return false;
	meters_read(t->meters, now_ns);
	if (!meters_any(t->meters))
		return t->going || (t->resumes && since_ns > RESUME_NS);
	const struct meter *m = find_leading_meter(t);
	if (!(t->going || t->resumes) || !m || (m->fresh && m->measured_ns > t->t1_ns))
		return true;
	bool parts = m != meters_get(t->meters, METERS_HOST);
	uint64_t patience_ns = parts ? PATIENCE_PARTS * t->interval_ns
				     : t->interval_ns + t->interval_ns / 4;
	return since_ns >= patience_ns;
}

static uint64_t end_of_tick(const struct ticker *t)
{
	const struct meter *m = find_leading_meter(t);
	uint64_t now_ns = t->env->boottime_ns();

	return m && m->measured_ns > t->t1_ns && m->measured_ns < now_ns
		       ? m->measured_ns
		       : now_ns;
}

/* ---- the host's sensor ----------------------------------------------------------- */

/* A sampling that began at_ns belongs to the nearer end of the tick. */
static bool belongs_before(const struct energy_tick *k, uint64_t at_ns)
{
	return at_ns < k->t0_ns + (k->t1_ns - k->t0_ns) / 2;
}

/* Says once that --energy.host-includes-gpu cannot be right. */
static void say_host_check(struct ticker *t)
{
	double slope = 0;
	enum host_check_result is = host_check_result(&t->host_check, &slope);

	if (is == HOST_CHECK_UNSURE || is == t->host_check.said)
		return;
	t->host_check.said = is;
	if ((is == HOST_INCLUDES_GPUS) == t->config.host_includes_gpu)
		return;
	log_warn("energy: the host's sensor shows %.2f W more for each watt of the "
		 "GPUs: it seems to %s them, and --energy.host-includes-gpu should be "
		 "%s",
		 slope, t->config.host_includes_gpu ? "leave out" : "include",
		 t->config.host_includes_gpu ? "no" : "yes");
}

static int host_close(struct ticker *t, struct energy_node *node, const struct meter *m)
{
	struct usage_deltas *w = &t->deltas;
	int rc = steps_energy_before_close(&t->steps, t->units, node->marked);

	if (rc == 0)
		rc = energy_host_close(node, &t->config, m->energy_uj, m->source,
				       w->accounts, w->account_count, &t->work);
	if (rc != 0)
		return rc;
	steps_energy_after_close(&t->steps, t->units);
	host_check_add(&t->host_check, node, m->energy_uj);
	say_host_check(t);
	return 0;
}

/* Begin or end of a tick, where host intervals begin and end. */
static int host_moment(struct ticker *t, struct energy_node *node,
		       const struct energy_tick *k, bool before, bool *closed)
{
	const struct meter *m = meters_get(t->meters, METERS_HOST);
	uint64_t asking_ns = meters_asking_ns(t->meters, METERS_HOST);
	int rc = 0;

	if (!t->host_begun || m->source != node->source[ENERGY_HOST])
		return 0;
	if (m->fresh && !*closed && belongs_before(k, m->asked_ns) == before) {
		rc = host_close(t, node, m);
		*closed = rc == 0;
	}
	if (rc == 0 && asking_ns && asking_ns != t->marked_asking_ns &&
	    asking_ns <= k->t1_ns && belongs_before(k, asking_ns) == before) {
		energy_host_mark(node, t->deltas.accounts, t->deltas.account_count);
		steps_energy_mark(t->units);
		t->marked_asking_ns = asking_ns;
	}
	return rc;
}

/* The host sensor changed, was read first, or is gone. True: begin an interval with its
 * present reading. */
static bool host_change(struct ticker *t, struct energy_node *node)
{
	const struct meter *m = meters_get(t->meters, METERS_HOST);
	uint32_t source = m->source;

	/* read again at last, but the energy in between is unknown */
	bool lost = t->host_waits && !m->waits && !m->fresh;
	t->host_waits = m->waits;
	if (source == node->source[ENERGY_HOST] &&
	    ((t->host_begun && !lost) || !source))
		return false;
	energy_host_restart(node, source, t->deltas.accounts, t->deltas.account_count);
	steps_energy_drop(t->units);
	t->host_begun = source != ENERGY_NO_SOURCE;
	return true;
}

/* Whether an interval that an earlier daemon began continues. The answer it waited for
 * will not come. */
static void host_resume(struct ticker *t, struct energy_node *node)
{
	const struct meter *m = meters_get(t->meters, METERS_HOST);

	t->host_begun = m->source && m->source == node->source[ENERGY_HOST] &&
			(m->fresh || m->waits);
	if (t->host_begun) {
		energy_host_unmark(node, t->deltas.accounts, t->deltas.account_count);
		steps_energy_unmark(t->units);
		return;
	}
	energy_host_restart(node, ENERGY_NO_SOURCE, t->deltas.accounts,
			    t->deltas.account_count);
	steps_energy_drop(t->units);
}

/* ---- ticks ----------------------------------------------------------------------- */

static struct usage_deltas_params usage_params(struct ticker *t, uint64_t t1_ns)
{
	struct usage_deltas_params p = {.units = t->units,
					.sample = t->sample,
					.activity_ppm = t->env->activity_ppm,
					.t0_ns = t->t1_ns,
					.t1_ns = t1_ns};

	for (uint32_t i = 0; i < METERS_GPUS; i++) {
		uint32_t source = meters_get(t->meters, METERS_GPU + i)->source;
		if (source)
			p.gpus = i + 1;
		if (source && source == meters_source_number("gpu"))
			p.gpus_by_driver = true;
	}
	if (p.gpus_by_driver && !t->gpu_readings)
		t->gpu_readings = gpu_readings_new(t->env);
	if (p.gpus_by_driver && !t->gpu_weights)
		t->gpu_weights = gpu_weights_new(t->env);
	if (t->gpu_weights)
		gpu_weights_take(t->gpu_weights, p.gpus);
	p.gpu_weights = t->gpu_weights;
	if (p.gpus_by_driver && !t->gpu_sharing)
		t->gpu_sharing = gpu_sharing_new(t->env);
	if (t->gpu_sharing)
		gpu_sharing_take(t->gpu_sharing, t->units, p.gpus);
	if (p.gpus_by_driver && !t->gpu_vgpus)
		t->gpu_vgpus = gpu_vgpus_new(t->env);
	if (t->gpu_vgpus)
		gpu_vgpus_take(t->gpu_vgpus, p.gpus);
	p.gpu_vgpus = t->gpu_vgpus;
	if (t->env->options->energy_gpu_sharing)
		p.gpu_sharing = t->gpu_sharing;
	p.gpu_maps = t->env->gpu_maps;
	if (p.gpus)
		driver_gpus_look(t->env->driver_gpus, t->units);
	if (t->gpu_readings)
		p.gpus_from_ns = gpu_readings_charged_ns(t->gpu_readings, t1_ns);
	return p;
}

/* After the tick: which energy it contains, for this daemon and the next */
struct taken {
	bool slot[METERS_SLOTS];
};

static void commit_tick(struct ticker *t, struct energy_state *draft,
			const struct taken *taken)
{
	meters_keep(t->meters, taken->slot, &draft->checkpoint);
	draft->checkpoint.known = 1;
	draft->checkpoint.cpu_ns = t->node.cpu_ns;
	draft->checkpoint.ahead_ns = t->node.ahead_ns;
	units_energy_commit(t->units);
	units_energy_ticking(t->units, true);
	for (unsigned slot = 0; slot < METERS_SLOTS; slot++) {
		if (taken->slot[slot])
			meters_take(t->meters, (enum meters_slot)slot);
	}
	if (t->gpu_readings) {
		gpu_readings_commit(t->gpu_readings);
		units_energy_gpus(
			t->units,
			gpu_readings_charged_ns(t->gpu_readings, draft->node.last_ns));
	}
	t->going = true;
	t->resumes = false;
}

/* Use up to now belongs to no tick: nothing was measured. */
static int begin_ticking(struct ticker *t, uint64_t t1_ns, struct err *err)
{
	struct usage_deltas_params p = usage_params(t, t1_ns);
	struct node_use_tick ignored;

	if (t1_ns < units_energy(t->units)->node.last_ns)
		return err_set(err, -ESTALE, "energy: the clock went backwards");
	int rc = node_use_tick(&t->node, 0, &ignored, err);
	if (rc < 0)
		return rc;
	struct energy_state *draft = units_energy_draft(t->units);
	usage_deltas_skip(&p, draft);
	rc = usage_deltas_accounts(&t->deltas, t->units, err);
	if (rc < 0)
		return rc;
	t->host_begun = false;
	energy_host_restart(&draft->node, ENERGY_NO_SOURCE, t->deltas.accounts,
			    t->deltas.account_count);
	steps_energy_drop(t->units);
	host_change(t, &draft->node);
	draft->node.last_ns = t1_ns;
	struct taken all;
	memset(&all, true, sizeof(all));
	commit_tick(t, draft, &all);
	t->t0_ns = t->t1_ns = t1_ns;
	return 0;
}

static void end_ticking(struct ticker *t)
{
	units_energy_ticking(t->units, false);
	t->going = t->resumes = t->host_begun = false;
}

static struct energy_meter meter_of(const struct ticker *t, enum meters_slot slot)
{
	const struct meter *m = meters_get(t->meters, slot);
	struct energy_meter none = {ENERGY_NO_SOURCE, 0};

	return m->fresh ? (struct energy_meter){m->source, m->energy_uj} : none;
}

static bool is_partial(const struct ticker *t)
{
	for (unsigned slot = 0; slot < METERS_SLOTS; slot++) {
		const struct meter *m = meters_get(t->meters, (enum meters_slot)slot);
		if (m->source && (m->partial || (m->waits && slot != METERS_HOST)))
			return true;
	}
	return false;
}

static void read_ticker_memory(struct ticker *t, uint64_t now_ns)
{
	if (now_ns < t->memory_until_ns || !meters_get(t->meters, METERS_DRAM)->source)
		return;
	t->memory_until_ns = now_ns + MEMORY_NS;
	if (t->sample)
		sample_memory(t->sample);
	node_use_memory(&t->node);
}

/* A tick's GPUs, as the driver or a sensor numbers them */
struct tick_gpus {
	struct energy_meter meters[METERS_GPUS];
	uint32_t count;
	const struct energy_history *histories; /* NULL: not by ceems-gpu */
};

static void read_tick_gpus(struct ticker *t, uint32_t count, struct tick_gpus *ret)
{
	uint64_t measured_ns[METERS_GPUS];

	for (uint32_t i = 0; i < count; i++) {
		ret->meters[i] = meter_of(t, METERS_GPU + i);
		measured_ns[i] = meters_get(t->meters, METERS_GPU + i)->measured_ns;
	}
	ret->count = count;
	ret->histories =
		t->gpu_readings ? gpu_readings_take(t->gpu_readings, measured_ns, count)
				: NULL;
}

static int divide_tick(struct ticker *t, struct energy_state *draft, uint64_t t1_ns,
		       bool *host_taken, struct err *err)
{
	struct tick_gpus gpus;
	struct usage_deltas_params p = usage_params(t, t1_ns);
	struct node_use_tick use;
	int rc = usage_deltas_fill(&t->deltas, &p, draft, err);

	if (rc == 0)
		rc = node_use_tick(&t->node, t->deltas.cpu_ns, &use, err);
	if (rc != 0)
		return rc;
	if (t->resumes)
		host_resume(t, &draft->node);
	t->cpu_ns = t->deltas.cpu_ns + use.system_cpu_ns;
	t->cpus = use.cpus;
	read_tick_gpus(t, p.gpus, &gpus);
	uint64_t ms = (t1_ns - t->t1_ns) / NSEC_PER_MSEC;
	uint64_t node_kib_ms = use.resident_kib * ms,
		 units_ms = t->deltas.memory_kib_ms;
	struct energy_tick k = {
		.t0_ns = t->t1_ns,
		.t1_ns = t1_ns,
		.package = meter_of(t, METERS_PACKAGE),
		.dram = meter_of(t, METERS_DRAM),
		.psys = meter_of(t, METERS_PSYS),
		.gpus = gpus.meters,
		.gpu_count = p.gpus,
		.histories = gpus.histories,
		.gpu_idle_uw = t->gpu_idle.uw,
		.host_fresh =
			t->host_begun && meters_get(t->meters, METERS_HOST)->source,
		.partial = is_partial(t),
		.node_mcpu = use.cpus * 1000ull,
		.node_memory_kib = use.memory_kib,
		.system_cpu_ns = use.system_cpu_ns,
		.system_memory_kib_ms =
			node_kib_ms > units_ms ? node_kib_ms - units_ms : 0,
	};
	struct steps_energy_window window = {t->t1_ns, t1_ns, t->t1_ns, t1_ns};
	if (t->gpu_readings)
		gpu_readings_window(t->gpu_readings, &window.gpu_t0_ns,
				    &window.gpu_t1_ns);
	rc = host_moment(t, &draft->node, &k, true, host_taken);
	if (rc == 0)
		rc = energy_tick(&draft->node, &t->config, &k, t->deltas.use,
				 t->deltas.count, &t->work, err);
	if (rc == 0 && gpus.histories)
		gpu_idle_learn(&t->gpu_idle, &t->deltas, gpus.meters, gpus.histories,
			       gpus.count, t->gpu_readings);
	if (rc == 0)
		rc = steps_energy_tick(&t->steps, t->units, &window);
	if (rc == 0)
		rc = host_moment(t, &draft->node, &k, false, host_taken);
	if (rc == 0 && host_change(t, &draft->node))
		*host_taken = true;
	return rc;
}

/* A model knows its idle power, so it is not learned. It is that of `other` if other is
 * the whole node. */
static void put_in_force(struct ticker *t)
{
	uint64_t *other_uw = &t->config.idle_uw[ENERGY_OTHER];

	t->config = t->configured;
	if (*other_uw == ENERGY_LEARN && !meters_get(t->meters, METERS_PACKAGE)->source)
		*other_uw = meters_get(t->meters, METERS_HOST)->idle_uw;
}

static void say_what_is_missing(struct ticker *t)
{
	uint64_t all = 0;
	uint32_t cut = meters_cut(t->meters);

	if (cut > t->cut_said) {
		log_warn("GPU %u is measured, but energy is attributed for %u only",
			 cut, METERS_GPUS);
		t->cut_said = cut;
	}

	for (uint32_t i = 1; i < METERS_SOURCES; i++) {
		all += meters_gaps(t->meters, i);
		t->gaps[i] = meters_has(t->meters, i) ? meters_gaps(t->meters, i)
						      : TICKER_NO_SOURCE;
	}
	for (uint32_t i = 1; all > t->gaps_said && i < METERS_SOURCES; i++) {
		uint64_t n = meters_gaps(t->meters, i);
		if (n)
			log_warn("energy source %s: what %llu of its counters measured "
				 "while ceemsd was down is unknown and missing",
				 meters_source_name(i), (unsigned long long)n);
	}
	t->gaps_said = all;
}

static void note_measured(struct ticker *t)
{
	static const enum meters_slot slots[] = {[ENERGY_PACKAGE] = METERS_PACKAGE,
						 [ENERGY_DRAM] = METERS_DRAM,
						 [ENERGY_PSYS] = METERS_PSYS,
						 [ENERGY_HOST] = METERS_HOST,
						 [ENERGY_OTHER] = METERS_HOST};
	uint64_t *gpu_ns = &t->measured_ns[ENERGY_GPU];

	for (int d = 0; d < ENERGY_DOMAINS; d++)
		if (d != ENERGY_GPU)
			t->measured_ns[d] =
				meters_get(t->meters, slots[d])->measured_ns;
	*gpu_ns = 0;
	for (uint32_t i = 0; i < METERS_GPUS; i++) {
		uint64_t ns = meters_get(t->meters, METERS_GPU + i)->measured_ns;

		if (ns && (!*gpu_ns || ns < *gpu_ns))
			*gpu_ns = ns;
	}
}

int ticker_run(struct ticker *t, struct err *err)
{
	struct taken taken;

	say_what_is_missing(t);
	note_measured(t);
	put_in_force(t);
	if (!meters_any(t->meters)) {
		end_ticking(t);
		return 0;
	}
	if (t->sample)
		sample_steps(t->sample);
	uint64_t t1_ns = end_of_tick(t);
	if (!t->going && !t->resumes)
		return begin_ticking(t, t1_ns, err);
	if (t1_ns <= t->t1_ns)
		return 0;
	read_ticker_memory(t, t1_ns);
	struct energy_state *draft = units_energy_draft(t->units);
	taken.slot[METERS_HOST] = false;
	int rc = divide_tick(t, draft, t1_ns, &taken.slot[METERS_HOST], err);
	if (rc < 0)
		return err && err->text[0] ? rc : err_set(err, rc, "energy tick");
	for (unsigned slot = 0; slot < METERS_SLOTS; slot++) {
		if (slot != METERS_HOST)
			taken.slot[slot] =
				meters_get(t->meters, (enum meters_slot)slot)->fresh;
	}
	if (t->gpu_readings)
		gpu_use_add(t->units, &t->deltas, t->gpu_readings, t->gpu_sharing);
	commit_tick(t, draft, &taken);
	t->t0_ns = t->t1_ns;
	t->t1_ns = t1_ns;
	return 0;
}

struct ticker_view ticker_view(const struct ticker *t)
{
	return (struct ticker_view){.going = t->going,
				    .t0_ns = t->t0_ns,
				    .t1_ns = t->t1_ns,
				    .cpu_ns = t->cpu_ns,
				    .cpus = t->cpus,
				    .config = &t->config,
				    .gaps = t->gaps,
				    .host_seems = t->host_check.said,
				    .measured_ns = t->measured_ns,
				    .gpu_idle_uw = t->gpu_idle.uw};
}
