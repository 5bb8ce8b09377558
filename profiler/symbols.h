/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_SYMBOLS_H
#define CEEMS_PROFILER_SYMBOLS_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/* The functions of ELF files' symbol tables. Names stay in the files, which have to be
 * open for as long. */
struct symbol {
	uint64_t address;
	uint32_t size;  /* 0: up to the next one */
	uint32_t order; /* in its file: the first of several is the better one */
	const char *name;
};

struct symbols {
	struct symbol *all;
	size_t count, room;
};

/* Those of the table of a type, SHT_SYMTAB or SHT_DYNSYM; at most most in all. Returns
 * how many came, or -ENOMEM. */
int symbols_add(struct symbols *s, Elf *elf, GElf_Word type, size_t most);
int symbols_add_one(struct symbols *s, uint64_t address, uint64_t size,
		    const char *name);
/* Before they are looked up */
void symbols_sort(struct symbols *s);
/* As it is in the file; NULL: none. */
const char *symbols_find(const struct symbols *s, uint64_t address);
void symbols_free(struct symbols *s);

#endif
