/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_ELF_FILE_H
#define CEEMS_PROFILER_FILES_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
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

/* The first segment of a type (PT_...), of PT_LOAD the one that has an address of the
 * program; false: there is none. */
bool elf_file_segment(Elf *elf, GElf_Word type, uint64_t address, GElf_Phdr *ret);

/* The bytes of the program from an address on, at most most of them, up to the end of
 * their segment: owned by elf; NULL: none. */
Elf_Data *elf_file_bytes(Elf *elf, uint64_t address, uint64_t most, Elf_Type type);

#endif
