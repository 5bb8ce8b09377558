/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_MODULES_H
#define CEEMS_PROFILER_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "profiler/name_cache.h"
#include "profiler/reader.h"
#include "profiler/sample.h"

/* The files whose code has been seen, each once, and their rows in one array that the
 * kernel program reads. */
struct module {
	char *name; /* the last part of its path */
	int fd;
	dev_t device;
	ino_t inode;
	struct timespec changed;
	struct profile_module rows;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	int segment_count;
	uint32_t uid;  /* whose process it was first seen in */
	bool no_names; /* whoever looked for them was lost */
};

struct modules {
	struct reader *reader; /* not owned */
	struct module *all;
	uint32_t count;
	struct unwind_row *rows; /* [row_room]: the kernel program's array, not owned */
	uint32_t row_count, row_room;
	struct name_cache names;
	uint64_t without_rows; /* files that had none, or for which there was no room */
};

void modules_free(struct modules *m);
/* The module of an open file, which is taken over; path names it, uid is whose process
 * maps it. Its index, -E2BIG if there are PROFILE_MODULES_MAX, -ENOEXEC: no ELF file,
 * or it could not be read. */
int modules_add(struct modules *m, int fd, const char *path, uint32_t uid,
		struct err *err);
/* What the functions at an address in the file are called, the innermost first; those
 * before the last are inlined. Their number, 0: they have no names. Valid until the
 * next call. */
uint32_t modules_find_names(struct modules *m, uint32_t module, uint64_t address,
			    struct name_list *ret);

#endif
