/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_STARVE_H
#define CEEMS_TEST_STARVE_H

#include <stdbool.h>

/*
 * Memory that runs out when a test says so, for programs that are linked with
 * STARVE_LDFLAGS (test/unit/module.mk): what the project itself allocates, on any
 * thread; libraries have theirs.
 */

/* The nth allocation from now on fails, from 1; with all the rest, too. */
void starve_at(unsigned nth, bool rest);
/* From now on none fails. Returns whether any failed. */
bool starve_end(void);

#endif
