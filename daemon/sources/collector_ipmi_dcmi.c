/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node's power from its BMC, from the last sample of
 * daemon/sources/source_ipmi.c. */

#include "daemon/collector.h"
#include "daemon/sources/source_view.h"

/* Names and types of the peer */
static const struct prom_family ipmi_families[SOURCE_KINDS] = {
	[SOURCE_POWER] = {"ceems_ipmi_dcmi_current_watts", PROM_GAUGE,
			  "Power of the node (IPMI DCMI power reading)"},
	[SOURCE_POWER_MIN] = {"ceems_ipmi_dcmi_min_watts", PROM_GAUGE,
			      "Lowest power in the BMC's sampling period (IPMI DCMI "
			      "power reading)"},
	[SOURCE_POWER_MAX] = {"ceems_ipmi_dcmi_max_watts", PROM_GAUGE,
			      "Highest power in the BMC's sampling period (IPMI DCMI "
			      "power reading)"},
	[SOURCE_POWER_AVG] = {"ceems_ipmi_dcmi_avg_watts", PROM_GAUGE,
			      "Average power over the BMC's sampling period (IPMI DCMI "
			      "power reading)"},
};

static int ipmi_view_open(const struct env *env, void **ret_state, struct err *err)
{
	return source_view_open(env, &source_ipmi_dcmi, ret_state, err);
}

static int ipmi_view_collect(void *state, struct prom *out, struct err *err)
{
	struct source_view *v = state;
	uint64_t now_ns = v->env->boottime_ns();
	int rc = source_view_read(v, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < v->last.count; i++) {
		const struct source_channel *c = &v->last.channels[i];
		/* a dead BMC must not look like constant power */
		if (!ipmi_families[c->kind].name || source_is_stale(c, now_ns))
			continue;
		struct prom_label label = {"hostname", v->env->hostname};
		prom_family(out, &ipmi_families[c->kind]);
		prom_put_scaled(out, &label, 1, c->raw, 6);
	}
	source_put_health(out, "ipmi_dcmi", &v->last, now_ns);
	return 0;
}

const struct collector collector_ipmi_dcmi = {
	.name = "ipmi_dcmi",
	.source = &source_ipmi_dcmi,
	.open = ipmi_view_open,
	.collect = ipmi_view_collect,
	.close = source_view_close,
};
