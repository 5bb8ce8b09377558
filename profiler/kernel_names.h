/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_KERNEL_NAMES_H
#define CEEMS_PROFILER_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/door.h"
#include "profiler/name_cache.h"

/* Functions of the kernel, which its opener asks for their names. One thread. */
struct kernel_names {
	struct door *door; /* NULL: nobody can be asked */
	bool refused;      /* this kernel tells none */
};

/* The name of the function at an address, "name [kernel]" or "name [module]", kept in
 * c: 1, or 0: it has none. Valid until c changes. */
uint32_t kernel_names_find(struct kernel_names *k, struct name_cache *c,
			   uint64_t address, struct name_list *ret);

#endif
