/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power and energy sensors of hwmon, from the last sample of
 * daemon/sources/source_hwmon.c. */

#include "daemon/collector.h"
#include "daemon/sources/source_view.h"

/* Names and types of the peer, also where a cumulative value is called a gauge */
static const struct prom_family hwmon_families[SOURCE_KINDS] = {
	[SOURCE_ENERGY] = {"ceems_hwmon_energy_current_joules", PROM_GAUGE,
			   "Energy counter of the sensor (hwmon energyN_input)"},
	[SOURCE_POWER] = {"ceems_hwmon_power_current_watts", PROM_GAUGE,
			  "Power at the sensor (hwmon powerN_input)"},
	[SOURCE_POWER_MIN] = {"ceems_hwmon_power_min_watts", PROM_GAUGE,
			      "Lowest power seen by the sensor (hwmon "
			      "powerN_input_lowest)"},
	[SOURCE_POWER_MAX] = {"ceems_hwmon_power_max_watts", PROM_GAUGE,
			      "Highest power seen by the sensor (hwmon "
			      "powerN_input_highest)"},
	[SOURCE_POWER_AVG] = {"ceems_hwmon_power_avg_watts", PROM_GAUGE,
			      "Average power at the sensor (hwmon powerN_average)"},
};

static int hwmon_view_open(const struct env *env, void **ret_state, struct err *err)
{
	return source_view_open(env, &source_hwmon, ret_state, err);
}

static int hwmon_view_collect(void *state, struct prom *out, struct err *err)
{
	struct source_view *v = state;
	uint64_t now_ns = v->env->boottime_ns();
	int rc = source_view_read(v, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < v->last.count; i++) {
		const struct source_channel *c = &v->last.channels[i];
		/* an outdated gauge is worse than none */
		if (!hwmon_families[c->kind].name || source_is_stale(c, now_ns))
			continue;
		struct prom_label labels[4] = {{"hostname", v->env->hostname},
					       {"sensor", c->name},
					       {"chip", c->chip},
					       {"chip_name", c->chip_name}};
		prom_family(out, &hwmon_families[c->kind]);
		prom_put_scaled(out, labels, 4, c->raw, 6);
	}
	source_put_health(out, "hwmon", &v->last, now_ns);
	return 0;
}

const struct collector collector_hwmon = {
	.name = "hwmon",
	.source = &source_hwmon,
	.open = hwmon_view_open,
	.collect = hwmon_view_collect,
	.close = source_view_close,
};
