/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_COUNTS_PAGE_FILL_H
#define CEEMS_DAEMON_GROUPS_COUNTS_PAGE_FILL_H

#include <sys/types.h>

#include "daemon/env.h"

/* Writes what the running steps that asked for a report have by now, for the plugin in
 * slurmstepd (lib/records/counts_page.h). The caller holds the daemon's lock. */
struct counts_page_fill;

/* As root: makes the page beside the ring and gives it to uid (-1: leaves it as it is).
 * NULL: it could not be made, which is logged. env outlives it. */
struct counts_page_fill *counts_page_fill_open(const struct env *env, uid_t uid,
					       gid_t gid);
void counts_page_fill_free(struct counts_page_fill *p); /* accepts NULL */

/* Many times a second */
void counts_page_fill_tick(struct counts_page_fill *p);

#endif
