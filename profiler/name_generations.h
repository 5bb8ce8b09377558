/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_NAME_GENERATIONS_H
#define CEEMS_PROFILER_NAME_GENERATIONS_H

#include <stdbool.h>

#include "profiler/frame_names.h"

/* Names that frames bear as numbers until their profile is written. There is no end of
 * them on a node that is sampled for months: when there are many the next generation
 * begins, and the one before is kept until no stack is left that was sampled in it.
 * Numbers tell generations apart: an old one has no name rather than another's. */
#define GENERATION_NAMES_MAX (1u << 16)
#define GENERATION_TEXT_MAX (4ul << 20) /* bytes */

struct name_generations {
	struct frame_names now, before;
	uint32_t number;   /* of now, 15 bits */
	uint32_t turned_s; /* when it began, CLOCK_BOOTTIME */
};

void name_generations_free(struct name_generations *g);
/* Its number, below 2^31; -ENOSPC: no more until the next turn; -ENOMEM. */
int name_generations_add(struct name_generations *g, const char *name, size_t len);
/* NULL: it has none any more. */
const char *name_generations_find(const struct name_generations *g, uint32_t number);
/* Whether there are so many, used, that another generation is to begin, and may: all
 * stacks that there are were sampled since since_s. */
bool name_generations_may_turn(const struct name_generations *g, uint32_t used,
			       uint32_t since_s);
void name_generations_turn(struct name_generations *g, uint32_t now_s);
uint64_t name_generations_bytes(const struct name_generations *g);

#endif
