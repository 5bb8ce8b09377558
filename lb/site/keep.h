/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_KEEP_H
#define CEEMS_LB_SITE_KEEP_H

#include <stddef.h>

/* Memory that lives as long as its owner: what a site and its backends consist of.
 * Freed at once, wiped before, since passwords may be in it. Not thread safe. */

struct keep {
	struct keep_block *blocks;
};

/* Zeroed; NULL: no memory. */
void *keep_alloc(struct keep *k, size_t n, size_t size);
/* A copy; of NULL: NULL, which is then no error. */
char *keep_text(struct keep *k, const char *s);
void keep_done(struct keep *k); /* accepts a zeroed one */

#endif
