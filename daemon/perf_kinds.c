/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/perf_kinds.h"

#include <string.h>

#include "daemon/options.h"
#include "daemon/units.h"

static uint64_t page_faults(const struct perf_counts *c)
{
	return c->minor_faults + c->major_faults;
}

static uint64_t context_switches(const struct perf_counts *c)
{
	return c->switches;
}

static uint64_t cpu_migrations(const struct perf_counts *c)
{
	return c->migrations;
}

static uint64_t minor_faults(const struct perf_counts *c)
{
	return c->minor_faults;
}

static uint64_t major_faults(const struct perf_counts *c)
{
	return c->major_faults;
}

const struct perf_kind perf_kinds[PERF_KINDS] = {
	{"PageFault",
	 {"ceems_perf_page_faults_total", PROM_COUNTER,
	  "Page faults of the unit's processes"},
	 page_faults},
	{"ContextSwitch",
	 {"ceems_perf_context_switches_total", PROM_COUNTER,
	  "Times that the unit's threads gave up their CPU or lost it"},
	 context_switches},
	{"CpuMigration",
	 {"ceems_perf_cpu_migrations_total", PROM_COUNTER,
	  "Times that the unit's threads were moved to another CPU"},
	 cpu_migrations},
	{"MinorFault",
	 {"ceems_perf_minor_faults_total", PROM_COUNTER,
	  "Page faults that read nothing from a device"},
	 minor_faults},
	{"MajorFault",
	 {"ceems_perf_major_faults_total", PROM_COUNTER,
	  "Page faults that read from a device"},
	 major_faults},
};

bool perf_is_asked(const struct options *o, const struct unit *unit)
{
	return (o->perf_software && !o->perf_env_vars.count) ||
	       (unit->flags & RECORD_PERF_SW);
}

uint32_t perf_kind_mask(const char *name)
{
	for (uint32_t i = 0; i < PERF_KINDS; i++) {
		if (strcmp(perf_kinds[i].name, name) == 0)
			return 1u << i;
	}
	return 0;
}

uint32_t perf_kinds_asked(const struct conf_list *names)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < names->count; i++)
		mask |= perf_kind_mask(names->items[i]);
	return mask ? mask : (1u << PERF_KINDS) - 1;
}
