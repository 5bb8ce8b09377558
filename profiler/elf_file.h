/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_ELF_FILE_H
#define CEEMS_PROFILER_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Where an ELF file's code lies. It may have been made by a user to do harm: libelf
 * reads it, and what it says is bounded. */

/* Address in the file = offset in the file + shift, for offsets from start to end. */
struct elf_segment {
	uint64_t start, end, shift;
};

enum { ELF_SEGMENTS_MAX = 8 };

/* The executable segments: how many, or -ENOEXEC. */
int elf_file_segments(int fd, struct elf_segment ret[ELF_SEGMENTS_MAX],
		      struct err *err);

#endif
