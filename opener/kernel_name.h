/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_KERNEL_NAME_H
#define CEEMS_OPENER_KERNEL_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Names of the kernel's functions (bpf/kernel_name.bpf.c). One thread. */
struct kernel_name_bpf;
struct kernel_namer {
	struct kernel_name_bpf *skeleton; /* NULL: not loaded yet */
	int refused;                      /* why it could not be, negative errno */
};

/* Loads the program at the first call. -ENOENT: there is no function; others: this
 * kernel does not let it, and is not asked again. */
int kernel_namer_find(struct kernel_namer *n, uint64_t address, char *ret, size_t size,
		      struct err *err);
void kernel_namer_close(struct kernel_namer *n);

#endif
