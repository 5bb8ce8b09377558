/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_STACKS_H
#define CEEMS_PROFILER_STACKS_H

#include "lib/buf.h"
#include "profiler/modules.h"
#include "profiler/sample.h"

/* Samples with their frames named, counted by stack. */
struct stack {
	char *text; /* "outermost;...;innermost" */
	uint64_t samples;
};

struct stacks {
	struct stack *all;
	size_t count, room;
	uint64_t samples, ends[SAMPLE_NO_PROGRAM + 1];
};

void stacks_free(struct stacks *s);
/* -ENOMEM: not counted. process NULL: its frames have no names */
int stacks_add(struct stacks *s, const struct sample *sample,
	       const struct profile_process *process, struct modules *m);
/* Sorts and merges; one line "stack count" for each, as flame graph tools read it. */
void stacks_print(struct stacks *s, struct buf *out);

#endif
