/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line below the table. If units lack a value it says so instead of counting 0. */
#include "cli/cacct/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cacct/text.h"
#include "cli/cacct/when.h"

static void add_summary_grams(struct summary *s, const char *provider, double grams)
{
	size_t i = 0;

	while (i < s->grams_count && strcmp(s->grams[i].provider, provider) != 0)
		i++;
	if (i == UNIT_PROVIDERS_MAX)
		return;
	if (i == s->grams_count) {
		(void)snprintf(s->grams[i].provider, sizeof(s->grams[i].provider), "%s",
			       provider);
		s->grams[i].grams = 0;
		s->grams_count++;
	}
	s->grams[i].grams += grams;
}

void summary_add(struct summary *s, const struct unit *u)
{
	const double *n = u->number;
	double elapsed_s = isnan(n[UNIT_ELAPSED_S]) ? 0 : n[UNIT_ELAPSED_S];
	double alloc_s = isnan(n[UNIT_CPU_ALLOC_S]) ? 0 : n[UNIT_CPU_ALLOC_S];

	s->units += !u->is_step;
	s->steps += u->is_step;
	s->running += unit_is_running(u);
	s->awaited += unit_is_awaited(u);
	s->elapsed_s += elapsed_s;
	s->cpu_alloc_s += alloc_s;
	if (!isnan(n[UNIT_ENERGY_J])) {
		s->with_energy++;
		s->energy_j += n[UNIT_ENERGY_J];
		s->modelled_j += unit_modelled_joules(u);
	}
	if (!isnan(n[UNIT_CPU_RATIO])) {
		s->cpu_s += n[UNIT_CPU_RATIO] * alloc_s;
		s->cpu_of_s += alloc_s;
	}
	if (!isnan(n[UNIT_MEMORY_RATIO]) && n[UNIT_MEMORY_BYTES] > 0) {
		s->memory_byte_s +=
			n[UNIT_MEMORY_RATIO] * n[UNIT_MEMORY_BYTES] * elapsed_s;
		s->memory_of_byte_s += n[UNIT_MEMORY_BYTES] * elapsed_s;
	}
	if (!isnan(n[UNIT_COVERAGE])) {
		s->with_coverage++;
		s->observed_s += n[UNIT_COVERAGE] * elapsed_s;
		s->coverage_of_s += elapsed_s;
	}
	for (size_t i = 0; i < u->grams_count; i++)
		add_summary_grams(s, u->grams[i].provider, u->grams[i].grams);
}

static void put_energy(const struct summary *s, struct buf *out)
{
	double wh = s->energy_j / 3600;

	if (!s->with_energy)
		return;
	buf_puts(out, "; ");
	text_put_wh(out, wh);
	if (s->modelled_j >= s->energy_j && s->modelled_j > 0) {
		buf_puts(out, " by a model");
	} else if (s->modelled_j > 0) {
		buf_puts(out, ", ");
		text_put_wh(out, s->modelled_j / 3600);
		buf_puts(out, " of it by a model");
	}
	if (s->with_energy < s->units + s->steps)
		buf_printf(out, " (of %" PRIu64 " of them)", s->with_energy);
}

void summary_put(const struct summary *s, struct buf *out)
{
	char text[WHEN_SIZE];

	buf_puts(out, "Summary: ");
	if (s->units || !s->steps)
		buf_printf(out, "%" PRIu64 " %s", s->units,
			   kind_word(s->kind, s->units));
	if (s->steps)
		buf_printf(out, "%s%" PRIu64 " step%s", s->units ? ", " : "", s->steps,
			   s->steps == 1 ? "" : "s");
	if (s->running)
		buf_printf(out, " (%" PRIu64 " running", s->running);
	if (s->awaited)
		buf_printf(out,
			   ", %" PRIu64 " of them over on %s nodes: Slurm's record is "
			   "awaited",
			   s->awaited, s->awaited == 1 ? "its" : "their");
	if (s->running)
		buf_putc(out, ')');
	if (!s->units && !s->steps)
		return;
	when_print_span(when_seconds(s->elapsed_s), text);
	buf_printf(out, "; elapsed %s", text);
	when_print_span(when_seconds(s->cpu_alloc_s), text);
	buf_printf(out, "; CPU time %s", text);
	if (s->cpu_of_s > 0)
		buf_printf(out, ", %.1f%% used", 100 * s->cpu_s / s->cpu_of_s);
	if (s->memory_of_byte_s > 0)
		buf_printf(out, "; memory %.1f%% used on average",
			   100 * s->memory_byte_s / s->memory_of_byte_s);
	put_energy(s, out);
	for (size_t i = 0; i < s->grams_count; i++) {
		buf_puts(out, "; ");
		text_put_amount(out, s->grams[i].grams);
		buf_printf(out, " g CO2e (%s)", s->grams[i].provider);
	}
	if (s->coverage_of_s > 0)
		buf_printf(out, "; coverage %.1f%%",
			   100 * s->observed_s / s->coverage_of_s);
}

static void put_member(struct buf *out, const char *name, double v, bool known)
{
	buf_printf(out, ",\"%s\":", name);
	if (known)
		buf_put_f64(out, v);
	else
		buf_puts(out, "null");
}

void summary_put_json(const struct summary *s, struct buf *out)
{
	buf_printf(out, "{%s%" PRIu64 ",\"running\":%" PRIu64, kind_member(s->kind),
		   s->units, s->running);
	put_member(out, "elapsed_seconds", s->elapsed_s, true);
	put_member(out, "cpu_alloc_seconds", s->cpu_alloc_s, true);
	put_member(out, "cpu_ratio", s->cpu_s / s->cpu_of_s, s->cpu_of_s > 0);
	put_member(out, "memory_ratio", s->memory_byte_s / s->memory_of_byte_s,
		   s->memory_of_byte_s > 0);
	put_member(out, "energy_joules", s->energy_j, s->with_energy > 0);
	put_member(out, "modelled_joules", s->modelled_j, s->with_energy > 0);
	buf_puts(out, s->kind == KIND_JOB ? ",\"jobs_with_energy\":"
					  : ",\"units_with_energy\":");
	buf_put_u64(out, s->with_energy);
	put_member(out, "coverage", s->observed_s / s->coverage_of_s,
		   s->coverage_of_s > 0);
	unit_put_grams(out, s->grams, s->grams_count);
	buf_putc(out, '}');
}
