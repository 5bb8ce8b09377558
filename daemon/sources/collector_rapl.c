/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAPL counters and limits, from the last sample of daemon/sources/source_rapl.c. One
 * family per kind of zone, named as in the peer, or one for all with a label. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/options.h"
#include "daemon/sources/sampler.h"

#define KINDS_MAX 64 /* of zones; there are five, and names with dies */
#define NAME_BYTES 96

/* Families are compared by address, so they are kept. */
struct kind {
	char zone[40];
	char energy_name[NAME_BYTES], limit_name[NAME_BYTES];
	struct prom_family energy, limit;
};

struct rapl_view {
	const struct env *env;
	bool zone_label;
	struct source_snapshot last;
	struct kind *kinds[KINDS_MAX];
	size_t count;
};

static const struct prom_family family_energy = {
	"ceems_rapl_joules_total", PROM_COUNTER,
	"Energy of the RAPL zone since ceemsd started, wraps counted (powercap "
	"energy_uj or perf power/)"};
static const struct prom_family family_limit = {
	"ceems_rapl_power_limit_watts_total", PROM_COUNTER,
	"Power limit of the RAPL zone, longest window (powercap)"};
static const struct prom_family family_filtering = {
	"ceems_rapl_energy_filtering", PROM_GAUGE,
	"Whether the processor blurs its energy counters (MSR 0xbc bit 0)"};

static void rapl_view_close(void *state)
{
	struct rapl_view *v = state;

	if (!v)
		return;
	for (size_t i = 0; i < v->count; i++)
		free(v->kinds[i]);
	source_snapshot_done(&v->last);
	free(v);
}

static int rapl_view_open(const struct env *env, void **ret_state, struct err *err)
{
	int rc = sampler_is_open(env->sampler, &source_rapl, err);

	if (rc < 0)
		return rc;
	struct rapl_view *v = calloc(1, sizeof(*v));
	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	v->env = env;
	v->zone_label = env->options && env->options->rapl_zone_label;
	*ret_state = v;
	return 0;
}

static void rapl_metric_name(char ret[NAME_BYTES], const char *zone, const char *what)
{
	(void)snprintf(ret, NAME_BYTES, "ceems_rapl_%s_%s", zone, what);
	for (char *p = ret; *p; p++) {
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	}
}

static const struct kind *kind_of(struct rapl_view *v, const char *zone)
{
	for (size_t i = 0; i < v->count; i++) {
		if (strcmp(v->kinds[i]->zone, zone) == 0)
			return v->kinds[i];
	}
	struct kind *k = v->count < KINDS_MAX ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return NULL;
	(void)snprintf(k->zone, sizeof(k->zone), "%s", zone);
	rapl_metric_name(k->energy_name, zone, "joules_total");
	rapl_metric_name(k->limit_name, zone, "power_limit_watts_total");
	k->energy = family_energy;
	k->energy.name = k->energy_name;
	k->limit = family_limit;
	k->limit.name = k->limit_name;
	v->kinds[v->count++] = k;
	return k;
}

static void put_rapl_channel(struct rapl_view *v, const struct source_channel *c,
			     struct prom *out)
{
	const struct kind *k = v->zone_label ? NULL : kind_of(v, c->name);
	const struct prom_family *energy = &family_energy, *limit = &family_limit;
	char index[12];

	if (!v->zone_label && !k)
		return;
	if (k) {
		energy = &k->energy;
		limit = &k->limit;
	}
	(void)snprintf(index, sizeof(index), "%u", c->index);
	struct prom_label labels[4] = {{"hostname", v->env->hostname},
				       {"index", index},
				       {"path", c->chip},
				       {"rapl_zone", c->name}};
	prom_family(out, c->kind == SOURCE_ENERGY ? energy : limit);
	prom_put_scaled(out, labels, v->zone_label ? 4 : 3, c->value, 6);
}

static int rapl_view_collect(void *state, struct prom *out, struct err *err)
{
	struct rapl_view *v = state;
	int rc = sampler_get(v->env->sampler, &source_rapl, &v->last, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < v->last.count; i++)
		put_rapl_channel(v, &v->last.channels[i], out);
	if (v->last.filtering >= 0) {
		prom_family(out, &family_filtering);
		prom_put_u64(out, &(struct prom_label){"hostname", v->env->hostname}, 1,
			     (uint64_t)v->last.filtering);
	}
	source_put_health(out, "rapl", &v->last, v->env->boottime_ns());
	return 0;
}

const struct collector collector_rapl = {
	.name = "rapl",
	.source = &source_rapl,
	.open = rapl_view_open,
	.collect = rapl_view_collect,
	.close = rapl_view_close,
};
