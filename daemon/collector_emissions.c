/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The latest emission factors, under the peer's name, with their age, providers without
 * any, and the one used for this node's grams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/emissions.h"
#include "lib/clock.h"
#include "lib/rfc3339.h"

/* in one gram per joule */
#define MG_PER_KWH 3.6e9

static const struct prom_family factor = {
	"ceems_emissions_gCo2_kWh", PROM_GAUGE,
	"Grams of CO2 equivalent per kWh of electricity, by provider and zone"};
static const struct prom_family current = {"ceems_emissions_factor_grams_per_joule",
					   PROM_GAUGE,
					   "The emission factor that this node's grams "
					   "are computed with (--emissions.prefer)"};
static const struct prom_family age = {
	"ceems_emissions_age_seconds", PROM_GAUGE,
	"Age of the provider's newest value, by the time that it is valid for"};
static const struct prom_family up = {
	"ceems_emissions_provider_up", PROM_GAUGE,
	"Whether the provider answered the last request as documented"};
static const struct prom_family table = {
	"ceems_emissions_table_info", PROM_GAUGE,
	"The table of yearly means in use, with its newest year"};

static int open_emissions_collector(const struct env *env, void **ret_state,
				    struct err *err)
{
	if (!env->emissions)
		return err_set(err, -ENODEV, "no emission factors here");
	*ret_state = (void *)(uintptr_t)env;
	return 0;
}

static void put_age(struct prom *out, const struct emission_provider *p,
		    const struct emission_factor *f, uint64_t now_s)
{
	struct prom_label labels[2] = {{"provider", p->name},
				       {"country_code", f->zone}};

	prom_family(out, &age);
	prom_put_u64(out, labels, 2, now_s > f->time_s ? now_s - f->time_s : 0);
}

/* A factor that is too old is not exported as the present one; its age tells. */
static void put_provider(const struct emissions *e, size_t i, uint64_t now_s,
			 struct prom *out)
{
	const struct emission_provider *p = &emission_providers[i];
	const struct emission_set *s = emissions_of(e, i);

	for (size_t k = 0; k < s->count; k++) {
		const struct emission_factor *f = &s->items[k];
		/* from the tables only what was asked for; fetched ones have been
		 * filtered */
		if (strcmp(p->name, "owid") == 0 && !emissions_wanted_zone(e, f->zone))
			continue;
		if (p->fetched)
			put_age(out, p, f, now_s);
		if (emissions_is_stale(e, i, f, now_s))
			continue;
		struct prom_label labels[4] = {{"provider", p->name},
					       {"provider_name", p->display},
					       {"country_code", f->zone},
					       {"country", f->country}};
		prom_family(out, &factor);
		prom_put_scaled(out, labels, 4, f->mg_per_kwh, 3);
	}
}

static void put_up(const struct emissions *e, size_t i, struct prom *out)
{
	struct prom_label label = {"provider", emission_providers[i].name};
	int rc = emissions_health(e, i);

	if (!emission_providers[i].fetched || rc == -EINPROGRESS)
		return;
	prom_family(out, &up);
	prom_put_u64(out, &label, 1, rc == 0);
}

static void put_factor_table(const struct emissions *e, struct prom *out)
{
	int owid = emission_provider_find("owid");
	const struct emission_set *s = owid < 0 ? NULL : emissions_of(e, (size_t)owid);
	uint64_t newest_s = 0;
	char text[RFC3339_BYTES];

	for (size_t i = 0; s && i < s->count; i++) {
		if (s->items[i].time_s > newest_s)
			newest_s = s->items[i].time_s;
	}
	if (!newest_s)
		return;
	rfc3339_print(newest_s - 1, text); /* the last second of the year */
	text[4] = '\0';
	struct prom_label labels[4] = {{"provider", "owid"},
				       {"source", "Our World in Data"},
				       {"licence", "CC BY 4.0"},
				       {"year", text}};
	prom_family(out, &table);
	prom_put_u64(out, labels, 4, 1);
}

static int collect_emissions(void *state, struct prom *out, struct err *err)
{
	const struct env *env = state;
	struct emissions *e = env->emissions;
	uint64_t now_s = env->realtime_ns() / NSEC_PER_SEC;
	struct emissions_now n;

	(void)err;
	emissions_refresh(e, env->courier);
	for (size_t i = 0; i < emission_providers_count; i++) {
		put_provider(e, i, now_s, out);
		put_up(e, i, out);
	}
	put_factor_table(e, out);
	if (emissions_current(e, now_s, &n) == 0) {
		struct prom_label labels[3] = {{"hostname", env->hostname},
					       {"provider", n.provider},
					       {"country_code", n.zone}};
		prom_family(out, &current);
		prom_put_f64(out, labels, 3, (double)n.mg_per_kwh / MG_PER_KWH);
	}
	return 0;
}

static void close_emissions(void *state)
{
	(void)state; /* owned by the daemon */
}

const struct collector collector_emissions = {
	.name = "emissions",
	.open = open_emissions_collector,
	.collect = collect_emissions,
	.close = close_emissions,
};
