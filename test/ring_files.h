/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_RING_FILES_H
#define CEEMS_TEST_RING_FILES_H

#include <stdio.h>
#include <unistd.h>

#include "lib/records/ring.h"

/* Removes a ring with both its names, as rm -r of its folder does. 0, or -1 when there
 * was none. */
static inline int remove_ring(const char *path)
{
	char spare[512];

	snprintf(spare, sizeof(spare), "%s%s", path, RING_SPARE);
	(void)unlink(spare);
	return unlink(path);
}

#endif
