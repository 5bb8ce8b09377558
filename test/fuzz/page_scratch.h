/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_FUZZ_PAGE_SCRATCH_H
#define CEEMS_TEST_FUZZ_PAGE_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/err.h"

/* One page in a folder of its own in memory, made once and removed at exit. */
static char page_folder[64], page_path[96];
static int page_fd = -1;

static inline void remove_page(void)
{
	unlink(page_path);
	rmdir(page_folder);
}

static inline void make_page(int (*create)(const char *path, struct err *err))
{
	struct err err;

	if (page_fd >= 0)
		return;
	snprintf(page_folder, sizeof(page_folder), "/dev/shm/page_fuzz.XXXXXX");
	if (!mkdtemp(page_folder))
		abort();
	snprintf(page_path, sizeof(page_path), "%s/page", page_folder);
	atexit(remove_page);
	page_fd = create(page_path, &err);
	if (page_fd < 0)
		abort();
}

#endif
