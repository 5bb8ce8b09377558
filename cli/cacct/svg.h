/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_SVG_H
#define CEEMS_CLI_CACCT_SVG_H

#include <stddef.h>

#include "lib/buf.h"

/* Plots of step functions as SVG without scripts, for a page that brings its own CSS
 * (classes axis, grid, line0-line3, fill0-fill3, gap). */

struct svg_step {
	double t0_s, t1_s, value; /* NAN: a gap */
};

struct svg_line {
	const char *label;
	const struct svg_step *steps;
	size_t count;
};

struct svg_plot {
	const char *title;
	const char *unit;  /* behind the numbers of the axis: "W", "B" */
	double base;       /* 1000 or 1024: of K, M, G; 0: none of them */
	double t0_s, t1_s; /* of the axis */
	double limit;      /* a dashed line, what was allocated; NAN: none */
	const char *limit_label;
	const struct svg_line *lines; /* the first is filled */
	size_t line_count;            /* at most 4 */
};

/* Appends a <figure>. Labels are escaped. */
void svg_put(const struct svg_plot *p, struct buf *out);

#endif
