/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_NODE_FIGURES_H
#define CEEMS_DAEMON_GROUPS_NODE_FIGURES_H

#include "daemon/env.h"
#include "lib/prom.h"

/*
 * Figures of PMUs that count for a whole package, such as a memory controller
 * (node_figures of --collector.perf.raw-events-file): of the node, since nobody knows
 * whose they are. Their events are opened by ceemsd itself, on the CPUs that each PMU
 * names, while it is root or with CAP_PERFMON.
 */
struct node_figures;

/* Opens them; logs which cannot be, and why: those figures are left out. -ENODEV: there
 * is none, or none can be opened. env outlives it. */
int node_figures_new(const struct env *env, struct node_figures **ret);
void node_figures_free(struct node_figures *n); /* accepts NULL */

/* Reads them. A figure is absent on a CPU until it has counted anything: some PMUs can
 * be opened and never count. */
void node_figures_export(struct node_figures *n, struct prom *out);

#endif
