/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report at the end of a step. In integers: slurmstepd may have a locale with
 * decimal commas. */
#include "spank/report.h"

#include <errno.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/records/record.h"

#define HINT_MIN_NS (10 * NSEC_PER_SEC) /* below it is start-up and noise */
#define HINT_MIN_UNUSED_BYTES (UINT64_C(1) << 30)
#define UJ_PER_JOULE 1000000u

static const char *const domain_names[ENERGY_PAGE_DOMAINS] = {
	[ENERGY_PAGE_PACKAGE] = "package", [ENERGY_PAGE_DRAM] = "dram",
	[ENERGY_PAGE_PSYS] = "psys",       [ENERGY_PAGE_GPU] = "gpu",
	[ENERGY_PAGE_HOST] = "host",       [ENERGY_PAGE_OTHER] = "other",
};

/* ---- numbers --------------------------------------------------------------------- */

/* a * b / c, at most UINT64_MAX; 0 for c = 0 */
static uint64_t scale_u64(uint64_t a, uint64_t b, uint64_t c)
{
	if (!c)
		return 0;
	unsigned __int128 v = (unsigned __int128)a * b / c;
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* v * 10^-decimals with at least three significant digits */
static void put_short(struct buf *b, uint64_t v, unsigned decimals)
{
	uint64_t step = 1;
	while (decimals && v / step >= 1000) {
		step *= 10;
		decimals--;
	}
	/* rounding may carry to a fourth digit: 0.9999 is 1.00, which is right too */
	buf_put_scaled(b, v / step + (v % step >= (step + 1) / 2), decimals);
}

static void put_bytes(struct buf *b, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	unsigned i = 0;
	while (i < 3 && bytes >> (10 * (i + 2)))
		i++;
	put_short(b, scale_u64(bytes, 1000, UINT64_C(1) << (10 * (i + 1))), 3);
	buf_printf(b, " %s", units[i]);
}

static void put_bill_time(struct buf *b, uint64_t ns)
{
	uint64_t s = ns / NSEC_PER_SEC;
	if (s < 60) {
		put_short(b, ns / 1000, 6);
		buf_puts(b, " s");
		return;
	}
	if (s >= 3600) {
		buf_put_u64(b, s / 3600);
		buf_puts(b, " h ");
	}
	buf_put_u64(b, s / 60 % 60);
	buf_puts(b, " min ");
	buf_put_u64(b, s % 60);
	buf_puts(b, " s");
}

static uint64_t nano_wh(uint64_t uj)
{
	return scale_u64(uj, 5, 18);
}

static uint64_t emitted_nanograms(uint64_t uj, uint32_t mg_per_kwh)
{
	return scale_u64(uj, mg_per_kwh, 3600000);
}

/* Thousandths of the available CPU time used; 0: unknown */
static uint64_t cpu_permille(const struct step_report *r)
{
	return r->has_cpu
		       ? scale_u64(r->cpu_ns, 1000, scale_u64(r->wall_ns, r->cpus, 1))
		       : 0;
}

/* Busy CPUs on average, in thousandths */
static uint64_t busy_mcpu(const struct step_report *r)
{
	return scale_u64(r->cpu_ns, 1000, r->wall_ns);
}

/* ---- energy ---------------------------------------------------------------------- */

static void copy_name(char to[ENERGY_PAGE_SOURCE_MAX], const char *from)
{
	size_t n = strnlen(from, ENERGY_PAGE_SOURCE_MAX - 1);
	for (size_t i = 0; i < n; i++) {
		char c = from[i];
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
		to[i] = (char)(fine ? c : '?');
	}
	to[n] = '\0';
}

/* Between the tick and now only the total is estimated; its parts grow in
 * proportion. */
static void take_domain(struct report_domain *d, const struct energy_page_node *node,
			const struct energy_page_row *row, enum energy_page_domain i,
			uint64_t now_uj)
{
	d->there = node->source[i][0];
	d->has_uj = row != NULL;
	d->flags = node->flags[i];
	copy_name(d->source, node->source[i]);
	if (row)
		d->uj = row->total_uj ? scale_u64(row->uj[i], now_uj, row->total_uj)
				      : row->uj[i];
}

/* Whether any part of the total is or was measured */
static bool is_total_measured(const struct energy_page_node *node,
			      const struct energy_page_row *row)
{
	for (int i = 0; i < ENERGY_PAGE_DOMAINS; i++)
		if ((node->total_mask >> i & 1) && (node->source[i][0] || node->uj[i]))
			return true;
	return node->total_mask && row && row->total_uj;
}

void report_take_energy(struct step_report_energy *e,
			const struct energy_page_node *node,
			const struct energy_page_row *row,
			const struct energy_page_now *now)
{
	*e = (struct step_report_energy){.total_mask = node->total_mask};
	if (!is_total_measured(node, row)) {
		e->unknown = "this node has no power sensor and no model";
		return;
	}
	int rc = energy_page_estimate(node, row, now, &e->uj);
	if (rc < 0 && !row) {
		e->unknown = "ceemsd has stopped";
		return;
	}
	if (rc < 0) /* the sum at ceemsd's last tick */
		e->stopped_s = (now->boottime_ns - node->tick_ns) / NSEC_PER_SEC;
	e->provisional = !row || !(row->flags & ENERGY_PAGE_ENDED) ||
			 row->provisional_uj || (row->flags & ENERGY_PAGE_PROVISIONAL);
	e->modelled = row && (row->flags & ENERGY_PAGE_MODELLED);
	for (int i = 0; i < ENERGY_PAGE_DOMAINS; i++) {
		bool in_total = node->total_mask >> i & 1;
		/* psys contains package and usually is not part of the total */
		if (i == ENERGY_PAGE_PSYS && !in_total)
			continue;
		take_domain(&e->domains[i], node, row, (enum energy_page_domain)i,
			    e->uj);
		if (in_total && (node->flags[i] & ENERGY_PAGE_MODELLED))
			e->modelled = true;
	}
	e->emission_mg_per_kwh = node->emission_mg_per_kwh;
	copy_name(e->emission_provider, node->emission_provider);
}

void report_no_energy(struct step_report_energy *e, int rc)
{
	*e = (struct step_report_energy){0};
	switch (rc) {
	case -ENOENT:
		e->unknown = "ceemsd does not measure any on this node";
		break;
	case -ENODATA:
		e->unknown = "nothing has been measured yet";
		break;
	default:
		e->unknown = "ceemsd's energy page cannot be read";
		break;
	}
}

/* ---- the hint -------------------------------------------------------------------- */

static bool wasted_memory(const struct step_report *r)
{
	return r->has_memory && r->memory_asked_bytes / 4 > r->memory_peak_bytes &&
	       r->memory_asked_bytes - r->memory_peak_bytes >= HINT_MIN_UNUSED_BYTES;
}

enum report_hint report_hint(const struct step_report *r)
{
	bool script =
		r->step == RECORD_STEP_BATCH || r->step == RECORD_STEP_INTERACTIVE;
	uint64_t used = cpu_permille(r);
	if (r->oom_kills)
		return HINT_KILLED;
	if (r->wall_ns < HINT_MIN_NS)
		return HINT_NONE;
	/* a script that only starts steps wastes nothing: they use its CPUs */
	bool known = r->has_cpu && r->cpus && !(script && used < 50);
	if (known && used < 500 && r->cpus > 1)
		return HINT_CPUS;
	if (known && used < 50)
		return HINT_IDLE;
	if (wasted_memory(r) && !(script && used < 50))
		return HINT_MEMORY;
	return HINT_NONE;
}

/* The peak plus a fifth, rounded up to 16 MiB */
static uint64_t enough_memory(uint64_t peak)
{
	uint64_t step = UINT64_C(16) << 20;
	return (peak + peak / 5 + step - 1) / step * step;
}

static void put_hint(struct buf *b, const struct step_report *r)
{
	uint64_t busy = busy_mcpu(r);
	switch (report_hint(r)) {
	case HINT_NONE:
		return;
	case HINT_KILLED:
		buf_put_u64(b, r->oom_kills);
		buf_puts(b, r->oom_kills == 1 ? " process was" : " processes were");
		buf_puts(b, " killed for memory: ask for more with --mem");
		return;
	case HINT_CPUS:
		put_short(b, busy, 3);
		buf_printf(b, " of %u CPUs were busy on average: ", r->cpus);
		buf_put_u64(b, busy < 1000 ? 1 : (busy + 999) / 1000);
		buf_puts(b, " would have been enough");
		return;
	case HINT_IDLE:
		buf_puts(b, "the CPU was idle ");
		buf_put_u64(b, 100 - (cpu_permille(r) + 9) / 10);
		buf_puts(b, " % of the time: what was it waiting for?");
		return;
	case HINT_MEMORY:
		put_bytes(b, enough_memory(r->memory_peak_bytes));
		buf_puts(b, " of memory would have been enough");
		return;
	}
}

/* ---- text ------------------------------------------------------------------------ */

static void put_domain(struct buf *b, const struct step_report_energy *e, int i)
{
	const struct report_domain *d = &e->domains[i];
	buf_puts(b, domain_names[i]);
	if (d->has_uj) {
		buf_putc(b, ' ');
		put_short(b, nano_wh(d->uj), 9);
	}
	if (!d->source[0])
		return;
	buf_printf(b, " (%s%s)", d->source,
		   d->flags & ENERGY_PAGE_STALE ? ", does not answer" : "");
}

/* Domains in the total, or the others; "other" alone is omitted. */
static void put_domains(struct buf *b, const struct step_report_energy *e,
			bool in_total, const char *before)
{
	bool any = false;
	for (int i = 0; i < ENERGY_PAGE_DOMAINS; i++) {
		if (!e->domains[i].there || (e->total_mask >> i & 1) != in_total ||
		    (i == ENERGY_PAGE_OTHER && !any))
			continue;
		any = true;
		buf_puts(b, before);
		put_domain(b, e, i);
		before = ", ";
	}
}

static void put_energy(struct buf *b, const struct step_report_energy *e)
{
	buf_puts(b, "  energy     ");
	if (e->unknown) {
		buf_printf(b, "not known: %s\n", e->unknown);
		return;
	}
	put_short(b, nano_wh(e->uj), 9);
	buf_printf(b, " Wh%s%s", e->provisional ? ", provisional" : "",
		   e->modelled ? ", modelled" : "");
	put_domains(b, e, true, ": ");
	put_domains(b, e, false, "; of that ");
	if (e->stopped_s) {
		buf_puts(b, "; without the last ");
		buf_put_u64(b, e->stopped_s);
		buf_puts(b, " s, since when ceemsd has stopped");
	}
	buf_puts(b, "\n  emissions  ");
	if (!e->emission_mg_per_kwh) {
		buf_puts(b, "not known: no provider of emission factors\n");
		return;
	}
	put_short(b, emitted_nanograms(e->uj, e->emission_mg_per_kwh), 9);
	buf_puts(b, " g CO2e at ");
	put_short(b, e->emission_mg_per_kwh, 3);
	buf_printf(b, " g/kWh (%s)\n", e->emission_provider);
}

static void put_cpu(struct buf *b, const struct step_report *r)
{
	buf_puts(b, "  CPU        ");
	if (!r->has_cpu) {
		buf_puts(b, "not known\n");
		return;
	}
	put_bill_time(b, r->cpu_ns);
	if (r->cpus) {
		buf_printf(b, " on %u CPU%s, ", r->cpus, r->cpus == 1 ? "" : "s");
		put_short(b, cpu_permille(r), 1);
		buf_puts(b, " % busy");
	}
	buf_putc(b, '\n');
}

static void put_memory(struct buf *b, const struct step_report *r)
{
	buf_puts(b, "  memory     ");
	if (!r->has_memory) {
		buf_puts(b, "not known\n");
		return;
	}
	put_bytes(b, r->memory_peak_bytes);
	buf_puts(b, " at most");
	if (r->memory_asked_bytes) {
		buf_puts(b, ", of ");
		put_bytes(b, r->memory_asked_bytes);
		buf_puts(b, " asked for (");
		put_short(b,
			  scale_u64(r->memory_peak_bytes, 1000, r->memory_asked_bytes),
			  1);
		buf_puts(b, " %)");
	}
	buf_putc(b, '\n');
}

/* "about": they are of the last time that ceemsd wrote them down */
static void put_pair(struct buf *b, const char *what, const char *one, uint64_t a,
		     const char *other, uint64_t c)
{
	buf_printf(b, "  %-10s about ", what);
	put_bytes(b, a);
	buf_printf(b, " %s, ", one);
	put_bytes(b, c);
	buf_printf(b, " %s\n", other);
}

static void put_step_counts(struct buf *b, const struct step_counts *c)
{
	const uint64_t *v = c->values;

	if (c->known & COUNTS_HAS_FILES)
		put_pair(b, "files", "read", v[COUNTS_READ_BYTES], "written",
			 v[COUNTS_WRITE_BYTES]);
	if (c->known & COUNTS_HAS_NETWORK)
		put_pair(b, "network", "received", v[COUNTS_RX_BYTES], "sent",
			 v[COUNTS_TX_BYTES]);
}

/* Of the whole job, whose steps share its GPUs */
static void put_gpus(struct buf *b, const struct step_report *r)
{
	const uint64_t *v = r->counts.values;

	if (!r->has_gpus)
		return;
	buf_puts(b, "  GPU        ");
	if (!(r->counts.known & (COUNTS_HAS_GPU_BUSY | COUNTS_HAS_GPU_MEMORY)))
		buf_puts(b, "not known");
	if (r->counts.known & COUNTS_HAS_GPU_BUSY) {
		buf_puts(b, "about ");
		put_short(b,
			  scale_u64(v[COUNTS_GPU_BUSY_NS], 1000, v[COUNTS_GPU_READ_NS]),
			  1);
		buf_puts(b, " % busy, idle for ");
		put_bill_time(b, v[COUNTS_GPU_IDLE_NS]);
		if (r->counts.known & COUNTS_HAS_GPU_MEMORY)
			buf_puts(b, ", ");
	}
	if (r->counts.known & COUNTS_HAS_GPU_MEMORY) {
		put_bytes(b, v[COUNTS_GPU_MEMORY_BYTES]);
		buf_puts(b, " of memory at most");
	}
	buf_putc(b, '\n');
}

static void put_cycles(struct buf *b, const struct step_report *r)
{
	const uint64_t *v = r->counts.values;

	if (!(r->counts.known & COUNTS_HAS_CYCLES) || !v[COUNTS_CYCLES] ||
	    !v[COUNTS_EVENTS_NS])
		return;
	buf_puts(b, "  cycles     about ");
	put_short(b, scale_u64(v[COUNTS_INSTRUCTIONS], 100, v[COUNTS_CYCLES]), 2);
	buf_puts(b, " instructions per cycle at ");
	put_short(b, scale_u64(v[COUNTS_CYCLES], 100, v[COUNTS_EVENTS_NS]), 2);
	buf_puts(b, " GHz");
	/* what is missing at the end has not been written down yet */
	if (r->has_cpu && v[COUNTS_EVENTS_NS] < r->cpu_ns / 100 * 98) {
		buf_puts(b, ", counted in ");
		buf_put_u64(b, scale_u64(v[COUNTS_EVENTS_NS], 100, r->cpu_ns));
		buf_puts(b, " % of its CPU time");
	}
	buf_putc(b, '\n');
}

static uint64_t hot_permille(const struct hot_page_row *hot, uint32_t i)
{
	return scale_u64(hot->functions[i].samples, 1000, hot->samples);
}

static void put_functions(struct buf *b, const struct hot_page_row *hot)
{
	const char *before = "  functions  ";

	for (uint32_t i = 0; hot->samples && i < hot->count; i++) {
		buf_puts(b, before);
		put_short(b, hot_permille(hot, i), 1);
		buf_printf(b, " %%  %s\n", hot->functions[i].name);
		before = "             ";
	}
}

void report_text(const struct step_report *r, struct buf *b)
{
	char name[16];
	buf_printf(b, "ceems: job %u, step %s", r->job,
		   record_step_name(r->step, name));
	if (r->nodes > 1)
		buf_printf(b, ", node 1 of %u", r->nodes);
	buf_puts(b, "\n  time       ");
	put_bill_time(b, r->wall_ns);
	buf_putc(b, '\n');
	put_cpu(b, r);
	put_memory(b, r);
	put_step_counts(b, &r->counts);
	put_cycles(b, r);
	put_gpus(b, r);
	put_functions(b, &r->hot);
	put_energy(b, &r->energy);
	if (report_hint(r) != HINT_NONE) {
		buf_puts(b, "  hint       ");
		put_hint(b, r);
		buf_putc(b, '\n');
	}
	if (r->step == RECORD_STEP_BATCH) /* srun's steps are not in it */
		buf_printf(b, "  all steps  cacct --job %u\n", r->job);
	else if (r->nodes > 1)
		buf_printf(b, "  all nodes  cacct --job %u\n", r->job);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void put_bill_key(struct buf *b, const char *key)
{
	buf_printf(b, ",\"%s\":", key);
}

static void put_scaled(struct buf *b, const char *key, bool known, uint64_t v,
		       unsigned decimals)
{
	put_bill_key(b, key);
	if (known)
		buf_put_scaled(b, v, decimals);
	else
		buf_puts(b, "null");
}

static void put_bill_text(struct buf *b, const char *key, const char *text)
{
	put_bill_key(b, key);
	if (text && *text)
		buf_put_json(b, text, strlen(text));
	else
		buf_puts(b, "null");
}

static void put_bill_flag(struct buf *b, const char *key, bool v)
{
	put_bill_key(b, key);
	buf_puts(b, v ? "true" : "false");
}

static void json_domain(struct buf *b, const struct step_report_energy *e, int i)
{
	const struct report_domain *d = &e->domains[i];
	buf_printf(b, "{\"domain\":\"%s\"", domain_names[i]);
	put_bill_text(b, "source", d->source);
	put_scaled(b, "wh", d->has_uj, nano_wh(d->uj), 9);
	put_bill_flag(b, "in_total", e->total_mask >> i & 1);
	put_bill_flag(b, "modelled", d->flags & ENERGY_PAGE_MODELLED);
	put_bill_flag(b, "stale", d->flags & ENERGY_PAGE_STALE);
	buf_putc(b, '}');
}

static void json_energy(struct buf *b, const struct step_report_energy *e)
{
	put_bill_text(b, "energy_unknown", e->unknown);
	put_bill_key(b, "energy");
	if (e->unknown) {
		buf_puts(b, "null,\"emissions\":null");
		return;
	}
	buf_puts(b, "{\"wh\":");
	buf_put_scaled(b, nano_wh(e->uj), 9);
	put_scaled(b, "joules", true, e->uj, 6);
	put_bill_flag(b, "provisional", e->provisional);
	put_bill_flag(b, "modelled", e->modelled);
	put_scaled(b, "stopped_seconds", true, e->stopped_s, 0);
	buf_puts(b, ",\"domains\":[");
	const char *before = "";
	for (int i = 0; i < ENERGY_PAGE_DOMAINS; i++) {
		if (!e->domains[i].there)
			continue;
		buf_puts(b, before);
		json_domain(b, e, i);
		before = ",";
	}
	buf_puts(b, "]},\"emissions\":");
	if (!e->emission_mg_per_kwh) {
		buf_puts(b, "null");
		return;
	}
	buf_puts(b, "{\"co2e_grams\":");
	buf_put_scaled(b, emitted_nanograms(e->uj, e->emission_mg_per_kwh), 9);
	put_scaled(b, "grams_per_kwh", true, e->emission_mg_per_kwh, 3);
	put_bill_text(b, "provider", e->emission_provider);
	buf_putc(b, '}');
}

/* Only what is known; a user of --ceems-report=json finds no "counts" elsewhere. */
static void json_counts(struct buf *b, const struct step_counts *c)
{
	static const struct {
		uint64_t has;
		const char *name;
	} values[COUNTS_VALUES] = {
		{COUNTS_HAS_FILES, "read_bytes"},
		{COUNTS_HAS_FILES, "read_calls"},
		{COUNTS_HAS_FILES, "write_bytes"},
		{COUNTS_HAS_FILES, "write_calls"},
		{COUNTS_HAS_NETWORK, "net_rx_bytes"},
		{COUNTS_HAS_NETWORK, "net_tx_bytes"},
		{COUNTS_HAS_CYCLES, "cpu_cycles"},
		{COUNTS_HAS_CYCLES, "instructions"},
		{COUNTS_HAS_CYCLES, "events_enabled_ns"},
		{COUNTS_HAS_GPU_BUSY, "gpu_read_ns"},
		{COUNTS_HAS_GPU_BUSY, "gpu_busy_ns"},
		{COUNTS_HAS_GPU_BUSY, "gpu_idle_ns"},
		{COUNTS_HAS_GPU_MEMORY, "gpu_memory_peak_bytes"},
	};
	const char *sep = "{";

	if (!c->known)
		return;
	put_bill_key(b, "counts");
	for (unsigned i = 0; i < COUNTS_VALUES; i++) {
		if (!(c->known & values[i].has))
			continue;
		buf_printf(b, "%s\"%s\":%llu", sep, values[i].name,
			   (unsigned long long)c->values[i]);
		sep = ",";
	}
	buf_putc(b, '}');
}

/* Only where the step asked for a profile */
static void json_functions(struct buf *b, const struct hot_page_row *hot)
{
	if (!hot->samples || !hot->hz)
		return;
	put_scaled(b, "sampled_cpu_seconds", true,
		   scale_u64(hot->samples, 1000, hot->hz), 3);
	put_bill_key(b, "functions");
	for (uint32_t i = 0; i < hot->count; i++) {
		buf_puts(b, i ? ",{\"self\":" : "[{\"self\":");
		buf_put_scaled(b, hot_permille(hot, i), 3);
		put_bill_text(b, "name", hot->functions[i].name);
		buf_putc(b, '}');
	}
	buf_puts(b, hot->count ? "]" : "[]");
}

void report_json(const struct step_report *r, struct buf *b)
{
	char name[16];
	buf_printf(b,
		   "{\"ceems_report\":1,\"job\":%u,\"step\":\"%s\",\"node\":1,"
		   "\"nodes\":%u",
		   r->job, record_step_name(r->step, name), r->nodes);
	put_scaled(b, "wall_seconds", true, r->wall_ns, 9);
	put_scaled(b, "cpu_seconds", r->has_cpu, r->cpu_ns, 9);
	put_scaled(b, "cpus", r->cpus, r->cpus, 0);
	put_scaled(b, "cpu_efficiency", r->has_cpu && r->cpus, cpu_permille(r), 3);
	put_scaled(b, "memory_peak_bytes", r->has_memory, r->memory_peak_bytes, 0);
	put_scaled(b, "memory_asked_bytes", r->memory_asked_bytes,
		   r->memory_asked_bytes, 0);
	put_scaled(b, "oom_kills", true, r->oom_kills, 0);
	json_counts(b, &r->counts);
	json_functions(b, &r->hot);
	json_energy(b, &r->energy);
	auto_buf struct buf hint = BUF_INIT;
	put_hint(&hint, r);
	put_bill_text(b, "hint", hint.data);
	buf_puts(b, "}\n");
}
