/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_SUMMARY_H
#define CEEMS_CLI_CACCT_SUMMARY_H

#include "cli/cacct/kind.h"
#include "cli/cacct/unit.h"
#include "lib/buf.h"

/* Sums over the given rows; steps count only if their job is not among them. */
struct summary {
	enum kind kind; /* what the units are called */
	uint64_t units, steps, running, awaited, with_energy, with_coverage;
	double elapsed_s, cpu_alloc_s, energy_j, modelled_j;
	double cpu_s, cpu_of_s; /* CPU time used, and the CPU time allocated to those */
	double memory_byte_s, memory_of_byte_s;
	double observed_s, coverage_of_s;
	struct unit_grams grams[UNIT_PROVIDERS_MAX];
	size_t grams_count;
};

void summary_add(struct summary *s, const struct unit *u);

/* One line, without the newline. */
void summary_put(const struct summary *s, struct buf *out);
/* A JSON object. */
void summary_put_json(const struct summary *s, struct buf *out);

#endif
