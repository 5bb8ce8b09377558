/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_CUT_H
#define CEEMS_CLI_CACCT_CUT_H

#include <stdbool.h>

#include "cli/cacct/series.h"
#include "cli/cacct/unit.h"

/* sacct -T: a unit's times cut to a window, and its sums to what happened in it. */

struct cut {
	double from_s, to_s;    /* the window, since 1970 */
	struct series hours;    /* of the unit, that meet the window */
	struct series edges[2]; /* its intervals in the hours that the window cuts */
};

/* Is a part of its life outside the window? A unit that runs ends at now. */
bool cut_needs(const struct unit *u, double from_s, double to_s, double now_s);

/* Times as sacct -T has them: start, end (of what runs, too) and elapsed. */
void cut_times(struct unit *u, double from_s, double to_s, double now_s);

/* The sums of the window in the place of those of its life: whole hours, and of the
 * hours at both ends the intervals, or, where they are not kept, the hour by time. What
 * is not known of a part of the window is not known. Before cut_times(). */
void cut_sums(struct unit *u, const struct cut *cut, double now_s);

/* Nothing of it is known for a part of its life: a step's sums. */
void cut_forget_sums(struct unit *u);

/* The hour that holds an edge of the window which lies inside of the unit's life;
 * false: none does. which: 0 begin, 1 end. */
bool cut_edge(const struct unit *u, const struct cut *cut, int which, double now_s,
	      double *ret_from_s, double *ret_to_s);

#endif
