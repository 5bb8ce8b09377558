/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as a single file: no script, no external font or picture, and a content
 * policy that would not load any. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/columns.h"
#include "cli/cacct/report.h"
#include "cli/cacct/svg.h"
#include "cli/cacct/text.h"

static const char head_text[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n<title>";
static const char style_text[] =
	"</title>\n<style>\n"
	":root{--ink:#1d2733;--soft:#6b7785;--rule:#dde3ea;--bg:#fff;--a:#1f6fb2;"
	"--b:#d9822b;--c:#4c9a5b;--d:#8e5bb0;--bad:#b3261e;--good:#2e7d32}\n"
	"@media (prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#95a1b0;"
	"--rule:#33404e;--bg:#151b22;--a:#5aa9e6;--b:#eda65a;--c:#7cc48b;--d:#b996d6;"
	"--bad:#f28b82;--good:#81c995}}\n"
	"body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);"
	"max-width:800px;margin:2em auto;padding:0 1em}\n"
	"h1{font-size:1.5em;margin:0}h2{font-size:1.05em;margin:1.6em 0 .4em}\n"
	".state{display:inline-block;padding:0 .6em;border-radius:.3em;color:var(--bg);"
	"background:var(--bad);font-size:.6em;vertical-align:middle}\n"
	".good{background:var(--good)}.soft,small{color:var(--soft)}p{margin:.2em 0}\n"
	"table{border-collapse:collapse;width:100%}td,th{padding:.3em .8em .3em 0;"
	"border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}\n"
	"th{font-weight:600}.n{text-align:right;font-variant-numeric:tabular-nums;"
	"white-space:nowrap}\n"
	".bar{display:inline-block;width:120px;height:.7em;background:var(--rule);"
	"border-radius:.2em;margin-right:.5em}.bar i{display:block;height:100%;"
	"background:var(--a);border-radius:.2em}.pc{display:inline-block;width:4.5em}\n"
	"figure{margin:1.2em 0}figcaption span{margin-left:1em;color:var(--soft)}\n"
	"figcaption span:before{content:'';display:inline-block;width:1em;height:.25em;"
	"margin-right:.4em;vertical-align:middle;background:var(--a)}\n"
	"figcaption .key1:before{background:var(--b)}figcaption .key2:before{"
	"background:var(--c)}figcaption .key3:before{background:var(--d)}\n"
	"figcaption .keylimit:before{background:var(--soft)}\n"
	"svg{width:100%;height:auto;display:block}svg text{font:11px "
	"system-ui,sans-serif;"
	"fill:var(--soft)}\n"
	"svg path{fill:none;stroke-width:1.5}.axis{stroke:var(--soft)}"
	".grid{stroke:var(--rule)}.limit{stroke:var(--soft);stroke-dasharray:4 4}\n"
	"svg .fill0{fill:var(--a);fill-opacity:.15;stroke:none}.line0{stroke:var(--a)}"
	".line1{stroke:var(--b)}.line2{stroke:var(--c)}.line3{stroke:var(--d)}\n"
	"@media print{body{margin:0}figure{break-inside:avoid}}\n"
	"</style>\n</head>\n<body>\n";

static void put_escaped(struct buf *out, const char *s)
{
	text_put(out, TEXT_HTML, s ? s : "");
}

static void put_facts(const struct cacct_report *r, struct buf *out)
{
	buf_puts(out, "<table>\n");
	for (int f = 0; f < REPORT_FACTS; f++) {
		auto_buf struct buf text = BUF_INIT;
		const char *name;
		double ratio;
		report_fact(r, (enum report_fact)f, &name, &ratio, &text);
		if (!text.len)
			continue;
		buf_printf(out, "<tr><th>%s</th><td class=\"n\">", name);
		if (!isnan(ratio))
			buf_printf(out,
				   "<span class=\"bar\"><i "
				   "style=\"width:%.1f%%\"></i></span>"
				   "<span class=\"pc\">%.1f %%</span>",
				   100 * (ratio > 1 ? 1 : ratio), 100 * ratio);
		buf_puts(out, "</td><td>");
		put_escaped(out, text.data);
		buf_puts(out, "</td></tr>\n");
	}
	buf_puts(out, "</table>\n");
}

static void put_steps_as_html(const struct cacct_report *r, struct buf *out)
{
	static const char names[] = "elapsed,alloccpus,totalcpu,maxrss,"
				    "ioread,iowrite,energywh,exitcode";
	const struct column_style style = {.unit = 0};
	struct columns *columns = calloc(1, sizeof(*columns));

	if (!r->step_count || !columns || columns_parse(names, columns, NULL) < 0) {
		free(columns);
		return;
	}
	buf_puts(out, "<h2>Steps</h2>\n<table>\n<tr><th>Step</th><th>Name</th>");
	for (size_t i = 0; i < columns->count; i++)
		buf_printf(out, "<th class=\"n\">%s</th>", columns->use[i].title);
	buf_puts(out, "</tr>\n");
	for (size_t s = 0; s < r->step_count; s++) {
		buf_puts(out, "<tr><td>");
		put_escaped(out, report_step(&r->steps[s]));
		buf_puts(out, "</td><td>");
		put_escaped(out, report_step_name(&r->steps[s]));
		buf_puts(out, "</td>");
		for (size_t i = 0; i < columns->count; i++) {
			auto_buf struct buf cell = BUF_INIT;
			column_put(&cell, &columns->use[i], &r->steps[s], &style);
			buf_puts(out, "<td class=\"n\">");
			put_escaped(out, cell.data);
			buf_puts(out, "</td>");
		}
		buf_puts(out, "</tr>\n");
	}
	buf_puts(out, "</table>\n");
	free(columns);
}

/* A value of the series as steps; per second unless it is a level. */
static struct svg_step *steps_of(const struct series *s, enum series_value v,
				 bool level)
{
	struct svg_step *steps = calloc(s->count, sizeof(*steps));

	for (size_t i = 0; steps && i < s->count; i++) {
		const struct series_point *p = &s->points[i];
		steps[i] = (struct svg_step){p->t0_s, p->t1_s,
					     level ? p->value[v]
						   : p->value[v] / (p->t1_s - p->t0_s)};
	}
	return steps;
}

struct html_series {
	enum series_value value;
	const char *label;
};

static bool has_any(const struct series *s, enum series_value v)
{
	for (size_t i = 0; i < s->count; i++)
		if (!isnan(s->points[i].value[v]))
			return true;
	return false;
}

static void put_plot(const struct cacct_report *r, struct svg_plot *plot,
		     const struct html_series *wishes, size_t count, bool level,
		     struct buf *out)
{
	struct svg_line lines[4];
	struct svg_step *steps[4] = {NULL};
	const struct series *s = &r->series;
	size_t n = 0;

	for (size_t i = 0; i < count && n < 4; i++) {
		if (!has_any(s, wishes[i].value))
			continue;
		steps[n] = steps_of(s, wishes[i].value, level);
		if (!steps[n])
			break;
		lines[n] = (struct svg_line){wishes[i].label, steps[n], s->count};
		n++;
	}
	plot->lines = lines;
	plot->line_count = n;
	plot->t0_s = s->points[0].t0_s;
	plot->t1_s = s->points[s->count - 1].t1_s;
	if (n)
		svg_put(plot, out);
	plot->lines = NULL;
	plot->line_count = 0;
	for (size_t i = 0; i < n; i++)
		free(steps[i]);
}

static void put_plots(const struct cacct_report *r, struct buf *out)
{
	static const struct html_series
		cpu[] = {{SERIES_CPU_S, "in use"}},
		gpu[] = {{SERIES_GPU_BUSY_S, "busy"},
			 {SERIES_GPU_SM_S, "multiprocessors"},
			 {SERIES_GPU_TENSOR_S, "tensor cores"},
			 {SERIES_GPU_DRAM_S, "memory bandwidth"}},
		gpu_units[] = {{SERIES_GPU_OCCUPANCY_S, "warps"},
			       {SERIES_GPU_FP64_S, "FP64"},
			       {SERIES_GPU_FP32_S, "FP32"},
			       {SERIES_GPU_FP16_S, "FP16"}},
		gpu_memory[] = {{SERIES_GPU_MEMORY_MEAN_BYTES, "mean"}},
		memory[] = {{SERIES_MEMORY_MEAN_BYTES, "mean"},
			    {SERIES_MEMORY_PEAK_BYTES, "peak of one node"}},
		power[] = {{SERIES_TOTAL_J, "all"},
			   {SERIES_PACKAGE_J, "processors"},
			   {SERIES_GPU_J, "GPUs"},
			   {SERIES_DRAM_J, "memory"}},
		files[] = {{SERIES_IO_READ_BYTES, "read"},
			   {SERIES_IO_WRITE_BYTES, "written"}},
		net[] = {{SERIES_NET_RX_BYTES, "received"},
			 {SERIES_NET_TX_BYTES, "sent"}};
	const double *n = r->unit.number;
	struct svg_plot plot = {
		.title = "Power", .unit = "W", .base = 1000, .limit = NAN};

	if (!r->series.count)
		return;
	buf_puts(out, "<h2>Over time</h2>\n");
	put_plot(r, &plot, power, 4, false, out);
	plot = (struct svg_plot){.title = "CPUs",
				 .unit = "",
				 .limit = n[UNIT_CPUS],
				 .limit_label = "allocated"};
	put_plot(r, &plot, cpu, 1, false, out);
	plot = (struct svg_plot){.title = "Memory",
				 .unit = "B",
				 .base = 1024,
				 .limit = n[UNIT_MEMORY_BYTES],
				 .limit_label = "allocated"};
	put_plot(r, &plot, memory, 2, true, out);
	plot = (struct svg_plot){.title = "GPUs",
				 .unit = "",
				 .limit = n[UNIT_GPUS],
				 .limit_label = "allocated"};
	put_plot(r, &plot, gpu, 4, false, out);
	plot.title = "Warps and floating point units of GPUs";
	put_plot(r, &plot, gpu_units, 4, false, out);
	plot = (struct svg_plot){
		.title = "Memory of GPUs", .unit = "B", .base = 1024, .limit = NAN};
	put_plot(r, &plot, gpu_memory, 1, true, out);
	plot = (struct svg_plot){
		.title = "Files, per second", .unit = "B", .base = 1024, .limit = NAN};
	put_plot(r, &plot, files, 2, false, out);
	plot.title = "Network, per second";
	put_plot(r, &plot, net, 2, false, out);
}

void report_put_html(const struct cacct_report *r, struct buf *out)
{
	struct buf head[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
	struct buf hints[REPORT_HINTS_MAX] = {BUF_INIT};
	const char *state = r->unit.text[UNIT_STATE];
	bool good = unit_is_running(&r->unit) || (state && !strcmp(state, "COMPLETED"));

	report_head(r, &head[0], &head[1], &head[2]);
	buf_puts(out, head_text);
	put_escaped(out, head[0].data);
	buf_puts(out, style_text);
	buf_puts(out, "<h1>");
	put_escaped(out, head[0].data);
	buf_printf(out, " <span class=\"state%s\">", good ? " good" : "");
	put_escaped(out, state ? state : "UNKNOWN");
	buf_puts(out, "</span></h1>\n<p class=\"soft\">");
	put_escaped(out, head[1].data);
	buf_puts(out, "</p>\n<p class=\"soft\">");
	put_escaped(out, head[2].data);
	buf_puts(out, "</p>\n<h2>What it used</h2>\n");
	put_facts(r, out);
	size_t n = report_hints(r, hints);
	for (size_t i = 0; i < n; i++) {
		buf_puts(out, i ? "<li>" : "<h2>Worth a thought</h2>\n<ul>\n<li>");
		put_escaped(out, hints[i].data);
		buf_puts(out, i + 1 < n ? "</li>\n" : "</li>\n</ul>\n");
	}
	put_plots(r, out);
	flame_put_html(&r->flame, out);
	report_put_counts_html(r, out);
	put_steps_as_html(r, out);
	buf_puts(out, "<p><small>Made by cacct. Means over intervals; where nothing is "
		      "drawn nothing was "
		      "observed.</small></p>\n</body>\n</html>\n");
	for (size_t i = 0; i < 3; i++)
		buf_done(&head[i]);
	for (size_t i = 0; i < REPORT_HINTS_MAX; i++)
		buf_done(&hints[i]);
}
