/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts about a unit, and their form on a screen. In sentences, since this is for
 * whoever ran the job. */
#include "cli/cacct/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cacct/kind.h"
#include "cli/cacct/text.h"
#include "cli/cacct/when.h"

#define BAR 20
#define COLUMNS 80
#define SPARK 48 /* the line fits into 80 columns */

/* Advice has floors, below which a number would be true but useless. */
#define IDLE_RATIO 0.02
#define MEM_STEP (256.0 * 1048576)

void report_put_bytes(struct buf *out, double v)
{
	static const char units[] = " KMGTP";
	size_t u = 0;

	while (v >= 1024 && u + 2 < sizeof(units)) {
		v /= 1024;
		u++;
	}
	if (u)
		buf_printf(out, "%.1f %ciB", v, units[u]);
	else
		buf_printf(out, "%.0f B", v);
}

static void put_span(struct buf *out, double s)
{
	char text[WHEN_SIZE];

	when_print_span(when_seconds(s), text);
	buf_puts(out, text);
}

/* CPU time, with fractions below a minute. */
static void put_report_cpu_span(struct buf *out, double s)
{
	if (s < 59.995)
		buf_printf(out, "%.2f s", s);
	else
		put_span(out, s);
}

static void say_cpu(const double *n, struct buf *t)
{
	if (isnan(n[UNIT_CPU_S]) && isnan(n[UNIT_CPU_RATIO]))
		return;
	if (!isnan(n[UNIT_CPU_S])) {
		put_report_cpu_span(t, n[UNIT_CPU_S]);
		buf_puts(t, " used");
	}
	if (!isnan(n[UNIT_CPU_ALLOC_S])) {
		buf_puts(t, t->len ? " of " : "");
		put_span(t, n[UNIT_CPU_ALLOC_S]);
		buf_printf(t, " (%.12g CPU%s)", n[UNIT_CPUS],
			   n[UNIT_CPUS] <= 1 ? "" : "s");
	}
}

static void say_memory(const double *n, struct buf *t)
{
	if (!isnan(n[UNIT_MEMORY_PEAK_BYTES])) {
		report_put_bytes(t, n[UNIT_MEMORY_PEAK_BYTES]);
		buf_puts(t, n[UNIT_NODES] > 1 ? " at most on one node" : " at most");
	}
	if (!isnan(n[UNIT_MEMORY_MEAN_BYTES])) {
		buf_puts(t, t->len ? ", " : "");
		report_put_bytes(t, n[UNIT_MEMORY_MEAN_BYTES]);
		buf_puts(t, " on average");
	}
	if (t->len && n[UNIT_MEMORY_BYTES] > 0) {
		buf_puts(t, ", of ");
		report_put_bytes(t, n[UNIT_MEMORY_BYTES]);
	}
}

/* Means of the performance counters; units that were never used are left out. */
static void say_gpu_figures(const double *n, struct buf *t)
{
	static const struct {
		enum unit_number n;
		const char *name;
	} figures[] = {
		{UNIT_GPU_SM_RATIO, "SM"},     {UNIT_GPU_TENSOR_RATIO, "tensor"},
		{UNIT_GPU_FP64_RATIO, "FP64"}, {UNIT_GPU_FP32_RATIO, "FP32"},
		{UNIT_GPU_FP16_RATIO, "FP16"}, {UNIT_GPU_DRAM_RATIO, "DRAM"},
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (n[figures[i].n] >= 0.0005)
			buf_printf(t, ", %s %.1f%%", figures[i].name,
				   100 * n[figures[i].n]);
	}
}

static void say_gpu(const double *n, struct buf *t)
{
	if (!(n[UNIT_GPUS] > 0))
		return;
	buf_printf(t, "%.0f GPU%s", n[UNIT_GPUS], n[UNIT_GPUS] == 1 ? "" : "s");
	if (isnan(n[UNIT_GPU_RATIO]))
		buf_puts(t, ", use not known");
	if (n[UNIT_GPU_IDLE_S] > 0) {
		buf_puts(t, ", idle for ");
		put_span(t, n[UNIT_GPU_IDLE_S]);
	}
	if (!isnan(n[UNIT_GPU_MEMORY_PEAK_BYTES])) {
		buf_puts(t, ", memory ");
		report_put_bytes(t, n[UNIT_GPU_MEMORY_PEAK_BYTES]);
		buf_puts(t, n[UNIT_NODES] > 1 ? " at most on one node" : " at most");
	}
	say_gpu_figures(n, t);
}

static void say_energy(const struct unit *u, struct buf *t)
{
	static const struct {
		enum unit_number n;
		const char *name, *domain;
	} parts[] = {{UNIT_HOST_J, "host", "host"},
		     {UNIT_PACKAGE_J, "processors", "package"},
		     {UNIT_DRAM_J, "memory", "dram"},
		     {UNIT_GPU_J, "GPUs", "gpu"},
		     {UNIT_OTHER_J, "the rest", "other"}};
	const double *n = u->number;
	const char *sep = ": ";
	char source[32];

	if (isnan(n[UNIT_ENERGY_J]))
		return;
	text_put_wh(t, n[UNIT_ENERGY_J] / 3600);
	if (n[UNIT_ELAPSED_S] > 0)
		buf_printf(t, ", %.1f W on average",
			   n[UNIT_ENERGY_J] / n[UNIT_ELAPSED_S]);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (isnan(n[parts[i].n]))
			continue;
		unit_energy_source(u, parts[i].domain, source, sizeof(source));
		buf_printf(t, "%s%s%s%s%s ", sep, parts[i].name, *source ? " (" : "",
			   source, *source ? ")" : "");
		text_put_wh(t, n[parts[i].n] / 3600);
		/* the host's includes the others */
		sep = parts[i].n == UNIT_HOST_J ? "; " : ", ";
	}
}

static void say_emissions(const struct unit *u, struct buf *t)
{
	for (size_t i = 0; i < u->grams_count; i++) {
		buf_puts(t, i ? ", " : "");
		text_put_amount(t, u->grams[i].grams);
		buf_printf(t, " g CO2e (%s)", u->grams[i].provider);
	}
}

static void say_two(struct buf *t, const double *a, const double *b,
		    const char *names[2])
{
	if (!isnan(*a)) {
		buf_printf(t, "%s ", names[0]);
		report_put_bytes(t, *a);
	}
	if (!isnan(*b)) {
		buf_printf(t, "%s%s ", t->len ? ", " : "", names[1]);
		report_put_bytes(t, *b);
	}
}

void report_fact(const struct cacct_report *r, enum report_fact what,
		 const char **ret_name, double *ret_ratio, struct buf *t)
{
	static const char *const names[REPORT_FACTS] = {
		"CPU",     "Memory",  "GPU",    "Energy", "CO2e",    "Files",
		"Devices", "Network", "Events", "Cycles", "Coverage"};
	const struct unit *u = &r->unit;
	const double *n = u->number;

	*ret_name = names[what];
	*ret_ratio = NAN;
	switch (what) {
	case REPORT_CPU:
		say_cpu(n, t);
		*ret_ratio = n[UNIT_CPU_RATIO];
		break;
	case REPORT_MEMORY:
		say_memory(n, t);
		*ret_ratio = isnan(n[UNIT_MEMORY_PEAK_RATIO])
				     ? n[UNIT_MEMORY_RATIO]
				     : n[UNIT_MEMORY_PEAK_RATIO];
		break;
	case REPORT_GPU:
		say_gpu(n, t);
		*ret_ratio = n[UNIT_GPU_RATIO];
		break;
	case REPORT_ENERGY:
		say_energy(u, t);
		break;
	case REPORT_EMISSIONS:
		say_emissions(u, t);
		break;
	case REPORT_FILES:
		report_say_files(n, t);
		break;
	case REPORT_EVENTS:
		report_say_events(n, t);
		break;
	case REPORT_CYCLES:
		report_say_cycles(n, t);
		break;
	case REPORT_DEVICES:
		say_two(t, &n[UNIT_IO_READ_BYTES], &n[UNIT_IO_WRITE_BYTES],
			(const char *[2]){"read", "written"});
		break;
	case REPORT_NETWORK:
		say_two(t, &n[UNIT_NET_RX_BYTES], &n[UNIT_NET_TX_BYTES],
			(const char *[2]){"received", "sent"});
		report_say_resent(n, t);
		break;
	default:
		if (isnan(n[UNIT_COVERAGE]))
			buf_puts(t, "nothing of it was observed");
		else
			buf_printf(t, "%.1f%% of its time was observed",
				   100 * n[UNIT_COVERAGE]);
	}
}

/* A limit that ended it, of which there is no floor. */
static size_t put_limit_hint(const struct unit *u, struct buf *out)
{
	const char *state = u->text[UNIT_STATE];
	const double *n = u->number;

	if (state && strcmp(state, "OUT_OF_MEMORY") == 0) {
		buf_puts(out, "It ran out of memory");
		if (n[UNIT_NODES] == 1 && n[UNIT_MEMORY_BYTES] > 0) {
			buf_puts(out, " at ");
			report_put_bytes(out, n[UNIT_MEMORY_BYTES]);
		}
		buf_puts(out, ": ask for more (--mem).");
		return 1;
	}
	if (state && strcmp(state, "TIMEOUT") == 0) {
		buf_puts(out, "It reached its time limit");
		if (n[UNIT_LIMIT_S] > 0) {
			buf_puts(out, " of ");
			put_span(out, n[UNIT_LIMIT_S]);
		}
		buf_puts(out, ": ask for a longer --time, or let it save its state.");
		return 1;
	}
	return 0;
}

size_t report_hints(const struct cacct_report *r, struct buf ret[REPORT_HINTS_MAX])
{
	const struct unit *u = &r->unit;
	const double *n = u->number;
	size_t h = 0;

	/* what to ask for is Slurm's words */
	if (unit_is_running(u) || kind_of_manager(u->text[UNIT_MANAGER]) != KIND_JOB)
		return 0;
	h = put_limit_hint(u, &ret[h]);
	if (!(n[UNIT_ELAPSED_S] >= 60))
		return h; /* too short for other advice */
	if (n[UNIT_CPU_RATIO] < IDLE_RATIO)
		buf_puts(&ret[h++], "It waited nearly all the time: its CPUs had "
				    "nothing to do.");
	else if (n[UNIT_CPUS] > 1 && n[UNIT_CPU_RATIO] < 0.25)
		buf_printf(&ret[h++],
			   "About %.0f of %.0f CPUs had work to do: fewer would have "
			   "done.",
			   fmax(1, ceil(n[UNIT_CPU_RATIO] * n[UNIT_CPUS])),
			   n[UNIT_CPUS]);
	if (n[UNIT_NODES] == 1 && n[UNIT_MEMORY_BYTES] > (double)(1 << 30) &&
	    n[UNIT_MEMORY_PEAK_BYTES] < 0.5 * n[UNIT_MEMORY_BYTES]) {
		buf_puts(&ret[h], "Memory was never more than half used: --mem=");
		buf_printf(&ret[h++], "%.0fM would have left a fifth to spare.",
			   fmax(1, ceil(n[UNIT_MEMORY_PEAK_BYTES] * 1.25 / MEM_STEP)) *
				   MEM_STEP / 1048576);
	}
	if (n[UNIT_LIMIT_S] > 4 * n[UNIT_ELAPSED_S] && n[UNIT_LIMIT_S] > 3600) {
		buf_puts(&ret[h], "It took ");
		put_span(&ret[h], n[UNIT_ELAPSED_S]);
		buf_puts(&ret[h], " of ");
		put_span(&ret[h], n[UNIT_LIMIT_S]);
		buf_puts(&ret[h++], " allowed: a shorter --time may start sooner.");
	}
	h += report_put_file_hints(n, &ret[h]);
	h += report_put_memory_hint(n, &ret[h]);
	if (n[UNIT_GPUS] > 0 && n[UNIT_GPU_RATIO] < 0.25)
		buf_printf(&ret[h++], "GPUs were idle %.0f%% of the time.",
			   100 * (1 - n[UNIT_GPU_RATIO]));
	return h;
}

static void put_named(struct buf *out, const char *name, const char *value)
{
	if (value && *value)
		buf_printf(out, "%s%s %.100s", out->len ? ", " : "", name, value);
}

void report_head(const struct cacct_report *r, struct buf *title, struct buf *who,
		 struct buf *when)
{
	const struct unit *u = &r->unit;
	const enum kind kind = kind_of_manager(u->text[UNIT_MANAGER]);
	const double *n = u->number;
	char text[WHEN_SIZE];

	buf_printf(title, "%s %s", kind_title(kind), u->id);
	if (u->text[UNIT_NAME])
		buf_printf(title, "  %.100s", u->text[UNIT_NAME]);
	put_named(who, "user", u->text[UNIT_USER]);
	put_named(who, kind == KIND_JOB ? "account" : "project", u->text[UNIT_ACCOUNT]);
	put_named(who, "namespace", u->text[UNIT_NAMESPACE]);
	put_named(who, "flavour", u->text[UNIT_FLAVOUR]);
	put_named(who, "partition", u->text[UNIT_PARTITION]);
	put_named(who, "QOS", u->text[UNIT_QOS]);
	put_named(who, "on", u->text[UNIT_NODE_LIST]);
	put_named(who, "cluster", u->text[UNIT_CLUSTER]);
	if (isnan(n[UNIT_STARTED])) {
		buf_puts(when, "It never started");
		return;
	}
	if (unit_is_awaited(u)) {
		when_print((time_t)when_seconds(n[UNIT_ENDED_ON_NODES]), text);
		buf_printf(when, "Over on its nodes since %s; ", text);
		when_print((time_t)when_seconds(n[UNIT_AWAITED_UNTIL]), text);
		buf_printf(when, "Slurm's record is awaited until %s. ", text);
	}
	buf_puts(when, unit_is_running(u) ? "Running for " : "Ran ");
	put_span(when, n[UNIT_ELAPSED_S]);
	when_print((time_t)when_seconds(n[UNIT_STARTED]), text);
	buf_printf(when, ", from %s", text);
	if (!unit_is_running(u)) {
		when_print((time_t)when_seconds(n[UNIT_ENDED]), text);
		buf_printf(when, " to %s", text);
	}
	if (kind == KIND_JOB && n[UNIT_SUBMITTED] > 0 &&
	    n[UNIT_STARTED] > n[UNIT_SUBMITTED]) {
		buf_puts(when, ", after ");
		put_span(when, n[UNIT_STARTED] - n[UNIT_SUBMITTED]);
		buf_puts(when, " in the queue");
	}
}

/* ---- the screen ------------------------------------------------------------------ */

static void put_bar(const struct cacct_report *r, double ratio, struct buf *out)
{
	int full = (int)lround((ratio > 1 ? 1 : ratio) * BAR);

	for (int i = 0; i < BAR; i++)
		buf_puts(out, r->utf8 ? (i < full ? "\u2588" : "\u2591")
				      : (i < full ? "#" : "."));
	buf_printf(out, " %5.1f%%  ", 100 * ratio);
}

/* The value per second of the interval that contains t; NAN: none. */
static double rate_at(const struct series *s, enum series_value v, double t)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct series_point *p = &s->points[i];
		if (t >= p->t0_s && t < p->t1_s)
			return v == SERIES_MEMORY_MEAN_BYTES
				       ? p->value[v]
				       : p->value[v] / (p->t1_s - p->t0_s);
	}
	return NAN;
}

static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
				     "\u2585", "\u2586", "\u2587", "\u2588"};
static const char plain[] = ".:-=+*#@";

static void put_spark(const struct cacct_report *r, const char *name,
		      enum series_value v, const char *unit, struct buf *out)
{
	const struct series *s = &r->series;
	double t0 = s->points[0].t0_s, t1 = s->points[s->count - 1].t1_s;
	double rates[SPARK], most = 0;

	for (int i = 0; i < SPARK; i++) {
		rates[i] = rate_at(s, v, t0 + (t1 - t0) * (i + 0.5) / SPARK);
		if (rates[i] > most)
			most = rates[i];
	}
	if (!(most > 0))
		return;
	buf_printf(out, "  %-8s ", name);
	for (int i = 0; i < SPARK; i++) {
		int level = isnan(rates[i]) ? -1 : (int)(rates[i] / most * 7.999);
		if (level < 0)
			buf_putc(out, ' ');
		else if (r->utf8)
			buf_puts(out, blocks[level]);
		else
			buf_putc(out, plain[level]);
	}
	buf_puts(out, " ");
	if (v == SERIES_MEMORY_MEAN_BYTES)
		report_put_bytes(out, most);
	else
		buf_printf(out,
			   most < 0.1  ? "%.4f %s"
			   : most < 10 ? "%.2f %s"
				       : "%.0f %s",
			   most, unit);
	buf_puts(out, " at most\n");
}

/* A common time scale for all lines, and the meaning of a mark. */
static void put_scale(const struct cacct_report *r, struct buf *out)
{
	const struct series *s = &r->series;
	double t0 = s->points[0].t0_s, t1 = s->points[s->count - 1].t1_s;
	char from[WHEN_SIZE], to[WHEN_SIZE];

	when_print((time_t)when_seconds(t0), from);
	when_print((time_t)when_seconds(t1), to);
	buf_printf(out, "           %-*s%s\n           ", SPARK - (int)strlen(to), from,
		   to);
	for (size_t i = 0; i < 8; i++)
		if (r->utf8)
			buf_puts(out, blocks[i]);
		else
			buf_putc(out, plain[i]);
	buf_puts(out, " from 0 to highest; blank: not observed; one mark: ");
	put_report_cpu_span(out, (t1 - t0) / SPARK);
	buf_putc(out, '\n');
}

const char *report_step(const struct unit *step)
{
	const char *dot = strrchr(step->id, '.');

	return dot ? dot + 1 : step->id;
}

const char *report_step_name(const struct unit *step)
{
	const char *name = step->text[UNIT_NAME];

	return name && strcmp(name, report_step(step)) != 0 ? name : "";
}

static void put_steps_as_text(const struct cacct_report *r, struct buf *out)
{
	if (!r->step_count)
		return;
	buf_puts(out, "\n  Step                    Elapsed    CPU time  Most memory    "
		      "  Energy  "
		      "Exit\n");
	for (size_t i = 0; i < r->step_count; i++) {
		const struct unit *s = &r->steps[i];
		const double *n = s->number;
		const char *name = report_step_name(s);
		auto_buf struct buf step = BUF_INIT;
		struct buf cells[4] = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};
		if (!isnan(n[UNIT_ELAPSED_S]))
			put_span(&cells[0], n[UNIT_ELAPSED_S]);
		if (!isnan(n[UNIT_CPU_S]))
			put_report_cpu_span(&cells[1], n[UNIT_CPU_S]);
		if (!isnan(n[UNIT_MEMORY_PEAK_BYTES]))
			report_put_bytes(&cells[2], n[UNIT_MEMORY_PEAK_BYTES]);
		if (!isnan(n[UNIT_ENERGY_J]))
			text_put_wh(&cells[3], n[UNIT_ENERGY_J] / 3600);
		buf_printf(&step, "%s%s%s", report_step(s), *name ? " " : "", name);
		buf_puts(out, "  ");
		text_put_field(out, step.data ? step.data : "", 20, true);
		for (size_t c = 0; c < 4; c++) {
			buf_putc(out, ' ');
			text_put_field(out, cells[c].data ? cells[c].data : "",
				       c == 2 ? 12 : 11, false);
			buf_done(&cells[c]);
		}
		buf_puts(out, "  ");
		text_put(out, TEXT_PLAIN, s->text[UNIT_EXIT] ? s->text[UNIT_EXIT] : "");
		buf_putc(out, '\n');
	}
}

static void put_state(const struct cacct_report *r, struct buf *out)
{
	const struct unit *u = &r->unit;
	const char *state = u->text[UNIT_STATE] ? u->text[UNIT_STATE] : "UNKNOWN";
	bool good = strcmp(state, "COMPLETED") == 0 || unit_is_running(u);

	if (r->color)
		buf_puts(out, good ? "\033[1;32m" : "\033[1;31m");
	text_put(out, TEXT_PLAIN, state);
	if (r->color)
		buf_puts(out, "\033[0m");
	if (u->text[UNIT_EXIT] && strcmp(u->text[UNIT_EXIT], "0:0") != 0) {
		buf_puts(out, ", exit code ");
		text_put(out, TEXT_PLAIN, u->text[UNIT_EXIT]);
	}
}

/* A text that begins behind column at, in lines of 80 columns that break behind a
 * comma, a semicolon or a colon. */
static void put_in_lines(struct buf *out, const char *text, size_t at)
{
	auto_buf struct buf safe = BUF_INIT;
	size_t column = at;

	text_put(&safe, TEXT_PLAIN, text);
	for (const char *p = safe.data ? safe.data : ""; *p;) {
		size_t n = strcspn(p, ",;:");
		while (p[n] && p[n + 1] && p[n + 1] != ' ')
			n += 1 + strcspn(p + n + 1, ",;:");
		n += p[n] != '\0';
		if (column > at && column + 1 + n > COLUMNS) {
			buf_printf(out, "\n%*s", (int)at, "");
			column = at;
		} else if (column > at) {
			buf_putc(out, ' ');
			column++;
		}
		buf_put(out, p, n);
		column += n;
		p += n + strspn(p + n, " ");
	}
}

void report_put_text(const struct cacct_report *r, struct buf *out)
{
	struct buf head[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
	struct buf hints[REPORT_HINTS_MAX] = {BUF_INIT};

	report_head(r, &head[0], &head[1], &head[2]);
	if (r->color)
		buf_puts(out, "\033[1m");
	text_put(out, TEXT_PLAIN, head[0].data);
	buf_puts(out, r->color ? "\033[0m  " : "  ");
	put_state(r, out);
	for (size_t i = 1; i < 3; i++) {
		buf_puts(out, "\n  ");
		put_in_lines(out, head[i].data ? head[i].data : "", 2);
	}
	buf_puts(out, "\n\n");
	for (int f = 0; f < REPORT_FACTS; f++) {
		auto_buf struct buf text = BUF_INIT;
		const char *name;
		double ratio;
		report_fact(r, (enum report_fact)f, &name, &ratio, &text);
		if (!text.len)
			continue;
		buf_printf(out, "  %-8s ", name);
		if (!isnan(ratio))
			put_bar(r, ratio, out);
		put_in_lines(out, text.data, isnan(ratio) ? 11 : BAR + 20);
		buf_putc(out, '\n');
	}
	if (r->series.count > 1) {
		buf_putc(out, '\n');
		put_spark(r, "CPUs", SERIES_CPU_S, "in use", out);
		put_spark(r, "Memory", SERIES_MEMORY_MEAN_BYTES, "B", out);
		put_spark(r, "Power", SERIES_TOTAL_J, "W", out);
		put_scale(r, out);
	}
	report_put_mounts_text(r, out);
	put_steps_as_text(r, out);
	size_t n = report_hints(r, hints);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s  * %s\n", i ? "" : "\n", hints[i].data);
	if (r->more)
		buf_printf(out,
			   "\n  (and %" PRIu64
			   " more of that number: name one of them)\n",
			   r->more);
	for (size_t i = 0; i < 3; i++)
		buf_done(&head[i]);
	for (size_t i = 0; i < REPORT_HINTS_MAX; i++)
		buf_done(&hints[i]);
}
