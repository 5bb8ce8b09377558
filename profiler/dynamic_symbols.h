/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_DYNAMIC_SYMBOLS_H
#define CEEMS_PROFILER_DYNAMIC_SYMBOLS_H

#include "profiler/symbols.h"

/* .dynsym as the loader finds it, by PT_DYNAMIC and not by sections: of files that have
 * none, and of images of a process's memory (process_image.h). How many came, or
 * -ENODATA, -ENOMEM. */
int dynamic_symbols_add(struct symbols *s, Elf *elf, size_t most);

/* The bytes of the program from an address on, at most most of them, up to the end of
 * their segment; NULL: none. */
Elf_Data *dynamic_symbols_chunk(Elf *elf, uint64_t address, uint64_t most,
				Elf_Type type);

#endif
