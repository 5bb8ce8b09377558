/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_GPU_READINGS_H
#define CEEMS_DAEMON_TICKER_GPU_READINGS_H

#include <stdint.h>

#include "daemon/energy.h"
#include "daemon/env.h"
#include "lib/records/child_msg.h"

/* The last readings of the devices' counters, as ceems-gpu has sent them. */
struct gpu_readings;

struct gpu_readings *gpu_readings_new(const struct env *env); /* NULL: no memory */
void gpu_readings_free(struct gpu_readings *r);               /* NULL-safe */
/* Of the devices 0..count-1 as the driver numbers them, up to when each was measured
 * (measured_ns); those that ceems-gpu does not read are empty. Borrowed until the next
 * call. */
const struct energy_history *
gpu_readings_take(struct gpu_readings *r, const uint64_t *measured_ns, uint32_t count);
/* The time over which they are charged, if all that answer are charged by their
 * readings; else *t0_ns and *t1_ns stay. As of gpu_readings_take(). */
void gpu_readings_window(const struct gpu_readings *r, uint64_t *t0_ns,
			 uint64_t *t1_ns);
/* The tick has charged and used them: the next ones begin where these end. */
void gpu_readings_commit(struct gpu_readings *r);
/* Up to when all devices have been charged that still answer at now_ns; 0: there is no
 * such device. */
uint64_t gpu_readings_charged_ns(const struct gpu_readings *r, uint64_t now_ns);

/* The other values of a device, as of its last reading; read_ns 0: there is none. */
struct gpu_reading {
	uint64_t read_ns, used_ns; /* boot time; of the reading that was used before */
	uint64_t have;             /* bits 1 << enum child_gpu_value */
	uint64_t value[CHILD_GPU_VALUES];
	uint32_t processes; /* on the device, as far as its driver says */
	uint32_t figures;   /* bits 1 << enum child_gpu_figure */
	uint32_t ppm[CHILD_GPU_FIGURES];
};
/* As of gpu_readings_take(). NULL: no such device */
const struct gpu_reading *gpu_readings_last(const struct gpu_readings *r,
					    uint32_t device);
/* Likewise of a GPU instance of a divided device, which tells its memory and figures.
 * NULL: none is known. */
const struct gpu_reading *gpu_readings_instance(const struct gpu_readings *r,
						uint32_t device, uint32_t instance);
/* For how long before it the reading stands; 0: it has been used. */
uint64_t gpu_reading_ns(const struct gpu_reading *g);

#endif
