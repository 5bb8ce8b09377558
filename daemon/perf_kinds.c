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

#define KIND(name, metric, help)                                                       \
	{                                                                              \
		name,                                                                  \
		{                                                                      \
			"ceems_perf_" metric, PROM_COUNTER, help                       \
		}                                                                      \
	}

const struct hardware_kind hardware_kinds[HARDWARE_NAMED] = {
	[HARDWARE_CYCLES] = KIND("CpuCycles", "cpucycles_total",
				 "CPU cycles of the unit's processes"),
	[HARDWARE_INSTRUCTIONS] = KIND("CpuInstr", "instructions_total",
				       "Instructions that they executed"),
	[HARDWARE_REF_CYCLES] = KIND("RefCpuCycles", "ref_cpucycles_total",
				     "CPU cycles at the nominal frequency"),
	[HARDWARE_CACHE_REFS] = KIND("CacheRef", "cache_refs_total",
				     "Accesses to the last cache, as the CPU has it"),
	[HARDWARE_CACHE_MISSES] =
		KIND("CacheMisses", "cache_misses_total", "Of these, not found there"),
	[HARDWARE_BRANCHES] = KIND("BranchInstr", "branch_instructions_total",
				   "Branches that they executed"),
	[HARDWARE_BRANCH_MISSES] = KIND("BranchMisses", "branch_misses_total",
					"Branches that the CPU predicted wrongly"),
	[HARDWARE_L1D_READS] = KIND("L1DataReadHit", "cache_l1d_read_hits_total",
				    "Reads from the first data cache"),
	[HARDWARE_L1D_READ_MISSES] =
		KIND("L1DataReadMiss", "cache_l1d_read_misses_total",
		     "Of these, not found there"),
	[HARDWARE_L1D_WRITES] = KIND("L1DataWriteHit", "cache_l1d_write_hits_total",
				     "Writes to the first data cache"),
	[HARDWARE_L1I_READ_MISSES] =
		KIND("L1InstrReadMiss", "cache_l1_instr_read_misses_total",
		     "Instructions not found in the first cache"),
	[HARDWARE_LL_READS] = KIND("LLReadHit", "cache_ll_read_hits_total",
				   "Reads from the last cache"),
	[HARDWARE_LL_READ_MISSES] = KIND("LLReadMiss", "cache_ll_read_misses_total",
					 "Of these, not found there"),
	[HARDWARE_LL_WRITES] = KIND("LLWriteHit", "cache_ll_write_hits_total",
				    "Writes to the last cache"),
	[HARDWARE_LL_WRITE_MISSES] = KIND("LLWriteMiss", "cache_ll_write_misses_total",
					  "Of these, not found there"),
	[HARDWARE_ITLB_READS] =
		KIND("InstrTLBReadHit", "cache_tlb_instr_read_hits_total",
		     "Look-ups of addresses of instructions"),
	[HARDWARE_ITLB_READ_MISSES] =
		KIND("InstrTLBReadMiss", "cache_tlb_instr_read_misses_total",
		     "Of these, not found in the buffer"),
	[HARDWARE_BPU_READS] = KIND("BPUReadHit", "cache_bpu_read_hits_total",
				    "Look-ups of the branch predictor"),
	[HARDWARE_BPU_READ_MISSES] = KIND("BPUReadMiss", "cache_bpu_read_misses_total",
					  "Of these, predicted wrongly"),
};

uint32_t hardware_kind_mask(const char *name, uint32_t allowed)
{
	for (uint32_t i = 0; i < HARDWARE_NAMED; i++) {
		if ((allowed & 1u << i) && strcmp(hardware_kinds[i].name, name) == 0)
			return 1u << i;
	}
	return 0;
}

uint32_t hardware_kinds_asked(const struct conf_list *names, uint32_t allowed)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < names->count; i++)
		mask |= hardware_kind_mask(names->items[i], allowed);
	return mask ? mask : allowed;
}

uint32_t hardware_kinds_opened(const struct options *o)
{
	bool all = !o->perf_software && !o->perf_hardware && !o->perf_cache;
	uint32_t mask = 0;

	if (!o->collector_perf)
		return 0;
	if (all || o->perf_hardware)
		mask |= hardware_kinds_asked(&o->perf_hardware_profilers,
					     HARDWARE_GENERAL_MASK);
	if (all || o->perf_cache)
		mask |= hardware_kinds_asked(&o->perf_cache_profilers,
					     HARDWARE_CACHE_MASK);
	return mask;
}
