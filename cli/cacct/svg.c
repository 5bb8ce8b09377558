/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Step plots. The values are means over intervals, so they are drawn as steps: a line
 * between points would pretend to know what was between. */
#include "cli/cacct/svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/cacct/text.h"
#include "cli/cacct/when.h"

#define WIDTH 760.0
#define HEIGHT 190.0
#define LEFT 64.0
#define RIGHT 16.0
#define TOP 12.0
#define BOTTOM 26.0
#define TICKS_MAX 12

static double x_of(const struct svg_plot *p, double t)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * (t - p->t0_s) / (p->t1_s - p->t0_s);
}

static double y_of(double top, double v)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * v / top;
}

/* The axis' end: above all values, and a multiple of 1, 2 or 5. */
static double nice_step(double most, double base)
{
	double unit = 1;

	while (base > 0 && most / unit >= base)
		unit *= base;
	double step = pow(10, floor(log10(most / unit / 4)));
	double left = most / unit / 4 / step;

	return unit * step * (left > 5 ? 10 : left > 2 ? 5 : left > 1 ? 2 : 1);
}

static double find_highest(const struct svg_plot *p)
{
	double most = isnan(p->limit) ? 0 : p->limit;

	for (size_t l = 0; l < p->line_count; l++)
		for (size_t i = 0; i < p->lines[l].count; i++)
			if (p->lines[l].steps[i].value > most)
				most = p->lines[l].steps[i].value;
	return most > 0 ? most : 1;
}

static void put_axis_number(const struct svg_plot *p, double v, struct buf *out)
{
	static const char units[] = " KMGTP";
	size_t u = 0;

	while (p->base > 0 && v >= p->base && u + 2 < sizeof(units)) {
		v /= p->base;
		u++;
	}
	buf_printf(out, "%.4g%s%.*s%s%s", v, u || *p->unit ? " " : "", u ? 1 : 0,
		   &units[u], u && p->base == 1024 ? "i" : "", p->unit);
}

static void put_y_axis(const struct svg_plot *p, double top, double step,
		       struct buf *out)
{
	for (int i = 0; i <= TICKS_MAX && i * step <= top * 1.0001; i++) {
		double y = y_of(top, i * step);
		buf_printf(
			out,
			"<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" "
			"y=\"%.1f\" text-anchor=\"end\">",
			LEFT, y, WIDTH - RIGHT, LEFT - 6, y + 4);
		put_axis_number(p, i * step, out);
		buf_puts(out, "</text>\n");
	}
}

/* Full minutes, hours or days, as many as fit; local time. */
static void put_x_axis(const struct svg_plot *p, struct buf *out)
{
	static const int steps_s[] = {
		1,    2,    5,     10,    30,    60,    120,    300,    600,    1800,
		3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000};
	const size_t n = sizeof(steps_s) / sizeof(steps_s[0]);
	double life_s = p->t1_s - p->t0_s;
	size_t i = 0;

	while (i + 1 < n && life_s / steps_s[i] > 7)
		i++;
	time_t first = when_midnight((time_t)p->t0_s);
	double skip = floor((p->t0_s - (double)first) / steps_s[i]);
	for (int k = 0; k < 400; k++) {
		double t = (double)first + (skip + k) * steps_s[i];
		char text[WHEN_SIZE];
		if (t > p->t1_s)
			break;
		if (t < p->t0_s)
			continue;
		when_print((time_t)t, text);
		const char *from = steps_s[i] >= 86400 ? text + 5 : text + 11;
		int len = steps_s[i] >= 86400 || steps_s[i] >= 60 ? 5 : 8;
		buf_printf(out,
			   "<path class=\"grid\" d=\"M%.1f %.1fv4\"/><text x=\"%.1f\" "
			   "y=\"%.1f\" text-anchor=\"middle\">%.*s</text>\n",
			   x_of(p, t), HEIGHT - BOTTOM, x_of(p, t), HEIGHT - 8, len,
			   from);
	}
}

static void put_path(const struct svg_plot *p, const struct svg_line *l, double top,
		     bool fill, struct buf *out)
{
	bool down = true; /* no pen stroke has begun */

	for (size_t i = 0; i < l->count; i++) {
		const struct svg_step *s = &l->steps[i];
		if (isnan(s->value)) {
			if (!down && fill)
				buf_printf(out, "V%.1f", y_of(top, 0));
			down = true;
			continue;
		}
		double x0 = x_of(p, s->t0_s), x1 = x_of(p, s->t1_s);
		double y = y_of(top, s->value);
		if (!down && s->t0_s > l->steps[i - 1].t1_s + 1) {
			if (fill)
				buf_printf(out, "V%.1f", y_of(top, 0));
			down = true;
		}
		if (down && fill)
			buf_printf(out, "M%.1f %.1fV%.1f", x0, y_of(top, 0), y);
		else if (down)
			buf_printf(out, "M%.1f %.1f", x0, y);
		else
			buf_printf(out, "V%.1f", y);
		buf_printf(out, "H%.1f", x1);
		down = false;
	}
	if (!down && fill)
		buf_printf(out, "V%.1f", y_of(top, 0));
}

static void put_legend(const struct svg_plot *p, struct buf *out)
{
	buf_puts(out, "<figcaption><b>");
	text_put(out, TEXT_HTML, p->title);
	buf_puts(out, "</b>");
	for (size_t l = 0; l < p->line_count; l++) {
		buf_printf(out, " <span class=\"key%zu\">", l);
		text_put(out, TEXT_HTML, p->lines[l].label);
		buf_puts(out, "</span>");
	}
	if (!isnan(p->limit)) {
		buf_puts(out, " <span class=\"keylimit\">");
		text_put(out, TEXT_HTML, p->limit_label);
		buf_puts(out, "</span>");
	}
	buf_puts(out, "</figcaption>\n");
}

void svg_put(const struct svg_plot *p, struct buf *out)
{
	if (!(p->t1_s > p->t0_s))
		return;
	double most = find_highest(p), step = nice_step(most, p->base);
	double top = ceil(most / step * 0.9999) * step;

	buf_puts(out, "<figure>\n");
	put_legend(p, out);
	buf_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
		   WIDTH, HEIGHT);
	text_put(out, TEXT_HTML, p->title);
	buf_puts(out, "\">\n");
	put_y_axis(p, top, step, out);
	put_x_axis(p, out);
	for (size_t l = 0; l < p->line_count; l++) {
		if (l == 0) {
			buf_puts(out, "<path class=\"fill0\" d=\"");
			put_path(p, &p->lines[l], top, true, out);
			buf_puts(out, "\"/>\n");
		}
		buf_printf(out, "<path class=\"line%zu\" d=\"", l);
		put_path(p, &p->lines[l], top, false, out);
		buf_puts(out, "\"/>\n");
	}
	if (!isnan(p->limit))
		buf_printf(out, "<path class=\"limit\" d=\"M%.1f %.1fH%.1f\"/>\n", LEFT,
			   y_of(top, p->limit), WIDTH - RIGHT);
	buf_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", LEFT,
		   TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
	buf_puts(out, "</svg>\n</figure>\n");
}
