/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_STEPS_H
#define CEEMS_LB_PROMQL_STEPS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* How much work the text of one request may make: each parser of what a user wrote, and
 * the proof, takes a step for each byte, word, part or comparison that it looks at. The
 * readers are made to be linear; this is what holds when one of them is not. */

#define STEPS_PER_BYTE 64u /* the dearest benign query takes fewer than 10 */
#define STEPS_FIRST 16384u /* whatever the length */

struct steps {
	uint64_t used, most;
};

static inline struct steps steps_for(size_t len)
{
	return (struct steps){.most = STEPS_FIRST + (uint64_t)len * STEPS_PER_BYTE};
}

/* 0, or -E2BIG when they are spent. s NULL: nobody counts. */
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
