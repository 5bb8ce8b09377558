/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_HOTTEST_H
#define CEEMS_PROFILER_HOTTEST_H

#include <stdint.h>

#include "lib/records/hot_page.h"
#include "profiler/modules.h"

/* The functions that a step's CPUs are in most often, from its start on: addresses are
 * counted as samples come, and get their names when the page is written. Of a step in
 * more places than there is room for, rare ones make place. */
#define HOTTEST_PLACES 1024u /* a power of two */

struct session_stack;

struct hot_place {
	uint64_t frame, python; /* python: its function, where frame is of a Python */
	uint64_t samples;       /* 0: free */
};

struct hottest {
	struct hot_place all[HOTTEST_PLACES];
	uint64_t samples;
};

void hottest_add(struct hottest *h, const struct session_stack *stack,
		 const struct modules *m);
/* Fills samples, count and functions. Asks readers for names that are not known yet, at
 * most HOTTEST_NEW_NAMES of them: what has none then is "[file+0xaddress]". */
#define HOTTEST_NEW_NAMES 64u
void hottest_fill(const struct hottest *h, struct modules *m, struct hot_page_row *ret);

#endif
