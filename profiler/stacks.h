/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_STACKS_H
#define CEEMS_PROFILER_STACKS_H

#include "lib/buf.h"
#include "profiler/frame_names.h"
#include "profiler/modules.h"
#include "profiler/raw_stacks.h"

/* Frames of all samples: 64 MiB. Names are fewer. */
#define STACKS_FRAMES_MAX (1u << 24)

/* Stacks with their frames named, counted. */
struct stack {
	size_t first; /* of its frames, innermost first */
	uint32_t frames;
	uint64_t samples;
};

struct stacks {
	struct frame_names names;
	uint32_t *frames; /* numbers of names */
	size_t frame_count, frame_room;
	struct stack *all;
	size_t count, room;
	uint64_t samples;
};

void stacks_free(struct stacks *s);
/* All of r, with names. -ENOMEM, -E2BIG: there is no room, not all are in. */
int stacks_add(struct stacks *s, const struct raw_stacks *r, struct modules *m);
/* Counts each stack once: before it is printed or written. */
void stacks_merge(struct stacks *s);
/* One line "outermost;...;innermost count" for each, as flame graph tools read it. */
void stacks_print(const struct stacks *s, struct buf *out);

#endif
