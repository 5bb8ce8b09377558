/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_ENERGY_LAB_H
#define CEEMS_TEST_ENERGY_LAB_H

#include <errno.h>

#include "daemon/gpus/gpu_maps.h"
#include "daemon/sources/meters.h"
#include "daemon/ticker/ticker.h"
#include "daemon/units_energy.h"
#include "lib/log.h"
#include "test/unit/energy_tree.h"

/* A node whose sensors say what the test says, with a real unit table, a real sampler
 * without threads, and clocks that the test turns. */

#define LAB_CPUS 4u
#define LAB_WORST_UW (1000 * WATT)
#define WATT 1000000ull /* in microwatts, or a joule in microjoules */

/* ---- sensors --------------------------------------------------------------------- */

struct lab_sensor {
	bool absent; /* cannot be read at this time */
	struct source_channel channels[4];
	size_t count;
	uint64_t news_ms;
};

/* by enum; their sources have the names of real ones */
enum lab_source { LAB_RAPL, LAB_CRAY, LAB_IPMI, LAB_MODEL, LAB_SOURCES };
static struct lab_sensor lab_sensors[LAB_SOURCES];

static inline int lab_open(struct lab_sensor *s, void **ret)
{
	*ret = s;
	return 0;
}

static inline int lab_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct lab_sensor *s = state;

	if (s->absent)
		return err_set(err, -EIO, "the sensor does not answer");
	for (size_t i = 0; i < s->count; i++) {
		struct source_channel *c = source_snapshot_add(out);
		if (!c)
			return -ENOMEM;
		*c = s->channels[i];
	}
	out->news_ms = s->news_ms;
	return 0;
}

static inline void lab_close(void *state)
{
	(void)state;
}

#define LAB_SOURCE(which, name_)                                                       \
	static inline int which##_open(const struct env *env, void **ret,              \
				       struct err *err)                                \
	{                                                                              \
		(void)env;                                                             \
		(void)err;                                                             \
		return lab_open(&lab_sensors[which], ret);                             \
	}                                                                              \
	static const struct source which##_source = {.name = name_,                    \
						     .open = which##_open,             \
						     .sample = lab_sample,             \
						     .close = lab_close}
LAB_SOURCE(LAB_RAPL, "rapl");
LAB_SOURCE(LAB_CRAY, "cray_pm_counters");
LAB_SOURCE(LAB_IPMI, "ipmi_dcmi");
LAB_SOURCE(LAB_MODEL, "model");

/* ---- the node -------------------------------------------------------------------- */

struct lab {
	struct energy_tree tree;
	struct units *units;
	struct ticker *ticker;
	int rundir;
	uint64_t pos, cpu_ns; /* of the ring, of the node */
};

static inline void lab_set(enum lab_source which, size_t i, enum source_kind kind,
			   enum source_domain domain, uint32_t index, uint64_t value)
{
	struct lab_sensor *s = &lab_sensors[which];

	assert_true(i < sizeof(s->channels) / sizeof(s->channels[0]));
	if (s->count <= i)
		s->count = i + 1;
	s->channels[i] = (struct source_channel){.kind = kind,
						 .domain = domain,
						 .index = index,
						 .value = value,
						 .raw = value,
						 .worst_uw = LAB_WORST_UW,
						 .measured_ns = tree_boottime()};
	snprintf(s->channels[i].name, sizeof(s->channels[i].name), "c%zu", i);
}

/* The sensor was read now, and its channel has grown by so much. */
static inline void lab_add(enum lab_source which, size_t i, uint64_t by)
{
	struct source_channel *c = &lab_sensors[which].channels[i];

	c->value += by;
	c->raw = c->range_uj ? (c->raw + by) % c->range_uj : c->raw + by;
	c->measured_ns = tree_boottime();
}

static inline void lab_write_stat(struct lab *l)
{
	tree_write(&l->tree, "../proc/stat",
		   "cpu  %llu 0 0 0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\n"
		   "cpu2 0 0 0 0\ncpu3 0 0 0 0\n",
		   (unsigned long long)l->cpu_ns / 10000000u);
}

static inline void lab_units_open(struct lab *l)
{
	bool made_new;

	assert_int_equal(units_open(l->rundir, 64, &l->units, &made_new, NULL), 0);
	l->tree.node.env.units = l->units;
}

static inline void lab_ticker_open(struct lab *l)
{
	assert_int_equal(ticker_new(&l->tree.node.env, NULL, &l->ticker, NULL), 0);
	l->tree.node.env.ticker = l->ticker;
}

static inline void lab_sampler_open(struct lab *l)
{
	static const struct source *const all[] = {&LAB_RAPL_source, &LAB_CRAY_source,
						   &LAB_IPMI_source, &LAB_MODEL_source};

	assert_int_equal(sampler_new(&l->tree.node.env, 1000, all, LAB_SOURCES,
				     &l->tree.sampler, NULL),
			 0);
	l->tree.node.env.sampler = l->tree.sampler;
}

static inline void lab_init(struct lab *l)
{
	static char none[] = "", no_slurmd[] = "/nonexistent/slurmd";

	log_init("test", LOG_LOGFMT, LOG_ERR);
	memset(l, 0, sizeof(*l));
	memset(lab_sensors, 0, sizeof(lab_sensors));
	tree_init(&l->tree, "test/fixture/rapl_intel2");
	l->tree.node.options.energy_interval_ms = 1000;
	l->tree.node.options.energy_idle_watts = none;
	l->tree.node.options.slurmd_path = no_slurmd;
	l->tree.node.options.gpu_order_map = none;
	l->tree.node.env.gpu_maps = gpu_maps_new(&l->tree.node.env);
	assert_non_null(l->tree.node.env.gpu_maps);
	l->rundir = open(l->tree.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	lab_units_open(l);
	lab_sampler_open(l);
	lab_write_stat(l);
	lab_ticker_open(l);
}

static inline void lab_done(struct lab *l, const struct collector *c)
{
	ticker_free(l->ticker);
	units_close(l->units);
	close(l->rundir);
	gpu_maps_free(l->tree.node.env.gpu_maps);
	tree_done(&l->tree, c);
}

/* The daemon is killed and another one starts, whose sources count from 0 again. */
static inline void lab_restart(struct lab *l)
{
	ticker_free(l->ticker);
	units_close(l->units);
	sampler_free(l->tree.sampler);
	for (size_t i = 0; i < LAB_SOURCES; i++) {
		for (size_t c = 0; c < lab_sensors[i].count; c++) {
			if (lab_sensors[i].channels[c].kind == SOURCE_ENERGY)
				lab_sensors[i].channels[c].value = 0;
		}
	}
	lab_sampler_open(l);
	lab_units_open(l);
	lab_ticker_open(l);
}

/* Time goes by, sensors are sampled, and a tick is made if it is due. */
static inline bool lab_tick(struct lab *l, uint64_t ms, uint64_t system_ms)
{
	struct err err = {""};

	l->cpu_ns += system_ms * NSEC_PER_MSEC;
	lab_write_stat(l);
	tree_turn_ms(ms);
	for (size_t i = 0; i < LAB_SOURCES; i++) {
		for (size_t c = 0; c < lab_sensors[i].count; c++) {
			if (!lab_sensors[i].absent)
				lab_sensors[i].channels[c].measured_ns =
					tree_boottime();
		}
	}
	sampler_run(l->tree.sampler);
	if (!ticker_due(l->ticker))
		return false;
	int rc = ticker_run(l->ticker, &err);
	if (rc < 0)
		fail_msg("tick: %s", err.text);
	return true;
}

/* ---- units ----------------------------------------------------------------------- */

static inline void lab_apply(struct lab *l, enum record_type type, const char *id,
			     uint32_t step, uint32_t cpus, uint64_t cpu_ms)
{
	struct record r;

	record_init(&r, type, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "%s", id);
	r.step = step;
	r.cpus = r.step_cpus = cpus;
	r.boottime_ns = tree_boottime();
	r.realtime_ns = tree_realtime();
	if (type == RECORD_STEP_STOP) {
		r.flags = RECORD_LAST;
		r.counters.source = COUNTERS_CGROUP_V2;
		r.counters.cpu_user_ns = cpu_ms * NSEC_PER_MSEC;
	}
	int rc = units_apply(l->units, &r, ++l->pos, tree_boottime(), tree_realtime(),
			     NULL);
	assert_true(rc == 0 || rc == -ENOSPC);
}

static inline uint32_t lab_unit(struct lab *l, const char *id)
{
	uint32_t i = units_find_newest(l->units, MANAGER_SLURM, "", id);
	assert_true(i != UNITS_NONE);
	return i;
}

/* The step has used so much in its life, and the node with it. */
static inline void lab_used(struct lab *l, const char *id, uint32_t step,
			    uint64_t total_ms)
{
	uint32_t s = steps_find(l->units, lab_unit(l, id), step);
	struct unit_totals t = {.cpu_user_ns = total_ms * NSEC_PER_MSEC};

	assert_true(s != UNITS_NONE);
	l->cpu_ns += t.cpu_user_ns - steps_get(l->units, s)->totals.cpu_user_ns;
	units_step_reading(l->units, s, &t);
}

static inline uint64_t lab_unit_uj(struct lab *l, const char *id, enum energy_domain d)
{
	return unit_energy(l->units, lab_unit(l, id))->account.settled_uj[d];
}

static inline uint64_t lab_step_uj(struct lab *l, const char *id, uint32_t step,
				   enum energy_domain d)
{
	uint32_t s = steps_find(l->units, lab_unit(l, id), step);
	assert_true(s != UNITS_NONE);
	return step_energy(l->units, s)->uj[d];
}

static inline const struct energy_node *lab_node(const struct lab *l)
{
	return &units_energy(l->units)->node;
}

/* Every domain, every time: units, idle and system are what was measured, and steps are
 * no more than their units. */
static inline void lab_adds_up(struct lab *l)
{
	const struct energy_node *n = lab_node(l);
	struct units *u = l->units;

	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		uint64_t sum = n->idle.settled_uj[d] + n->system.settled_uj[d] +
			       n->ended.settled_uj[d];
		for (uint32_t i = units_next(u, 0); i != UNITS_NONE;
		     i = units_next(u, i + 1)) {
			uint64_t all = unit_energy(u, i)->account.settled_uj[d];
			uint64_t steps = 0;
			for (uint32_t s = units_get(u, i)->first_step; s != UNITS_NONE;
			     s = steps_get(u, s)->next)
				steps += step_energy(u, s)->uj[d];
			assert_true(steps <= all);
			sum += all;
		}
		assert_int_equal(sum, n->measured_uj[d]);
	}
}

#endif
