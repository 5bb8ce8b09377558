/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_PROCESS_MAPS_H
#define CEEMS_PROFILER_PROCESS_MAPS_H

#include "profiler/modules.h"
#include "profiler/sample.h"

/* What a process executes, of /proc/PID/maps: files of ELF only, the first
 * PROFILE_MAPPINGS_MAX. -ESRCH: it has ended. */
int process_maps_read(int procfd, uint32_t pid, struct modules *m,
		      struct profile_process *ret, struct err *err);
/* The mapping that an address is in; NULL: none. */
const struct profile_mapping *process_maps_find(const struct profile_process *p,
						uint64_t address);

#endif
