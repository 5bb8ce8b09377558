/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/perf_figures.h"

#include <string.h>

#include "daemon/groups/unit_hardware.h"

void perf_figures_done(struct perf_figures *f)
{
	arena_done(&f->arena);
	memset(f, 0, sizeof(*f));
}

bool perf_figure_value(const struct perf_figures *f, uint32_t figure,
		       const struct hardware_total *t, uint64_t *ret)
{
	uint32_t events = f->figure[figure].events;
	uint64_t sum = 0;

	/* one that counts nothing may be an instruction that nobody uses here */
	if ((t->ran & events) != events || !(t->events & events))
		return false;
	for (uint32_t i = 0; i < f->raws.count; i++) {
		if (events & 1u << (HARDWARE_RAW + i))
			sum += f->weight[i] * t->values[HARDWARE_RAW + i];
	}
	*ret = sum;
	return true;
}
