/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power of a machine without a sensor, from the last estimate of
 * daemon/sources/source_model.c. */

#include "daemon/collector.h"
#include "daemon/sources/source_view.h"

/* All names contain "model", so that nobody takes them for a sensor's. */
static const struct prom_family model_families[SOURCE_KINDS] = {
	[SOURCE_ENERGY] = {"ceems_model_energy_joules_total", PROM_COUNTER,
			   "Energy of the node as the model estimates it, not measured "
			   "(/proc/stat and a power curve)"},
	[SOURCE_POWER] = {"ceems_model_power_watts", PROM_GAUGE,
			  "Power of the node as the model estimates it, not measured "
			  "(/proc/stat and a power curve)"},
	[SOURCE_POWER_IDLE] = {"ceems_model_idle_watts", PROM_GAUGE,
			       "Power of an idle node by the model (configuration or "
			       "built-in table)"},
	[SOURCE_POWER_MAX] = {"ceems_model_max_watts", PROM_GAUGE,
			      "Power of a node whose CPUs are all busy by the model "
			      "(configuration or built-in table)"},
};

static int model_view_open(const struct env *env, void **ret_state, struct err *err)
{
	return source_view_open(env, &source_model, ret_state, err);
}

static int model_view_collect(void *state, struct prom *out, struct err *err)
{
	struct source_view *v = state;
	uint64_t now_ns = v->env->boottime_ns();
	int rc = source_view_read(v, err);

	if (rc < 0)
		return rc;
	/* a sensor measures it: nothing to estimate */
	if (!v->last.count)
		return 0;
	for (size_t i = 0; i < v->last.count; i++) {
		const struct source_channel *c = &v->last.channels[i];
		if (!model_families[c->kind].name ||
		    (c->kind != SOURCE_ENERGY && source_is_stale(c, now_ns)))
			continue;
		struct prom_label labels[3] = {{"hostname", v->env->hostname},
					       {"kind", c->name},
					       {"coefficients", c->chip}};
		prom_family(out, &model_families[c->kind]);
		prom_put_scaled(out, labels, 3, c->value, 6);
	}
	source_put_health(out, "model", &v->last, now_ns);
	return 0;
}

const struct collector collector_model = {
	.name = "model",
	.source = &source_model,
	.open = model_view_open,
	.collect = model_view_collect,
	.close = source_view_close,
};
