/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel counted for a unit: facts, and tables of its mounts and nodes. */
#include "cli/cacct/report_counts.h"

#include <math.h>
#include <string.h>

#include "cli/cacct/columns.h"
#include "cli/cacct/report.h"
#include "cli/cacct/text.h"

/* A column of both tables */
struct place_column {
	const char *title; /* NULL: none */
	bool bytes;
	const char *from, *and_from; /* which is added, */
	const char *per;             /* and by which it is divided */
};

static const struct place_column mount_columns[REPORT_AMOUNTS] = {
	{"Read", true, "read_bytes", NULL, NULL},
	{"Calls", false, "read_calls", NULL, NULL},
	{"Failed", false, "read_errors", NULL, NULL},
	{"Written", true, "write_bytes", NULL, NULL},
	{"Calls", false, "write_calls", NULL, NULL},
	{"Failed", false, "write_errors", NULL, NULL},
};
static const struct place_column node_columns[REPORT_AMOUNTS] = {
	{"Read", true, "counts.read_bytes", NULL, NULL},
	{"Written", true, "counts.write_bytes", NULL, NULL},
	{"Received", true, "counts.net_rx_bytes", NULL, NULL},
	{"Sent", true, "counts.net_tx_bytes", NULL, NULL},
	{"Faults", false, "counts.minor_faults", "counts.major_faults", NULL},
	{"Switches", false, "counts.context_switches", NULL, NULL},
	{"IPC", false, "counts.instructions", NULL, "counts.cpu_cycles"},
};

static double read_amount(struct json_object *o, const struct place_column *c)
{
	double v = c->title ? unit_json_number(o, c->from) : NAN;

	if (c->title && c->and_from)
		v += unit_json_number(o, c->and_from);
	if (!c->title || !c->per)
		return v;
	double per = unit_json_number(o, c->per);
	return per > 0 ? v / per : NAN;
}

static void read_places(struct json_object *detail, const char *list_name,
			const char *name, const struct place_column *columns,
			struct report_places *ret)
{
	struct json_object *list = unit_json_at(detail, list_name);
	bool is_list = list && json_object_is_type(list, json_type_array);
	size_t n = is_list ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < n && ret->count < REPORT_PLACES_MAX; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		struct report_place *p = &ret->place[ret->count];
		if (!o || !json_object_is_type(o, json_type_object))
			continue;
		p->name = unit_json_text(o, name);
		for (size_t c = 0; c < REPORT_AMOUNTS; c++)
			p->amount[c] = read_amount(o, &columns[c]);
		ret->count++;
	}
}

void report_read_counts(struct cacct_report *r, struct json_object *detail)
{
	read_places(detail, "mounts", "path", mount_columns, &r->mounts);
	read_places(detail, "node_counts", "node", node_columns, &r->nodes);
}

/* ---- facts ----------------------------------------------------------------------- */

static void say_moved(struct buf *t, const char *verb, double bytes, double calls)
{
	buf_printf(t, "%s%s ", t->len ? ", " : "", verb);
	report_put_bytes(t, bytes);
	buf_printf(t, " in %.0f call%s", calls, calls == 1 ? "" : "s");
}

void report_say_files(const double *n, struct buf *t)
{
	double failed = n[UNIT_FILE_READ_ERRORS] + n[UNIT_FILE_WRITE_ERRORS];

	if (isnan(n[UNIT_FILE_READ_BYTES] + n[UNIT_FILE_WRITE_BYTES]))
		return;
	say_moved(t, "read", n[UNIT_FILE_READ_BYTES], n[UNIT_FILE_READS]);
	say_moved(t, "written", n[UNIT_FILE_WRITE_BYTES], n[UNIT_FILE_WRITES]);
	if (failed > 0)
		buf_printf(t, ", %.0f failed", failed);
	if (n[UNIT_FILE_OPENS] > 0)
		buf_printf(t, ", %.0f opened", n[UNIT_FILE_OPENS]);
}

void report_say_resent(const double *n, struct buf *t)
{
	if (n[UNIT_NET_RESENT_PACKETS] > 0)
		buf_printf(t, "%s%.0f segment%s sent again", t->len ? ", " : "",
			   n[UNIT_NET_RESENT_PACKETS],
			   n[UNIT_NET_RESENT_PACKETS] == 1 ? "" : "s");
}

void report_say_events(const double *n, struct buf *t)
{
	double faults = n[UNIT_MINOR_FAULTS] + n[UNIT_MAJOR_FAULTS];

	if (isnan(faults))
		return;
	buf_printf(t, "%.0f page faults (%.0f major), ", faults, n[UNIT_MAJOR_FAULTS]);
	buf_printf(t, "%.0f switches, %.0f migrations", n[UNIT_SWITCHES],
		   n[UNIT_MIGRATIONS]);
}

static void say_share(struct buf *t, double ratio, const char *what)
{
	if (!isnan(ratio))
		buf_printf(t, ", %.1f%% of %s", 100 * ratio, what);
}

static void say_figures(const double *n, struct buf *t)
{
	if (!isnan(n[UNIT_GFLOPS]))
		buf_printf(t, "%s%.2f GFLOP/s", t->len ? ", " : "", n[UNIT_GFLOPS]);
	if (isnan(n[UNIT_DRAM_READ_BYTES]))
		return;
	buf_puts(t, t->len ? ", " : "");
	report_put_bytes(t, n[UNIT_DRAM_READ_BYTES]);
	buf_puts(t, " read from memory");
}

void report_say_cycles(const double *n, struct buf *t)
{
	if (!isnan(n[UNIT_IPC]))
		buf_printf(t, "%.2f instructions per cycle", n[UNIT_IPC]);
	if (t->len && n[UNIT_FREQUENCY_GHZ] > 0)
		buf_printf(t, " at %.2f GHz", n[UNIT_FREQUENCY_GHZ]);
	if (t->len) {
		say_share(t, n[UNIT_CACHE_MISS_RATIO],
			  "the last cache's accesses missed");
		say_share(t, n[UNIT_BRANCH_MISS_RATIO], "branches predicted wrongly");
	}
	say_figures(n, t);
	if (t->len && n[UNIT_EVENTS_RATIO] < 0.99)
		buf_printf(t, ", counted in %.0f%% of its CPU time",
			   100 * n[UNIT_EVENTS_RATIO]);
}

/* Whoever waits for memory executes little, has accesses to the last cache that miss,
 * and not a few of them. One access to memory takes some 300 cycles. */
#define WAITS_IPC 0.5
#define WAITS_MISS_RATIO 0.2
#define WAITS_MISSES_BY_CYCLE (1.0 / 3000)

size_t report_put_memory_hint(const double *n, struct buf *ret)
{
	if (!(n[UNIT_IPC] < WAITS_IPC) || !(n[UNIT_EVENTS_RATIO] > 0.5) ||
	    !(n[UNIT_CACHE_MISS_RATIO] > WAITS_MISS_RATIO) ||
	    !(n[UNIT_CACHE_MISSES] > WAITS_MISSES_BY_CYCLE * n[UNIT_CYCLES]))
		return 0;
	buf_printf(ret, "Its CPUs waited for memory: %.2f instructions per cycle.",
		   n[UNIT_IPC]);
	return 1;
}

/* A million calls of less than a page: each costs more than what it moves. */
#define TINY_BYTES 4096
#define TINY_CALLS 1e6

static size_t put_tiny_hint(struct buf *out, const char *verb, double bytes,
			    double calls)
{
	if (!(calls > TINY_CALLS) || !(bytes < TINY_BYTES * calls))
		return 0;
	buf_printf(out, "It %s %.1f million times, %.0f bytes each: ", verb,
		   calls / 1e6, bytes / calls);
	buf_puts(out, "a larger buffer would help.");
	return 1;
}

size_t report_put_file_hints(const double *n, struct buf *ret)
{
	size_t h = put_tiny_hint(&ret[0], "read", n[UNIT_FILE_READ_BYTES],
				 n[UNIT_FILE_READS]);

	return h + put_tiny_hint(&ret[h], "wrote", n[UNIT_FILE_WRITE_BYTES],
				 n[UNIT_FILE_WRITES]);
}

/* ---- tables ---------------------------------------------------------------------- */

static void put_amount(struct buf *out, const struct place_column *c, double v)
{
	if (isnan(v))
		return;
	if (c->bytes)
		report_put_bytes(out, v);
	else if (c->per)
		buf_printf(out, "%.2f", v);
	else
		buf_printf(out, "%.0f", v);
}

static const char *mount_name(const struct report_place *m)
{
	return m->name && *m->name ? m->name : "(others)";
}

void report_put_mounts_text(const struct cacct_report *r, struct buf *out)
{
	static const int widths[REPORT_AMOUNTS] = {10, 9, 7, 10, 9, 7, 0};

	if (!r->mounts.count)
		return;
	buf_puts(out, "\n  Mount               ");
	for (size_t c = 0; c < REPORT_AMOUNTS && mount_columns[c].title; c++)
		buf_printf(out, " %*s", widths[c], mount_columns[c].title);
	for (size_t i = 0; i < r->mounts.count; i++) {
		buf_puts(out, "\n  ");
		text_put_field(out, mount_name(&r->mounts.place[i]), 20, true);
		for (size_t c = 0; c < REPORT_AMOUNTS && mount_columns[c].title; c++) {
			auto_buf struct buf cell = BUF_INIT;
			put_amount(&cell, &mount_columns[c],
				   r->mounts.place[i].amount[c]);
			buf_putc(out, ' ');
			text_put_field(out, cell.data ? cell.data : "",
				       (size_t)widths[c], false);
		}
	}
	buf_putc(out, '\n');
}

static void put_html_row(const char *name, const struct place_column *columns,
			 const double *amount, struct buf *out)
{
	buf_puts(out, "<tr><td>");
	text_put(out, TEXT_HTML, name);
	buf_puts(out, "</td>");
	for (size_t c = 0; c < REPORT_AMOUNTS && columns[c].title; c++) {
		buf_puts(out, "<td class=\"n\">");
		put_amount(out, &columns[c], amount[c]);
		buf_puts(out, "</td>");
	}
	buf_puts(out, "</tr>\n");
}

static void put_html_head(const char *title, const char *first,
			  const struct place_column *columns, struct buf *out)
{
	buf_printf(out, "<h2>%s</h2>\n<table>\n<tr><th>%s</th>", title, first);
	for (size_t c = 0; c < REPORT_AMOUNTS && columns[c].title; c++)
		buf_printf(out, "<th class=\"n\">%s</th>", columns[c].title);
	buf_puts(out, "</tr>\n");
}

/* Over the nodes that know it */
static void put_spread(const struct report_places *nodes, struct buf *out)
{
	double least[REPORT_AMOUNTS], mean[REPORT_AMOUNTS], most[REPORT_AMOUNTS];

	for (size_t c = 0; c < REPORT_AMOUNTS; c++) {
		double sum = 0, known = 0;
		least[c] = most[c] = NAN;
		for (size_t i = 0; i < nodes->count; i++) {
			double v = nodes->place[i].amount[c];
			least[c] = fmin(least[c], v);
			most[c] = fmax(most[c], v);
			sum += isnan(v) ? 0 : v;
			known += !isnan(v);
		}
		mean[c] = known > 0 ? sum / known : NAN;
	}
	put_html_row("least", node_columns, least, out);
	put_html_row("mean", node_columns, mean, out);
	put_html_row("most", node_columns, most, out);
}

void report_put_counts_html(const struct cacct_report *r, struct buf *out)
{
	if (r->mounts.count) {
		put_html_head("Files by mount", "Mount", mount_columns, out);
		for (size_t i = 0; i < r->mounts.count; i++)
			put_html_row(mount_name(&r->mounts.place[i]), mount_columns,
				     r->mounts.place[i].amount, out);
		buf_puts(out, "</table>\n");
	}
	if (!r->nodes.count)
		return;
	put_html_head("Files, network and events by node", "Node", node_columns, out);
	for (size_t i = 0; i < r->nodes.count; i++)
		put_html_row(r->nodes.place[i].name ? r->nodes.place[i].name : "?",
			     node_columns, r->nodes.place[i].amount, out);
	if (r->nodes.count > 1)
		put_spread(&r->nodes, out);
	buf_puts(out, "</table>\n");
}
