/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node's power from its BMC, from the last sample of
 * daemon/sources/source_redfish.c. */
#include <errno.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/sources/child_link.h"
#include "daemon/sources/source_view.h"

#define NAME "redfish"
#define CHASSIS_BYTES sizeof(((struct source_channel *)0)->chip)

/* Names and types of the peer; it has no energy */
static const struct prom_family redfish_families[SOURCE_KINDS] = {
	[SOURCE_ENERGY] = {"ceems_redfish_energy_joules_total", PROM_COUNTER,
			   "Energy of the chassis since ceemsd first read it (Redfish "
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

static int redfish_view_open(const struct env *env, void **ret_state, struct err *err)
{
	return source_view_open(env, &source_redfish, ret_state, err);
}

/* Why there is nothing: the courier's last error */
static int say_why(const struct source_view *v, struct err *err)
{
	struct child_health health;

	if (v->env->courier &&
	    child_link_get(v->env->courier, CHILD_HEALTH, NAME, &health,
			   sizeof(health)) > 0 &&
	    health.rc < 0)
		return err_set(err, -EAGAIN, "%s", health.text);
	return err_set(err, -EAGAIN, "the BMC has not been read yet");
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

/* As in the peer (SanitizeMetricName()): each run of characters other than letters and
 * digits becomes one underscore. */
static void write_chassis(const char *id, char ret[CHASSIS_BYTES])
{
	size_t n = 0;

	for (const char *p = id; *p && n + 1 < CHASSIS_BYTES;) {
		const char *other = p + strspn(p, "_");
		if (!*other || is_plain(*other)) {
			ret[n++] = *p++;
			continue;
		}
		while (*other && !is_plain(*other))
			other++;
		p = other + strspn(other, "_");
		ret[n++] = '_';
	}
	ret[n] = '\0';
}

/* Label of the i-th channel; its unchanged id if another chassis already has the
 * name. */
static const char *name_chassis(const struct source_view *v, size_t i,
				char ret[CHASSIS_BYTES])
{
	const struct source_channel *c = &v->last.channels[i];
	char other[CHASSIS_BYTES];

	write_chassis(c->chip, ret);
	for (size_t k = 0; k < i; k++) {
		const struct source_channel *before = &v->last.channels[k];
		if (before->kind != c->kind)
			continue;
		write_chassis(before->chip, other);
		if (strcmp(other, ret) == 0)
			return c->chip;
	}
	return ret;
}

static int redfish_view_collect(void *state, struct prom *out, struct err *err)
{
	struct source_view *v = state;
	uint64_t now_ns = v->env->boottime_ns();
	int rc = source_view_read(v, err);

	if (rc == -EAGAIN)
		return say_why(v, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < v->last.count; i++) {
		const struct source_channel *c = &v->last.channels[i];
		char chassis[CHASSIS_BYTES];
		struct prom_label labels[2] = {
			{"hostname", v->env->hostname},
			{"chassis", name_chassis(v, i, chassis)}};
		/* a counter stays where it stopped; a gauge must be current */
		if (c->kind != SOURCE_ENERGY && source_is_stale(c, now_ns))
			continue;
		prom_family(out, &redfish_families[c->kind]);
		prom_put_scaled(out, labels, 2, c->value, 6);
	}
	source_put_health(out, NAME, &v->last, now_ns);
	return 0;
}

const struct collector collector_redfish = {
	.name = NAME,
	.source = &source_redfish,
	.open = redfish_view_open,
	.collect = redfish_view_collect,
	.close = source_view_close,
};
