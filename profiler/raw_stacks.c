/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/raw_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Frames are users', but whoever makes two stacks meet only slows his own profile. */
static uint64_t hash_frames(const uint64_t *frames, uint32_t count)
{
	uint64_t h = count;

	for (uint32_t i = 0; i < count; i++) {
		h = (h ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h;
}

void raw_stacks_free(struct raw_stacks *r)
{
	free(r->frames);
	free(r->all);
	free(r->slots);
	*r = (struct raw_stacks){0};
}

uint64_t raw_stacks_bytes(const struct raw_stacks *r)
{
	return r->frame_room * sizeof(*r->frames) + r->room * sizeof(*r->all) +
	       r->slot_count * sizeof(*r->slots);
}

static int make_slots(struct raw_stacks *r)
{
	uint32_t count = r->slot_count ? r->slot_count * 2 : 256;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t at = (uint32_t)r->all[i].hash & (count - 1);
		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = i + 1;
	}
	free(r->slots);
	r->slots = slots;
	r->slot_count = count;
	return 0;
}

static int make_room(struct raw_stacks *r, uint32_t frames)
{
	if (r->count == r->room) {
		uint32_t room = r->room ? r->room * 2 : 64;
		struct raw_stack *all = reallocarray(r->all, room, sizeof(*all));
		if (!all)
			return -ENOMEM;
		r->all = all;
		r->room = room;
	}
	if (r->frame_room - r->frame_count < frames) {
		uint32_t room = r->frame_room ? r->frame_room * 2 : 1024;
		uint64_t *all = reallocarray(r->frames, room, sizeof(*all));
		if (!all)
			return -ENOMEM;
		r->frames = all;
		r->frame_room = room;
	}
	return r->slot_count < 2 * (r->count + 1) ? make_slots(r) : 0;
}

int raw_stacks_add(struct raw_stacks *r, const uint64_t *frames, uint32_t count,
		   uint64_t samples)
{
	uint64_t hash = hash_frames(frames, count);
	uint32_t at = (uint32_t)hash;

	if (r->frame_count + count > RAW_STACK_FRAMES_MAX || count > 512)
		return -E2BIG;
	int rc = make_room(r, count);
	if (rc < 0)
		return rc;
	for (at &= r->slot_count - 1; r->slots[at];
	     at = (at + 1) & (r->slot_count - 1)) {
		struct raw_stack *k = &r->all[r->slots[at] - 1];
		if (k->hash != hash || k->count != count ||
		    memcmp(&r->frames[k->first], frames, count * sizeof(*frames)) != 0)
			continue;
		k->samples += samples;
		r->samples += samples;
		return 0;
	}
	memcpy(&r->frames[r->frame_count], frames, count * sizeof(*frames));
	r->all[r->count] = (struct raw_stack){
		.hash = hash,
		.samples = samples,
		.first = r->frame_count,
		.count = count,
	};
	r->frame_count += count;
	r->slots[at] = ++r->count;
	r->samples += samples;
	return 0;
}

int raw_stacks_cut(struct raw_stacks *r, uint32_t frames_max)
{
	struct raw_stacks fresh = {0};

	for (uint32_t i = 0; i < r->count; i++) {
		const struct raw_stack *k = &r->all[i];
		uint32_t count = k->count < frames_max ? k->count : frames_max;
		int rc =
			raw_stacks_add(&fresh, &r->frames[k->first], count, k->samples);
		if (rc < 0) {
			raw_stacks_free(&fresh);
			return rc;
		}
	}
	raw_stacks_free(r);
	*r = fresh;
	return 0;
}
