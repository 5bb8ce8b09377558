/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_PERF_KINDS_H
#define CEEMS_DAEMON_PERF_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/prom.h"
#include "lib/records/hardware_cells.h"
#include "lib/records/perf_cells.h"

struct options;
struct unit;

/* The software events of --collector.perf.software-profilers, with the names of
 * CEEMS. */
#define PERF_KINDS 5u

struct perf_kind {
	const char *name;
	struct prom_family family;
	uint64_t (*value)(const struct perf_counts *c);
};
extern const struct perf_kind perf_kinds[PERF_KINDS];

/* Whether the unit's events are told: those of all units, or those of units that ask */
bool perf_is_asked(const struct options *o, const struct unit *unit);

/* The bit of the event with this name; 0: there is none. */
uint32_t perf_kind_mask(const char *name);
/* The bits of these, all of them if there are none. */
uint32_t perf_kinds_asked(const struct conf_list *names);
/* "PageFault, ContextSwitch ...": for messages. */
#define PERF_KIND_NAMES "PageFault, ContextSwitch, CpuMigration, MinorFault, MajorFault"

/* The events of --collector.perf.hardware-profilers and .cache-profilers, with the
 * names of CEEMS. */
struct hardware_kind {
	const char *name;
	struct prom_family family;
};
extern const struct hardware_kind hardware_kinds[HARDWARE_NAMED];

/* The bit of the event with this name among those of allowed; 0: there is none. */
uint32_t hardware_kind_mask(const char *name, uint32_t allowed);
/* The bits of these, all that are allowed if there are none. */
uint32_t hardware_kinds_asked(const struct conf_list *names, uint32_t allowed);
/* The events that the opener is to open: mask of enum hardware_event. With
 * --collector.perf alone all of them, for units that ask. */
uint32_t hardware_kinds_opened(const struct options *o);
/* For messages */
#define HARDWARE_KIND_NAMES                                                            \
	"CpuCycles, CpuInstr, RefCpuCycles, CacheRef, CacheMisses, BranchInstr, "      \
	"BranchMisses"
#define CACHE_KIND_NAMES                                                               \
	"L1DataReadHit, L1DataReadMiss, L1DataWriteHit, L1InstrReadMiss, LLReadHit, "  \
	"LLReadMiss, LLWriteHit, LLWriteMiss, InstrTLBReadHit, InstrTLBReadMiss, "     \
	"BPUReadHit, BPUReadMiss"

#endif
