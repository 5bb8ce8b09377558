/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_ARENA_H
#define CEEMS_LIB_ARENA_H

#include <stddef.h>

/* Memory that lives as long as its owner: the strings and structs of a configuration.
 * Freed together, and wiped first, since it may contain passwords. Not thread
 * safe. */

struct arena {
	struct arena_block *blocks;
};

/* Zeroed; NULL: no memory. */
void *arena_alloc(struct arena *k, size_t n, size_t size);
/* A copy; a copy of NULL is NULL, which is not an error. */
char *arena_text(struct arena *k, const char *s);
void arena_done(struct arena *k); /* accepts a zeroed one */

#endif
