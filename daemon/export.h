/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_EXPORT_H
#define CEEMS_DAEMON_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/prom.h"

/*
 * The metrics of compute units, whatever their manager. A collector first fills one
 * struct unit_values per unit, so that a unit is exported completely or, if a reading
 * failed, not at all; then everything is written family by family.
 */

enum unit_column {
	COL_CPU_USER,   /* ns */
	COL_CPU_SYSTEM, /* ns */
	COL_CPU_THROTTLED,
	COL_CPU_THROTTLED_PERIODS,
	COL_CPUS,
	COL_CPU_PSI, /* ns */
	COL_CPU_PSI_SOME,
	COL_MEMORY_RSS,
	COL_MEMORY_CACHE,
	COL_MEMORY_USED,
	COL_MEMORY_TOTAL,
	COL_MEMORY_PEAK,
	COL_MEMORY_FAIL_COUNT,
	COL_MEMORY_PSI,
	COL_MEMORY_PSI_SOME,
	COL_MEMSW_USED,
	COL_MEMSW_TOTAL,
	COL_MEMSW_FAIL_COUNT,
	COL_IO_PSI,
	COL_IO_PSI_SOME,
	COL_OOM_KILLS,
	COL_PIDS,
	COL_GPU_OBSERVED, /* ns, as the next two */
	COL_GPU_BUSY,
	COL_GPU_IDLE,
	COL_GPU_MEMORY_PEAK,
	COL_COLLECT_ERROR,
	UNIT_COLUMNS,
};

struct unit_values {
	const struct buf *labels; /* borrowed: rendered once in a unit's life */
	uint32_t has;             /* bit per column */
	uint64_t v[UNIT_COLUMNS];
};

static inline void unit_values_set(struct unit_values *u, enum unit_column c,
				   uint64_t v)
{
	u->v[c] = v;
	u->has |= 1u << c;
}

void export_units(struct prom *out, const struct unit_values *units, size_t n);

/* The same for steps; labels include "step". */
enum step_column {
	STEP_CPU_USER, /* ns */
	STEP_CPU_SYSTEM,
	STEP_MEMORY_PEAK,
	STEP_OOM_KILLS,
	STEP_COLUMNS,
};

struct step_values {
	const struct buf *labels;
	uint32_t has;
	uint64_t v[STEP_COLUMNS];
};

void export_steps(struct prom *out, const struct step_values *steps, size_t n);

struct node_totals;

/* Node counters of one manager, over all units ever seen. */
void export_node(struct prom *out, const char *manager, const char *hostname,
		 uint64_t running, const struct node_totals *totals);

/* What a unit reads from each block device and writes to it, under the peer's names.
 * Source: the group's io.stat (Documentation/admin-guide/cgroup-v2.rst) or
 * blkio.throttle.* (cgroup-v1/blkio-controller.rst). */
struct env;
struct unit;
struct cgroup_io;
void export_devices(const struct env *env, const char *manager, const struct unit *unit,
		    const struct cgroup_io *io, struct prom *out);

#endif
