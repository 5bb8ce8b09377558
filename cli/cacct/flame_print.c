/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flame graph on a terminal and on a page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/flame.h"
#include "cli/cacct/text.h"
#include "lib/cleanup.h"

#define PAGE_TOP 50u
#define WIDTH 760.0
#define ROW 17
#define LEAST_WIDTH 0.4 /* narrower bars are left out */
#define TEXT_LEAST 16.0 /* so is a name on a narrower one */
#define NAME_BYTES_MAX 200u

static double percent_of(const struct flame *f, uint64_t v)
{
	return f->ticks ? 100.0 * (double)v / (double)f->ticks : 0;
}

static void put_seconds_of(const struct flame *f, uint64_t v, struct buf *out)
{
	double s = f->tick_s * (double)v;

	if (s >= 3600)
		buf_printf(out, "%.0f h %02.0f min", floor(s / 3600),
			   floor(fmod(s, 3600) / 60));
	else if (s >= 60)
		buf_printf(out, "%.0f min %02.0f s", floor(s / 60), floor(fmod(s, 60)));
	else
		buf_printf(out, "%.2f s", s);
}

static const char *time_sampled(const struct flame *f)
{
	return f->off_cpu ? "Time blocked: " : "CPU time sampled: ";
}

void flame_put_text(const struct flame *f, size_t top, bool utf8, struct buf *out)
{
	struct flame_function *all = NULL;
	size_t n = 0;

	if (flame_functions(f, &all, &n) < 0) {
		out->error = -ENOMEM;
		return;
	}
	if (f->ticks == 0) {
		buf_puts(out, "No profile: none of its samples is in the store.\n");
	} else {
		buf_puts(out, time_sampled(f));
		put_seconds_of(f, f->ticks, out);
		buf_puts(out, "\n\n   self   total  function\n");
	}
	for (size_t i = 0; i < n && i < top && f->ticks; i++) {
		buf_printf(out, "%5.1f %% %5.1f %%  ", percent_of(f, all[i].self),
			   percent_of(f, all[i].total));
		text_put_field(out, all[i].name, 62, true);
		while (out->len && out->data[out->len - 1] == ' ')
			buf_truncate(out, out->len - 1);
		buf_putc(out, '\n');
	}
	if (n > top && f->ticks)
		buf_printf(out, "%s %zu more functions\n", utf8 ? "…" : "...", n - top);
	free(all);
}

/* ---- the page -------------------------------------------------------------------- */

static void put_short_name(const char *name, struct buf *out)
{
	char cut[NAME_BYTES_MAX + 4];
	size_t n = strnlen(name, NAME_BYTES_MAX);

	memcpy(cut, name, n);
	cut[n] = '\0';
	text_put(out, TEXT_HTML, cut);
	if (name[n])
		buf_puts(out, "...");
}

/* A colour by the name, so that a function has the same one everywhere. */
static unsigned hue_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return 10 + (h >> 8) % 45;
}

static void put_flame_bar(const struct flame *f, const struct flame_bar *b,
			  struct buf *out)
{
	double x = WIDTH * (double)b->x / (double)f->ticks;
	double w = WIDTH * (double)b->total / (double)f->ticks;
	const char *name = b->level ? f->names[b->name] : "all";

	if (w < LEAST_WIDTH)
		return;
	/* a picture of its own cuts the name at the bar's end: the whole name can be
	 * searched for */
	buf_printf(out, "<svg x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\"><title>",
		   x, b->level * ROW, w, ROW - 1);
	put_short_name(name, out);
	buf_printf(out, " %.1f %%, ", percent_of(f, b->total));
	put_seconds_of(f, b->total, out);
	buf_printf(out,
		   "</title><rect width=\"100%%\" height=\"100%%\" "
		   "fill=\"hsl(%u,85%%,68%%)\"/>",
		   hue_of(name));
	if (w >= TEXT_LEAST) {
		buf_puts(out, "<text x=\"3\" y=\"12\">");
		put_short_name(name, out);
		buf_puts(out, "</text>");
	}
	buf_puts(out, "</svg>\n");
}

static void put_function_table(const struct flame *f, struct buf *out)
{
	struct flame_function *all = NULL;
	size_t n = 0;

	if (flame_functions(f, &all, &n) < 0) {
		out->error = -ENOMEM;
		return;
	}
	buf_puts(out, "<table>\n<tr><th>Function</th><th class=\"n\">Self</th>"
		      "<th class=\"n\">Total</th></tr>\n");
	for (size_t i = 0; i < n && i < PAGE_TOP; i++) {
		buf_puts(out, "<tr><td>");
		put_short_name(all[i].name, out);
		buf_printf(out,
			   "</td><td class=\"n\">%.1f %%</td><td class=\"n\">%.1f %%"
			   "</td></tr>\n",
			   percent_of(f, all[i].self), percent_of(f, all[i].total));
	}
	buf_puts(out, "</table>\n");
	if (n > PAGE_TOP)
		buf_printf(out, "<p class=\"soft\">%zu more functions</p>\n",
			   n - PAGE_TOP);
	free(all);
}

void flame_put_html(const struct flame *f, struct buf *out)
{
	if (!f->ticks)
		return;
	buf_puts(out, "<style>.flame svg text{fill:#1d2733}.flame svg "
		      "svg{overflow:hidden}</style>\n");
	buf_puts(out, "<h2>Where the time went</h2>\n<p class=\"soft\">");
	buf_puts(out, time_sampled(f));
	put_seconds_of(f, f->ticks, out);
	buf_puts(out,
		 ". Each bar is a function, as wide as its share, below it what it "
		 "called; point at one for its figures.</p>\n<figure "
		 "class=\"flame\">\n");
	buf_printf(out, "<svg viewBox=\"0 0 %.0f %zu\">\n", WIDTH,
		   f->level_count * ROW);
	for (size_t i = 0; i < f->bar_count; i++)
		put_flame_bar(f, &f->bars[i], out);
	buf_puts(out, "</svg>\n</figure>\n");
	put_function_table(f, out);
}
