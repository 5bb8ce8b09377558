/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/name_generations.h"

#include <errno.h>

#define NUMBER_MASK 0x7fffu
#define NAME_BITS 16

void name_generations_free(struct name_generations *g)
{
	frame_names_free(&g->now);
	frame_names_free(&g->before);
	*g = (struct name_generations){.number = (g->number + 2) & NUMBER_MASK};
}

int name_generations_add(struct name_generations *g, const char *name, size_t len)
{
	uint32_t index = 0;

	if (g->now.count == GENERATION_NAMES_MAX ||
	    g->now.text_bytes >= GENERATION_TEXT_MAX)
		return -ENOSPC;
	int rc = frame_names_add(&g->now, name, len, &index);
	return rc < 0 ? rc : (int)(g->number << NAME_BITS | index);
}

const char *name_generations_find(const struct name_generations *g, uint32_t number)
{
	uint32_t of = number >> NAME_BITS, index = number & (GENERATION_NAMES_MAX - 1);
	const struct frame_names *n = of == g->number ? &g->now : &g->before;

	if (of != g->number && of != ((g->number - 1) & NUMBER_MASK))
		return NULL;
	return index < n->count ? n->all[index] : NULL;
}

bool name_generations_may_turn(const struct name_generations *g, uint32_t used,
			       uint32_t since_s)
{
	bool many = used >= GENERATION_NAMES_MAX / 4 * 3 ||
		    g->now.text_bytes >= GENERATION_TEXT_MAX / 4 * 3;

	return many && g->turned_s < since_s;
}

uint64_t name_generations_bytes(const struct name_generations *g)
{
	const struct frame_names *both[] = {&g->now, &g->before};
	uint64_t bytes = 0;

	for (size_t i = 0; i < 2; i++)
		bytes += both[i]->text_bytes + both[i]->room * sizeof(*both[i]->all) +
			 both[i]->slot_count * sizeof(*both[i]->slots);
	return bytes;
}

void name_generations_turn(struct name_generations *g, uint32_t now_s)
{
	frame_names_free(&g->before);
	g->before = g->now;
	g->now = (struct frame_names){0};
	g->number = (g->number + 1) & NUMBER_MASK;
	g->turned_s = now_s;
}
