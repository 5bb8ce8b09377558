/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of blocks: a configuration is small and read once. */
#include "lib/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *next;
	size_t size;
	_Alignas(max_align_t) unsigned char data[];
};

void *arena_alloc(struct arena *k, size_t n, size_t size)
{
	struct arena_block *b;

	if (size && n > (SIZE_MAX / 2 - sizeof(*b)) / size)
		return NULL;
	b = calloc(1, sizeof(*b) + n * size);
	if (!b)
		return NULL;
	b->size = n * size;
	b->next = k->blocks;
	k->blocks = b;
	return b->data;
}

char *arena_text(struct arena *k, const char *s)
{
	char *copy = s ? arena_alloc(k, strlen(s) + 1, 1) : NULL;

	if (copy)
		memcpy(copy, s, strlen(s));
	return copy;
}

void arena_done(struct arena *k)
{
	while (k->blocks) {
		struct arena_block *b = k->blocks;

		k->blocks = b->next;
		explicit_bzero(b->data, b->size);
		free(b);
	}
}
