/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_ELF_FILE_H
#define CEEMS_PROFILER_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Where an ELF file's code lies, and what its functions are called. All of it may have
 * been made by a user to do harm: libelf reads it, and what it says is bounded. */

/* Address in the file = offset in the file + shift, for offsets from start to end. */
struct elf_segment {
	uint64_t start, end, shift;
};

enum { ELF_SEGMENTS_MAX = 8 };

struct elf_symbol {
	uint64_t address, size; /* size 0: up to the next one */
	uint32_t name;          /* offset in names */
};

struct elf_names {
	struct elf_symbol *symbols; /* sorted by address */
	size_t count, room;
	char *names;
	size_t names_len, names_room;
};

/* The executable segments: how many, or -ENOEXEC. */
int elf_file_segments(int fd, struct elf_segment ret[ELF_SEGMENTS_MAX],
		      struct err *err);
/* Functions of .symtab, else of .dynsym: none is no error. At most most of them.
 * -ENOEXEC, -ENOMEM; to be freed in any case. */
int elf_names_read(int fd, size_t most, struct elf_names *ret, struct err *err);
void elf_names_free(struct elf_names *n);
/* NULL: none. Valid until the names are freed. */
const char *elf_names_find(const struct elf_names *n, uint64_t address);

#endif
