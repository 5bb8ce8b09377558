/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_STACKS_H
#define CEEMS_PROFILER_STACKS_H

#include "lib/buf.h"
#include "profiler/frame_names.h"
#include "profiler/modules.h"
#include "profiler/sample.h"

/* Frames of all samples: 64 MiB. Names are fewer. */
#define STACKS_FRAMES_MAX (1u << 24)

/* Samples with their frames named, counted by stack. */
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
	uint64_t samples, ends[SAMPLE_NO_PROGRAM + 1];
};

void stacks_free(struct stacks *s);
/* -ENOMEM, -E2BIG: there is no room, it is not in all. process NULL: its frames have no
 * names */
int stacks_add(struct stacks *s, const struct sample *sample,
	       const struct profile_process *process, struct modules *m);
/* Counts each stack once: before it is printed or written. */
void stacks_merge(struct stacks *s);
/* One line "outermost;...;innermost count" for each, as flame graph tools read it. */
void stacks_print(const struct stacks *s, struct buf *out);

#endif
