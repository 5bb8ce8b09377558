/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_GO_NAMES_H
#define CEEMS_PROFILER_FILES_GO_NAMES_H

#include "profiler/symbols.h"

/* Functions of a Go program by the table that its runtime needs, which is there when it
 * is stripped, too: .gopclntab, as from Go 1.18 on (src/internal/abi and
 * src/debug/gosym/pclntab.go). Returns how many came, at most most in all; -ENODATA: it
 * has none, or one of another form; -ENOMEM. */
int go_names_add(struct symbols *s, Elf *elf, size_t most);

#endif
