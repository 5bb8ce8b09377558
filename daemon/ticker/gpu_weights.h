/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_GPU_WEIGHTS_H
#define CEEMS_DAEMON_TICKER_GPU_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"

/* What the instances of divided devices (MIG) are parts of: by slices, and by how much
 * they were used. */
struct gpu_weights;

struct gpu_weights *gpu_weights_new(const struct env *env); /* NULL: no memory */
void gpu_weights_free(struct gpu_weights *w);               /* NULL-safe */
/* Reads what ceems-gpu has sent of devices 0..count-1, as the driver numbers them. */
void gpu_weights_take(struct gpu_weights *w, uint32_t count);

struct gpu_weight {
	uint32_t share_ppm; /* slices */
	uint32_t use_ppm;   /* slices x use; 0 of all: it is not measured, or next to
			       nothing was used */
	bool is_part;       /* there are more compute instances in its GPU instance */
};
/* Of a GPU instance, or of one compute instance of it, which has the part of it that it
 * has of the slices of its compute instances. compute GPUS_NONE: all of the GPU
 * instance. false: ceems-gpu has not told of it. */
bool gpu_weights_of(const struct gpu_weights *w, uint32_t device, uint32_t instance,
		    uint32_t compute, struct gpu_weight *ret);

#endif
