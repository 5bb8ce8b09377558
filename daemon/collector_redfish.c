/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power of the node from its BMC, as daemon/source_redfish.c had it last. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/collector.h"
#include "daemon/courier_link.h"
#include "daemon/sampler.h"

#define NAME "redfish"

/* Names and types of the peer; it has no energy */
static const struct prom_family families[SOURCE_KINDS] = {
	[SOURCE_ENERGY] = {"ceems_redfish_energy_joules_total", PROM_COUNTER,
			   "Energy of the chassis since ceemsd looked first (Redfish "
			   "EnvironmentMetrics EnergykWh)"},
	[SOURCE_POWER] = {"ceems_redfish_current_watts", PROM_GAUGE,
			  "Power of the chassis (Redfish)"},
	[SOURCE_POWER_MIN] = {"ceems_redfish_min_watts", PROM_GAUGE,
			      "Lowest power of the chassis in the BMC's own interval "
			      "(Redfish)"},
	[SOURCE_POWER_MAX] = {"ceems_redfish_max_watts", PROM_GAUGE,
			      "Highest power of the chassis in the BMC's own interval "
			      "(Redfish)"},
	[SOURCE_POWER_AVG] = {"ceems_redfish_avg_watts", PROM_GAUGE,
			      "Mean power of the chassis over the BMC's own interval "
			      "(Redfish)"},
};

struct redfish_view {
	const struct env *env;
	struct source_snapshot last;
};

static void redfish_view_close(void *state)
{
	struct redfish_view *v = state;

	if (!v)
		return;
	source_snapshot_done(&v->last);
	free(v);
}

static int redfish_view_open(const struct env *env, void **ret_state, struct err *err)
{
	int rc = sampler_is_open(env->sampler, &source_redfish, err);

	if (rc < 0)
		return rc;
	struct redfish_view *v = calloc(1, sizeof(*v));
	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	v->env = env;
	*ret_state = v;
	return 0;
}

/* Why there is nothing: what the courier says of its last attempt */
static int say_why(const struct redfish_view *v, struct err *err)
{
	struct courier_health health;

	if (v->env->courier &&
	    courier_link_get(v->env->courier, COURIER_HEALTH, NAME, &health,
			     sizeof(health)) > 0 &&
	    health.rc < 0)
		return err_set(err, -EAGAIN, "%s", health.text);
	return err_set(err, -EAGAIN, "the BMC has not been read yet");
}

static int redfish_view_collect(void *state, struct prom *out, struct err *err)
{
	struct redfish_view *v = state;
	uint64_t now_ns = v->env->boottime_ns();
	int rc = sampler_get(v->env->sampler, &source_redfish, &v->last, err);

	if (rc == -EAGAIN)
		return say_why(v, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < v->last.count; i++) {
		const struct source_channel *c = &v->last.channels[i];
		struct prom_label labels[2] = {{"hostname", v->env->hostname},
					       {"chassis", c->chip}};
		/* a counter stays where it stopped, a gauge of now must be of now */
		if (c->kind != SOURCE_ENERGY && source_is_stale(c, now_ns))
			continue;
		prom_family(out, &families[c->kind]);
		prom_put_scaled(out, labels, 2, c->value, 6);
	}
	source_put_health(out, NAME, &v->last, now_ns);
	return 0;
}

const struct collector collector_redfish = {
	.name = NAME,
	.help = "power of the node from its BMC by Redfish",
	.source = &source_redfish,
	.open = redfish_view_open,
	.collect = redfish_view_collect,
	.close = redfish_view_close,
};
