/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power of the node by its BMC, as daemon/source_ipmi.c sampled it last. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/collector.h"
#include "daemon/sampler.h"

/* Names and types of the peer */
static const struct prom_family families[SOURCE_KINDS] = {
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

struct ipmi_view {
	const struct env *env;
	struct source_snapshot last;
};

static void ipmi_view_close(void *state)
{
	struct ipmi_view *v = state;

	if (!v)
		return;
	source_snapshot_done(&v->last);
	free(v);
}

static int ipmi_view_open(const struct env *env, void **ret_state, struct err *err)
{
	int rc = sampler_is_open(env->sampler, &source_ipmi_dcmi, err);

	if (rc < 0)
		return rc;
	struct ipmi_view *v = calloc(1, sizeof(*v));
	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	v->env = env;
	*ret_state = v;
	return 0;
}

static int ipmi_view_collect(void *state, struct prom *out, struct err *err)
{
	struct ipmi_view *v = state;
	uint64_t now_ns = v->env->boottime_ns();
	int rc = sampler_get(v->env->sampler, &source_ipmi_dcmi, &v->last, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < v->last.count; i++) {
		const struct source_channel *c = &v->last.channels[i];
		/* a dead BMC is not one at constant power */
		if (!families[c->kind].name || source_is_stale(c, now_ns))
			continue;
		struct prom_label label = {"hostname", v->env->hostname};
		prom_family(out, &families[c->kind]);
		prom_put_scaled(out, &label, 1, c->raw, 6);
	}
	source_put_health(out, "ipmi_dcmi", &v->last, now_ns);
	return 0;
}

const struct collector collector_ipmi_dcmi = {
	.name = "ipmi_dcmi",
	.help = "power of the node by its BMC",
	.source = &source_ipmi_dcmi,
	.open = ipmi_view_open,
	.collect = ipmi_view_collect,
	.close = ipmi_view_close,
};
