/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_DYNAMIC_SYMBOLS_H
#define CEEMS_PROFILER_FILES_DYNAMIC_SYMBOLS_H

#include "profiler/symbols.h"

/* .dynsym as the loader finds it, by PT_DYNAMIC and not by sections: of files that have
 * none, and of images of a process's memory (process_image.h). How many came, or
 * -ENODATA, -ENOMEM. */
int dynamic_symbols_add(struct symbols *s, Elf *elf, size_t most);

#endif
