/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_ELFSYM_H
#define CEEMS_CLI_TOOL_ELFSYM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* The value of a 4-byte data symbol in the dynamic symbol table of a shared object:
 * what Slurm reads by dlsym() after dlopen(), which would run the file's code. 64-bit
 * little-endian ELF (elf(5)). -EINVAL with a text: not such a file; -ENOENT: no such
 * symbol; -EFBIG: longer than 64 MiB. */
int elfsym_u32(const void *data, size_t len, const char *symbol, uint32_t *ret,
	       struct err *err);
int elfsym_file_u32(const char *path, const char *symbol, uint32_t *ret,
		    struct err *err);

#endif
