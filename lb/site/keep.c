/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of blocks: a configuration is small and read once. */
#include "lb/site/keep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct keep_block {
	struct keep_block *next;
	size_t size;
	_Alignas(max_align_t) unsigned char data[];
};

void *keep_alloc(struct keep *k, size_t n, size_t size)
{
	struct keep_block *b;

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

char *keep_text(struct keep *k, const char *s)
{
	char *copy = s ? keep_alloc(k, strlen(s) + 1, 1) : NULL;

	if (copy)
		memcpy(copy, s, strlen(s));
	return copy;
}

void keep_done(struct keep *k)
{
	while (k->blocks) {
		struct keep_block *b = k->blocks;

		k->blocks = b->next;
		explicit_bzero(b->data, b->size);
		free(b);
	}
}
