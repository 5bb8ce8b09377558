/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_KEEP_H
#define CEEMS_LB_SITE_KEEP_H

#include <stddef.h>

/* Memory that lives as long as its owner: the strings and structs of a site and its
 * backends. Freed together, and wiped first, since it may contain passwords. Not thread
 * safe. */

struct keep {
	struct keep_block *blocks;
};

/* Zeroed; NULL: no memory. */
void *keep_alloc(struct keep *k, size_t n, size_t size);
/* A copy; a copy of NULL is NULL, which is not an error. */
char *keep_text(struct keep *k, const char *s);
void keep_done(struct keep *k); /* accepts a zeroed one */

#endif
