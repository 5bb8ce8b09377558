/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_CUT_H
#define CEEMS_CLI_CACCT_CUT_H

#include <stdbool.h>

#include "cli/cacct/series.h"
#include "cli/cacct/unit.h"

/* sacct -T: truncates a unit's times to a window, and its sums to what was used in
 * it. */

struct cut {
	double from_s, to_s;    /* the window, since 1970 */
	struct series hours;    /* of the unit, that meet the window */
	struct series edges[2]; /* intervals in the two hours that the window cuts */
};

/* Whether part of its life is outside the window. A running unit ends at now. */
bool cut_needs(const struct unit *u, double from_s, double to_s, double now_s);

/* Times as with sacct -T: start, end (also of running units) and elapsed. */
void cut_times(struct unit *u, double from_s, double to_s, double now_s);

/* Replaces the sums by those of the window: whole hours, and for the hours cut at both
 * ends the intervals or, if these are no longer kept, a share of the hour by time. A
 * sum is unknown if part of the window is. Before cut_times(). */
void cut_sums(struct unit *u, const struct cut *cut, double now_s);

/* Makes its sums unknown, as for a step. */
void cut_forget_sums(struct unit *u);

/* The hour in which an edge of the window lies, if that is within the unit's life;
 * false: it is not. which: 0 begin, 1 end. */
bool cut_edge(const struct unit *u, const struct cut *cut, int which, double now_s,
	      double *ret_from_s, double *ret_to_s);

#endif
