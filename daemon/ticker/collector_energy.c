/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The attribution at its last tick: the node's energy per domain and whose it was, from
 * one generation of accounts, so that a scrape adds up to the microjoule. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/options.h"
#include "daemon/sources/meters.h"
#include "daemon/ticker/ticker.h"
#include "daemon/units_energy.h"
#include "lib/clock.h"

#define UJ 6 /* decimals of a joule */

static const struct prom_family family_node = {
	"ceems_node_energy_joules_total", PROM_COUNTER,
	"Energy of the node as its sensors measured it (the source named) since it "
	"booted"};
static const struct prom_family family_attributed = {
	"ceems_node_attributed_energy_joules_total", PROM_COUNTER,
	"Energy of the node that was charged to units, those that have ended included "
	"(energy ticks of ceemsd)"};
static const struct prom_family family_unattributed = {
	"ceems_node_unattributed_energy_joules_total", PROM_COUNTER,
	"Energy of the node that was charged to no unit: of what nobody held (idle), "
	"of processes outside of units (system) (energy ticks of ceemsd)"};
static const struct prom_family family_provisional = {
	"ceems_node_provisional_energy_joules", PROM_GAUGE,
	"Estimate of what the sensor of the whole node will report for the time since "
	"its last reading; not in any counter yet (energy ticks of ceemsd)"};
static const struct prom_family family_deficit = {
	"ceems_node_energy_deficit_joules", PROM_GAUGE,
	"Energy that the parts of the node took beyond what its sensor showed for the "
	"whole, still to be made up for (energy ticks of ceemsd)"};
static const struct prom_family family_gpu_idle = {
	"ceems_gpu_idle_power_watts", PROM_GAUGE,
	"Power of the device while no unit held it and nothing ran on it, learned"};
static const struct prom_family family_idle = {
	"ceems_node_idle_power_watts", PROM_GAUGE,
	"Idle power that attribution works with; absent while it is unknown "
	"(--energy.idle-watts, or learned in quiet times)"};
static const struct prom_family family_unit = {
	"ceems_compute_unit_energy_joules_total", PROM_COUNTER,
	"Energy that was charged to the unit (energy ticks of ceemsd)"};
static const struct prom_family family_gaps = {
	"ceems_energy_source_gaps_total", PROM_COUNTER,
	"Counters of the source whose measurements while ceemsd was down are unknown "
	"and missing (ceemsd)"};

/* Labels of a unit, rendered with its first sample and again when another source takes
 * over. */
struct unit_energy_view {
	uint64_t serial;
	char id[RECORD_ID_MAX];
	bool made[ENERGY_DOMAINS];
	uint32_t source[ENERGY_DOMAINS];
	struct buf labels[ENERGY_DOMAINS];
};

struct energy_view {
	const struct env *env;
	struct unit_energy_view **views; /* by slot */
	uint32_t view_count;
	uint64_t generation; /* of the table when views were last swept */
};

static void free_energy_view(struct unit_energy_view *v)
{
	if (!v)
		return;
	for (size_t d = 0; d < ENERGY_DOMAINS; d++)
		buf_done(&v->labels[d]);
	free(v);
}

static void energy_view_close(void *state)
{
	struct energy_view *e = state;

	if (!e)
		return;
	for (uint32_t i = 0; i < e->view_count; i++)
		free_energy_view(e->views[i]);
	free(e->views);
	free(e);
}

static int energy_view_open(const struct env *env, void **ret_state, struct err *err)
{
	if (!env->units || !env->ticker)
		return err_set(err, -ENODEV, "no unit table, or no energy source");
	struct energy_view *e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "no memory");
	e->env = env;
	e->views =
		calloc(units_capacity(env->units), sizeof(struct unit_energy_view *));
	if (!e->views) {
		energy_view_close(e);
		return err_set(err, -ENOMEM, "no memory");
	}
	e->view_count = units_capacity(env->units);
	*ret_state = e;
	return 0;
}

/* ---- the node -------------------------------------------------------------------- */

struct sums {
	uint64_t units[ENERGY_DOMAINS];       /* settled, running and ended */
	uint64_t provisional[ENERGY_DOMAINS]; /* of everybody */
};

static void add_account(struct sums *s, const struct energy_account *a, bool is_unit)
{
	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		uint64_t provisional;
		(void)energy_account_now(a, (enum energy_domain)d, &provisional);
		s->provisional[d] += provisional;
		s->units[d] += is_unit ? a->settled_uj[d] : 0;
	}
}

static struct sums sum_up(const struct units *u)
{
	const struct energy_node *n = &units_energy(u)->node;
	struct sums s = {0};

	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1))
		add_account(&s, &unit_energy(u, i)->account, true);
	add_account(&s, &n->ended, true);
	add_account(&s, &n->idle, false);
	add_account(&s, &n->system, false);
	return s;
}

static bool has_been(const struct energy_node *n, int d)
{
	return n->source[d] != ENERGY_NO_SOURCE || n->measured_uj[d];
}

/* `other` has the source of the whole node. If no part of the node was ever measured,
 * `other` equals `host` and is not exported. */
static bool is_domain_there(const struct energy_node *n, int d)
{
	if (d == ENERGY_HOST)
		return has_been(n, d);
	if (d == ENERGY_OTHER && !has_been(n, ENERGY_PACKAGE) &&
	    !has_been(n, ENERGY_DRAM) && !has_been(n, ENERGY_GPU))
		return false;
	return n->source[d] != ENERGY_NO_SOURCE;
}

static const char *source_of(const struct energy_node *n, int d)
{
	uint32_t source = n->source[d] ? n->source[d] : n->source[ENERGY_OTHER];
	return meters_source_name(source);
}

static void put_node(struct energy_view *e, const struct sums *s, struct prom *out)
{
	const struct energy_node *n = &units_energy(e->env->units)->node;
	struct prom_label l[4] = {{"hostname", e->env->hostname}};

	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		if (!is_domain_there(n, d))
			continue;
		l[1] = (struct prom_label){"domain",
					   energy_domain_name((enum energy_domain)d)};
		l[2] = (struct prom_label){"source", source_of(n, d)};
		prom_family(out, &family_node);
		prom_put_scaled(out, l, 3, n->measured_uj[d], UJ);
		prom_family(out, &family_attributed);
		prom_put_scaled(out, l, 3, s->units[d], UJ);
		prom_family(out, &family_unattributed);
		l[3] = (struct prom_label){"kind", "idle"};
		prom_put_scaled(out, l, 4, n->idle.settled_uj[d], UJ);
		l[3] = (struct prom_label){"kind", "system"};
		prom_put_scaled(out, l, 4, n->system.settled_uj[d], UJ);
		if (d != ENERGY_HOST && d != ENERGY_OTHER)
			continue;
		prom_family(out, &family_provisional);
		prom_put_scaled(out, l, 3, s->provisional[d], UJ);
	}
	if (is_domain_there(n, ENERGY_HOST)) {
		prom_family(out, &family_deficit);
		prom_put_scaled(out, l, 1, n->deficit_uj, UJ);
	}
}

static void put_idle(struct energy_view *e, struct prom *out)
{
	const struct energy_node *n = &units_energy(e->env->units)->node;
	const struct energy_config *c = ticker_view(e->env->ticker).config;
	struct prom_label l[3] = {{"hostname", e->env->hostname}};

	prom_family(out, &family_idle);
	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		bool known = false;
		uint64_t uw = energy_idle_uw(n, c, (enum energy_domain)d, &known);
		if (d == ENERGY_HOST || !n->source[d] || !known)
			continue;
		enum energy_domain shown =
			is_domain_there(n, d) ? (enum energy_domain)d : ENERGY_HOST;
		l[1] = (struct prom_label){"domain", energy_domain_name(shown)};
		l[2] = (struct prom_label){"source", source_of(n, d)};
		prom_put_scaled(out, l, 3, uw, UJ);
	}
}

static void put_gpu_idle(struct energy_view *e, struct prom *out)
{
	const uint64_t *uw = ticker_view(e->env->ticker).gpu_idle_uw;
	char index[16];
	struct prom_label l[] = {{"hostname", e->env->hostname}, {"index", index}};

	for (uint32_t i = 0; i < METERS_GPUS; i++) {
		if (!uw[i])
			continue;
		(void)snprintf(index, sizeof(index), "%u", i);
		prom_family(out, &family_gpu_idle);
		prom_put_scaled(out, l, 2, uw[i], UJ);
	}
}

static void put_gaps(struct energy_view *e, struct prom *out)
{
	const uint64_t *gaps = ticker_view(e->env->ticker).gaps;

	prom_family(out, &family_gaps);
	for (uint32_t i = 1; i < METERS_SOURCES; i++) {
		struct prom_label l = {"source", meters_source_name(i)};
		if (gaps[i] != TICKER_NO_SOURCE)
			prom_put_u64(out, &l, 1, gaps[i]);
	}
}

/* ---- units ----------------------------------------------------------------------- */

static void sweep_energy_views(struct energy_view *e)
{
	struct units *u = e->env->units;

	if (e->generation == units_generation(u))
		return;
	for (uint32_t i = 0; i < e->view_count; i++) {
		if (e->views[i] &&
		    (!units_get(u, i) || e->views[i]->serial != unit_serial(u, i))) {
			free_energy_view(e->views[i]);
			e->views[i] = NULL;
		}
	}
	e->generation = units_generation(u);
}

static struct unit_energy_view *find_energy_view(struct energy_view *e, uint32_t i,
						 const struct unit *unit)
{
	struct unit_energy_view *v = e->views[i];

	if (v && strcmp(v->id, unit->id) == 0)
		return v;
	free_energy_view(v);
	e->views[i] = v = calloc(1, sizeof(*v));
	if (v) {
		v->serial = unit_serial(e->env->units, i);
		memcpy(v->id, unit->id, sizeof(v->id));
	}
	return v;
}

static const struct buf *labels_of(struct energy_view *e, struct unit_energy_view *v,
				   const struct unit *unit, const struct energy_node *n,
				   int d)
{
	if (v->made[d] && v->source[d] == n->source[d])
		return &v->labels[d];
	const struct prom_label l[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", e->env->hostname},
		{"cgrouphostname", unit->node},
		{"uuid", unit->id},
		{"domain", energy_domain_name((enum energy_domain)d)},
		{"source", source_of(n, d)},
	};
	buf_reset(&v->labels[d]);
	prom_render_labels(&v->labels[d], l, sizeof(l) / sizeof(l[0]));
	v->made[d] = true;
	v->source[d] = n->source[d];
	return &v->labels[d];
}

static int put_unit_joules(struct energy_view *e, uint32_t i, const struct unit *unit,
			   struct prom *out)
{
	const struct energy_node *n = &units_energy(e->env->units)->node;
	const struct energy_account *a = &unit_energy(e->env->units, i)->account;
	struct unit_energy_view *v = find_energy_view(e, i, unit);

	if (!v)
		return -ENOMEM;
	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		if (!is_domain_there(n, d) ||
		    !unit_energy_is_measured(unit, a->settled_uj, d))
			continue;
		const struct buf *labels = labels_of(e, v, unit, n, d);
		prom_family(out, &family_unit);
		prom_put_block_scaled(out, labels, a->settled_uj[d], UJ);
	}
	return 0;
}

/* The same units as in other series: a newer run of a job takes over its series, and
 * short units have none. */
static bool is_shown(const struct energy_view *e, uint32_t i, const struct unit *unit)
{
	const struct options *o = e->env->options;
	const struct units_policy policy = {.min_export_ms = o->unit_min_export_ms};
	struct units *u = e->env->units;

	return units_exported(u, i, e->env->boottime_ns(), &policy) &&
	       units_find_newest(u, unit->manager, unit->node, unit->id) == i;
}

static int energy_view_collect(void *state, struct prom *out, struct err *err)
{
	struct energy_view *e = state;
	struct units *u = e->env->units;
	struct sums s = sum_up(u);

	sweep_energy_views(e);
	put_node(e, &s, out);
	put_idle(e, out);
	put_gpu_idle(e, out);
	if (ticker_view(e->env->ticker).going)
		put_gaps(e, out);
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		const struct unit *unit = units_get(u, i);
		if (is_shown(e, i, unit) && put_unit_joules(e, i, unit, out) < 0)
			return err_set(err, -ENOMEM, "no memory");
	}
	return 0;
}

const struct collector collector_energy = {
	.name = "energy",
	.open = energy_view_open,
	.collect = energy_view_collect,
	.close = energy_view_close,
};
