/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_SPANK_REPORT_H
#define CEEMS_SPANK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/records/counts_page.h"
#include "lib/records/energy_page.h"
#include "lib/records/hot_page.h"

/* What --ceems-report says at the end of a step. Pure: numbers in, text out; no Slurm,
 * no file. It contains nothing from the job (names, environment) but names of
 * functions, which are printable ASCII, and names from the energy page are reduced to
 * letters, digits and "._-", so it cannot control a terminal. */

/* Written to a pipe whole or not at all (PIPE_BUF) */
#define REPORT_MAX 4096u

struct report_domain {
	bool there;
	bool has_uj; /* false: its source is known, its share not yet */
	uint64_t uj;
	uint32_t flags; /* enum energy_page_flag */
	char source[ENERGY_PAGE_SOURCE_MAX];
};

struct step_report_energy {
	const char
		*unknown; /* why nothing is known; NULL: the other members are valid */
	uint64_t uj;
	bool provisional;
	bool modelled;
	uint64_t stopped_s;  /* not 0: ceemsd stopped so long ago; values of then */
	uint32_t total_mask; /* 1 << domain: the domains in uj */
	struct report_domain domains[ENERGY_PAGE_DOMAINS];
	uint32_t emission_mg_per_kwh; /* 0: not known */
	char emission_provider[ENERGY_PAGE_SOURCE_MAX];
};

struct step_report {
	uint32_t job;
	uint32_t step;  /* or RECORD_STEP_* */
	uint32_t nodes; /* of the step; this report is from the first */
	uint64_t wall_ns;
	bool has_cpu;
	uint64_t cpu_ns;
	uint32_t cpus; /* of the step on this node, 0: not known */
	bool has_memory;
	uint64_t memory_peak_bytes;
	uint64_t memory_asked_bytes; /* on this node, 0: no limit was requested */
	uint64_t oom_kills;
	struct step_counts counts; /* of a moment before */
	struct hot_page_row hot;   /* likewise; samples 0: none are known */
	bool has_gpus;
	struct step_report_energy energy;
};

/* What was clearly wasted or lacking; the first that applies. */
enum report_hint {
	HINT_NONE,
	HINT_KILLED, /* for memory */
	HINT_CPUS,   /* fewer would have been enough */
	HINT_IDLE,   /* the one CPU did nothing */
	HINT_MEMORY, /* less would have been enough */
};
enum report_hint report_hint(const struct step_report *r);

/* From one tick of the page. row is NULL for a step younger than the tick: then only
 * the total is known, as an estimate. */
void report_take_energy(struct step_report_energy *e,
			const struct energy_page_node *node,
			const struct energy_page_row *row,
			const struct energy_page_now *now);
/* No energy; rc is from energy_page_open() or energy_page_find(). */
void report_no_energy(struct step_report_energy *e, int rc);

/* Several lines, or one line of JSON, each with its newline. At most REPORT_MAX bytes;
 * errors stay in out. */
void report_text(const struct step_report *r, struct buf *out);
void report_json(const struct step_report *r, struct buf *out);

#endif
