/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_UNWIND_COPY_H
#define CEEMS_PROFILER_UNWIND_COPY_H

#include "lib/records/profile_sample.h"
#include "profiler/tables.h"

/* The stack of a sample that came before its process was known, by the copy of it that
 * came with the sample. Fills frames, pcs and end. */
void unwind_copy(const struct tables *t, const struct known_process *k,
		 const struct profile_first *first, struct profile_sample *ret);

#endif
