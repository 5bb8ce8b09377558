/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_GPU_SHARING_H
#define CEEMS_DAEMON_TICKER_GPU_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/units.h"

/* How much of a device its processes used (MPS, shards), by unit, as the driver samples
 * it. */
struct gpu_sharing;

struct gpu_sharing *gpu_sharing_new(const struct env *env); /* NULL: no memory */
void gpu_sharing_free(struct gpu_sharing *s);               /* NULL-safe */
/* Reads what ceems-gpu has sent of devices 0..count-1, as the driver numbers them. A
 * process belongs to the unit in whose control group it was first seen. */
void gpu_sharing_take(struct gpu_sharing *s, const struct units *u, uint32_t count);
/* Of a unit's processes between the last two readings; 0: nothing, or not known.
 * NULL-safe. */
uint32_t gpu_sharing_ppm(const struct gpu_sharing *s, const struct units *u,
			 uint32_t device, uint32_t unit);

/* What the driver tells of a unit's processes on a device that it shares. */
struct gpu_shared_use {
	bool has_memory, has_busy; /* false: it is not told of all processes there */
	uint64_t memory_bytes;
	uint32_t busy_ppm; /* of the device, between the last two readings */
};
/* NULL-safe */
struct gpu_shared_use gpu_sharing_use(const struct gpu_sharing *s,
				      const struct units *u, uint32_t device,
				      uint32_t unit);

#endif
