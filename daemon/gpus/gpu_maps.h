/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_GPU_MAPS_H
#define CEEMS_DAEMON_GPUS_GPU_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/env.h"
#include "daemon/gpus/gpus.h"
#include "daemon/units.h"

/*
 * Each slurmd of this host (one, unless it runs with -N) has its own devices: its map
 * is made when its first unit with a gpu comes, and retried each minute while that
 * fails. It is made anew after a reload of the daemon and when a unit starts ten
 * minutes after the last time; units that started before keep the devices that they
 * had. One for all who ask (env->gpu_maps); the caller serialises.
 */
struct gpu_maps;

struct gpu_maps *gpu_maps_new(const struct env *env); /* NULL: no memory */
void gpu_maps_free(struct gpu_maps *m);               /* NULL-safe */

/* gpus_of() with the map of the unit's slurmd, which is asked if needed; patient: and
 * given a moment, once a minute at most. -EAGAIN: no answer yet; other errors: there
 * will be none, as with m NULL. */
int gpu_maps_of(struct gpu_maps *m, const struct unit *unit, bool patient,
		struct gpu_use *ret, size_t max, struct err *err);

#endif
