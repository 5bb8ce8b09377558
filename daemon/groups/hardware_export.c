/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/hardware_export.h"

#include "daemon/groups/perf_figures.h"
#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_hardware.h"
#include "daemon/perf_kinds.h"
#include "daemon/units.h"
#include "lib/clock.h"

static void put_unit_events(const struct env *env, const struct unit *unit,
			    uint32_t asked, const struct hardware_total *t,
			    struct prom *out)
{
	static const struct prom_family share = {
		"ceems_perf_event_running_ratio", PROM_GAUGE,
		"Part of the time for which an event's counts were measured; for the "
		"rest, when other events had the CPU's counters, they are scaled"};
	static const struct prom_family covered = {
		"ceems_perf_event_enabled_seconds_total", PROM_COUNTER,
		"CPU time of the unit for which an event was asked for"};
	struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", env->hostname},
		{"uuid", unit->id},
		{"event", NULL}};

	for (uint32_t e = 0; e < HARDWARE_NAMED; e++) {
		if (!(asked & t->events & 1u << e))
			continue;
		prom_family(out, &hardware_kinds[e].family);
		prom_put_u64(out, labels, 3, t->values[e]);
		labels[3].value = hardware_kinds[e].name;
		prom_family(out, &share);
		prom_put_f64(out, labels, 4,
			     t->enabled_ns[e] ? (double)t->running_ns[e] /
							(double)t->enabled_ns[e]
					      : 1);
		prom_family(out, &covered);
		prom_put_scaled(out, labels, 4, t->enabled_ns[e], 9);
	}
}

/* They are given to units with hardware events. */
static void put_event_figures(const struct env *env, const struct unit *unit,
			      uint32_t asked, const struct hardware_total *t,
			      struct prom *out)
{
	static const struct prom_family family = {
		"ceems_perf_figure_total", PROM_COUNTER,
		"Sum of raw events as --collector.perf.raw-events-file has it"};
	const struct perf_figures *f = env->perf_figures;
	struct prom_label labels[] = {{"manager", "slurm"},
				      {"hostname", env->hostname},
				      {"uuid", unit->id},
				      {"figure", NULL}};
	uint64_t value;

	for (uint32_t i = 0; f && i < f->count; i++) {
		if ((asked & f->figure[i].events) != f->figure[i].events ||
		    !perf_figure_value(f, i, t, &value))
			continue;
		labels[3].value = f->figure[i].name;
		prom_family(out, &family);
		prom_put_u64(out, labels, 4, value);
	}
}

static void put_event_states(const struct env *env, struct prom *out)
{
	static const struct prom_family available = {
		"ceems_perf_event_available", PROM_GAUGE,
		"Whether the node's CPUs count the event: 0 if it could not be opened, "
		"or had a counter and never counted anything"};
	static const struct prom_family armed = {
		"ceems_perf_events_armed", PROM_GAUGE,
		"Whether the CPUs' hardware events are enabled, since a unit asks"};
	const struct prom_label hostname = {"hostname", env->hostname};

	for (uint32_t e = 0; e < HARDWARE_NAMED; e++) {
		const struct prom_label labels[] = {hostname,
						    {"event", hardware_kinds[e].name}};
		enum hardware_state state = unit_hardware_state(env->unit_hardware, e);
		if (state == HARDWARE_NOT_ASKED)
			continue;
		prom_family(out, &available);
		prom_put_u64(out, labels, 2, state == HARDWARE_COUNTS);
	}
	prom_family(out, &armed);
	prom_put_u64(out, &hostname, 1, unit_hardware_armed(env->unit_hardware));
}

void hardware_export(const struct env *env, struct prom *out)
{
	unit_hardware_update(env->unit_hardware);
	for (uint32_t i = units_next(env->units, 0); i != UNITS_NONE;
	     i = units_next(env->units, i + 1)) {
		const struct unit *unit = units_get(env->units, i);
		uint32_t asked = unit_hardware_asked(env->options, unit);
		struct hardware_total t;
		if (!asked || !step_groups_exported(env, i))
			continue;
		unit_hardware_total(env->unit_hardware, i, &t);
		put_unit_events(env, unit, asked, &t, out);
		put_event_figures(env, unit, asked, &t, out);
	}
	put_event_states(env, out);
}
