/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_PROCESS_MAPS_H
#define CEEMS_PROFILER_PROCESS_MAPS_H

#include <stdint.h>

#include "profiler/door.h"
#include "profiler/modules.h"

/* What a process executes, by its maps: files only, the first PROFILE_MAPPINGS_MAX
 * mappings, sorted, or as many as can be looked at in a second: the next time they are
 * known, and there is time for others. ret[PROFILE_MAPPINGS_MAX]. Their number; -ESRCH:
 * it has ended. */
int process_maps_read(struct door *d, uint32_t pid, struct modules *m, uint32_t now_s,
		      struct profile_mapping *ret, struct err *err);

#endif
