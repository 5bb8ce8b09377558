/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_MODULES_H
#define CEEMS_PROFILER_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "profiler/elf_file.h"
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
	struct elf_names names;
	bool named; /* names has been read */
};

struct modules {
	struct module *all;
	uint32_t count;
	struct unwind_row *rows; /* [row_room]: the kernel program's array, not owned */
	uint32_t row_count, row_room;
	uint64_t without_rows; /* files that had none, or for which there was no room */
};

void modules_free(struct modules *m);
/* The module of an open file, which is taken over; path names it. Its index, -E2BIG if
 * there are PROFILE_MODULES_MAX, -ENOEXEC: no ELF file. */
int modules_add(struct modules *m, int fd, const char *path, struct err *err);
/* The name of the function at an address in the file, else NULL. */
const char *modules_name(struct modules *m, uint32_t module, uint64_t address);

#endif
