/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_STEPS_H
#define CEEMS_LB_PROMQL_STEPS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* A budget for the work that the text of one request may cause: the parsers of user
 * input and the proof take a step for each byte, word, part or comparison. They are
 * meant to be linear; this bounds the cost if one is not. */

#define STEPS_PER_BYTE 64u /* legitimate queries take fewer than 10 */
#define STEPS_FIRST 16384u /* whatever the length */

struct steps {
	uint64_t used, most;
};

static inline struct steps steps_for(size_t len)
{
	return (struct steps){.most = STEPS_FIRST + (uint64_t)len * STEPS_PER_BYTE};
}

/* 0, or -E2BIG: the budget is exhausted. s NULL: not counted. */
static inline int steps_take(struct steps *s, size_t n, struct err *err)
{
	if (!s)
		return 0;
	s->used += n;
	if (s->used <= s->most)
		return 0;
	return err_set(err, -E2BIG, "this takes too much work for its length");
}

#endif
