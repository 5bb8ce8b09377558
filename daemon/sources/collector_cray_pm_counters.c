/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power counters of Cray EX nodes, from the last sample of
 * daemon/sources/source_cray.c. */
#include <errno.h>

#include "daemon/collector.h"
#include "daemon/sources/source_view.h"

struct cray_column {
	struct prom_family family;
	unsigned decimals; /* of the raw value */
};

/* Names and types of the peer, also where a cumulative value is called a gauge */
static const struct cray_column columns[SOURCE_KINDS] = {
	[SOURCE_ENERGY] = {{"ceems_cray_pm_counters_energy_joules", PROM_GAUGE,
			    "Energy counter of the domain (pm_counters energy)"},
			   6},
	[SOURCE_POWER] = {{"ceems_cray_pm_counters_power_watts", PROM_GAUGE,
			   "Power of the domain (pm_counters power)"},
			  6},
	[SOURCE_POWER_LIMIT] = {{"ceems_cray_pm_counters_power_limit_watts", PROM_GAUGE,
				 "Power cap of the domain (pm_counters power_cap)"},
				6},
	[SOURCE_TEMPERATURE] = {{"ceems_cray_pm_counters_temp_celsius", PROM_GAUGE,
				 "Temperature of the domain (pm_counters temp)"},
				3},
};

static int cray_view_open(const struct env *env, void **ret_state, struct err *err)
{
	return source_view_open(env, &source_cray_pm_counters, ret_state, err);
}

static int cray_view_collect(void *state, struct prom *out, struct err *err)
{
	struct source_view *v = state;
	uint64_t now_ns = v->env->boottime_ns();
	int rc = source_view_read(v, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < v->last.count; i++) {
		const struct source_channel *c = &v->last.channels[i];
		const struct cray_column *col = &columns[c->kind];
		/* an outdated gauge is worse than none; a cap of 0 means no cap */
		if (!col->family.name || source_is_stale(c, now_ns) ||
		    (c->kind == SOURCE_POWER_LIMIT && !c->raw))
			continue;
		struct prom_label labels[2] = {{"hostname", v->env->hostname},
					       {"domain", c->name}};
		prom_family(out, &col->family);
		prom_put_scaled(out, labels, 2, c->raw, col->decimals);
	}
	source_put_health(out, "cray_pm_counters", &v->last, now_ns);
	return 0;
}

const struct collector collector_cray_pm_counters = {
	.name = "cray_pm_counters",
	.source = &source_cray_pm_counters,
	.open = cray_view_open,
	.collect = cray_view_collect,
	.close = source_view_close,
};
