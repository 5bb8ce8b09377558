/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_UNWIND_TABLE_H
#define CEEMS_PROFILER_FILES_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "profiler/unwind_row.h"

/* The rows of one ELF file (x86-64, arm64), made from its .eh_frame by libdw, sorted by
 * address and without gaps: where nothing is known stands a row that says so. */
struct unwind_table {
	struct unwind_row *rows;
	size_t count, room;
	size_t frames;  /* functions that the file describes */
	size_t refused; /* rows whose rule is none of ours */
};

/* fd: an ELF file, open for reading. Addresses are those of the file (p_vaddr).
 * -ENOEXEC: no such file, or none for this processor; -ENODATA: it has no .eh_frame;
 * -E2BIG: more than most rows. The table is empty then. */
int unwind_table_read(int fd, size_t most, struct unwind_table *ret, struct err *err);
void unwind_table_free(struct unwind_table *t);
/* The row that holds for pc; NULL below the first. */
const struct unwind_row *unwind_table_find(const struct unwind_table *t, uint32_t pc);

#endif
