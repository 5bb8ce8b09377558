/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_PERF_FIGURES_H
#define CEEMS_DAEMON_GROUPS_PERF_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/hardware_raw.h"

/*
 * Figures that a site defines as sums of its CPUs' own events
 * (--collector.perf.raw-events-file, doc/perf_events.md), such as floating point
 * operations.
 */
#define PERF_FIGURES_MAX HARDWARE_RAW_MAX
#define PERF_FIGURE_NAME_MAX 40u

struct perf_figure {
	const char *name, *help;
	uint32_t events; /* mask of enum hardware_event */
};

/* Those of PMUs that count for a whole package: of the node, never of a unit */
#define PERF_NODE_CPUS_MAX 64u

struct perf_node_event {
	struct hardware_raw raw;
	uint64_t weight;
	const char *pmu;
};

struct perf_node_figure {
	const char *name, *help;
	uint32_t first, count;             /* of node_event */
	uint32_t cpus[PERF_NODE_CPUS_MAX]; /* one of each package, as its PMUs say */
	uint32_t cpu_count;
};

struct perf_figures {
	struct arena arena;
	const char *cpu; /* the section of this node's CPU; NULL: there is none */
	struct hardware_raws raws;
	uint64_t weight[HARDWARE_RAW_MAX]; /* by event */
	struct perf_figure figure[PERF_FIGURES_MAX];
	uint32_t count;
	struct perf_node_event node_event[HARDWARE_RAW_MAX];
	struct perf_node_figure node_figure[PERF_FIGURES_MAX];
	uint32_t node_events, node_count;
	char text[1024]; /* raws for ceems-opener */
};

struct options;

/* The options' file, on this node; logs what is left out and why. Without a file there
 * are no figures. Errors as perf_figures_load() */
int perf_figures_open(const struct options *o, struct perf_figures *ret,
		      struct err *err);

/* Reads the file and takes the section of this node's CPU (procfd: cpuinfo, sysfd: the
 * numbers of its PMUs). notes: a line for each figure that is left out here, and why.
 * -EINVAL: a mistake anywhere in the file, with its line; or that of the read. */
int perf_figures_load(const char *file, int procfd, int sysfd, struct perf_figures *ret,
		      struct buf *notes, struct err *err);
void perf_figures_done(struct perf_figures *f); /* accepts what was zeroed */

struct hardware_total;

/* What a unit has of it. False: not known, since one of its events has had no counter
 * in the unit's life, or none of them ever counted anything on this node. */
bool perf_figure_value(const struct perf_figures *f, uint32_t figure,
		       const struct hardware_total *t, uint64_t *ret);

#endif
