/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Performance counters: the software events of units that the kernel programs add up,
 * and figures of the node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/groups/hardware_export.h"
#include "daemon/groups/node_figures.h"
#include "daemon/groups/step_groups.h"
#include "daemon/groups/unit_counts.h"
#include "daemon/options.h"
#include "daemon/perf_kinds.h"
#include "daemon/units.h"
#include "lib/records/perf_cells.h"

struct perf_scrape {
	const struct env *env;
	uint32_t kinds;             /* mask of perf_kinds */
	unsigned long long *totals; /* by unit, COUNTS_WORDS, of one scrape */
	struct node_figures *node;  /* NULL: there are none */
};

_Static_assert(sizeof(struct perf_counts) == COUNTS_WORDS * sizeof(unsigned long long),
	       "one stripe");

static void perf_collector_close(void *state)
{
	struct perf_scrape *p = state;

	if (!p)
		return;
	node_figures_free(p->node);
	free(p->totals);
	free(p);
}

static int perf_collector_open(const struct env *env, void **ret_state, struct err *err)
{
	bool counted = env->unit_perf && env->step_groups;
	struct perf_scrape *p = calloc(1, sizeof(*p));

	if (p && counted)
		p->totals = calloc(units_capacity(env->units),
				   COUNTS_WORDS * sizeof(*p->totals));
	int rc = p && (p->totals || !counted) ? node_figures_new(env, &p->node)
					      : -ENOMEM;
	if (rc == -ENOMEM || (rc < 0 && !counted)) {
		perf_collector_close(p);
		return rc == -ENOMEM ? err_set(err, rc, "out of memory")
				     : err_set(err, rc,
					       "the kernel programs are not attached");
	}
	p->env = env;
	p->kinds = perf_kinds_asked(&env->options->perf_software_profilers);
	*ret_state = p;
	return 0;
}

static void put_unit_perf(const struct perf_scrape *p, const struct unit *unit,
			  const struct perf_counts *c, struct prom *out)
{
	const struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", p->env->hostname},
		{"uuid", unit->id}};

	for (uint32_t i = 0; i < PERF_KINDS; i++) {
		if (!(p->kinds & 1u << i))
			continue;
		prom_family(out, &perf_kinds[i].family);
		prom_put_u64(out, labels, 3, perf_kinds[i].value(c));
	}
}

static void put_units_perf(const struct perf_scrape *p, struct prom *out)
{
	const struct env *env = p->env;
	const struct options *o = env->options;
	uint32_t unit;

	for (uint32_t slot = 0;
	     (slot = step_groups_next(env->step_groups, slot, &unit)) != UINT32_MAX;
	     slot++)
		unit_counts_add_slot(env->unit_perf, slot,
				     &p->totals[unit * COUNTS_WORDS]);
	for (uint32_t i = units_next(env->units, 0); i != UNITS_NONE;
	     i = units_next(env->units, i + 1)) {
		const struct unit *u = units_get(env->units, i);
		unsigned long long *words = &p->totals[i * COUNTS_WORDS];
		struct perf_counts counts;
		unit_counts_add_ended(env->unit_perf, i, words);
		memcpy(&counts, words, sizeof(counts));
		if (perf_is_asked(o, u) && step_groups_exported(env, i))
			put_unit_perf(p, u, &counts, out);
		memset(words, 0, sizeof(counts));
	}
	if (env->unit_hardware)
		hardware_export(env, out);
}

static int perf_collector_collect(void *state, struct prom *out, struct err *err)
{
	const struct perf_scrape *p = state;

	if (p->totals)
		put_units_perf(p, out);
	if (p->node)
		node_figures_export(p->node, out);
	return prom_error(out) ? err_set(err, prom_error(out), "no room for samples")
			       : 0;
}

const struct collector collector_perf = {
	.name = "perf",
	.open = perf_collector_open,
	.collect = perf_collector_collect,
	.close = perf_collector_close,
};
