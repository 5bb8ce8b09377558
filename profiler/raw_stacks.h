/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_RAW_STACKS_H
#define CEEMS_PROFILER_RAW_STACKS_H

#include <stddef.h>
#include <stdint.h>

/* Stacks of frames without names (session.h), each once, with how often it was seen:
 * names are looked for when a profile is written, once for each frame. */
#define RAW_STACK_FRAMES_MAX (1u << 22) /* of one profile: 32 MiB */

struct raw_stack {
	uint64_t hash, samples;
	uint32_t first, count; /* innermost first */
};

struct raw_stacks {
	uint64_t *frames;
	uint32_t frame_count, frame_room;
	struct raw_stack *all;
	uint32_t count, room;
	uint32_t *slots; /* [slot_count] number + 1; 0: free */
	uint32_t slot_count;
	uint64_t samples;
};

void raw_stacks_free(struct raw_stacks *r);
/* -ENOMEM, -E2BIG: it is not in. */
int raw_stacks_add(struct raw_stacks *r, const uint64_t *frames, uint32_t count,
		   uint64_t samples);
uint64_t raw_stacks_bytes(const struct raw_stacks *r);
/* Leaves of each stack at most so many innermost frames: less detail in less room.
 * -ENOMEM: it is as it was. */
int raw_stacks_cut(struct raw_stacks *r, uint32_t frames_max);

#endif
