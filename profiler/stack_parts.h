/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_STACK_PARTS_H
#define CEEMS_PROFILER_STACK_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "profiler/pprof.h"
#include "profiler/stacks.h"

/* Stacks as one profile, or as several where the store would refuse one: below
 * PROFILE_SAMPLES_MAX stacks and PROFILE_PLAIN_MAX bytes each. Of a deeper stack than
 * PROFILE_DEPTH_MAX the innermost frames are kept. */

/* So that what hardly gets smaller by gzip fits into a record, too */
#define STACK_PARTS_BYTES_MAX ((size_t)2 << 20)

struct stack_parts {
	const struct stacks *all;
	struct pprof_time time; /* of the next part */
	size_t at, most;
	uint64_t dropped; /* samples of stacks that are too long alone */
};

void stack_parts_begin(struct stack_parts *p, const struct stacks *all,
		       const struct pprof_time *t);
/* The next part, pprof as it is (ret is emptied first), and its samples. Parts are a
 * millisecond apart, so that the store does not take two for one. 1; 0: there are no
 * more; -ENOMEM. */
int stack_parts_next(struct stack_parts *p, struct buf *ret, uint64_t *ret_samples,
		     struct err *err);

#endif
