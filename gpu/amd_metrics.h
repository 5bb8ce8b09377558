/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_AMD_METRICS_H
#define CEEMS_GPU_AMD_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * The table that amdgpu gives in the device's file gpu_metrics. Its layout is of the
 * version in its head; the kernel fills what a device does not have with ones. Source:
 * the kernel's drivers/gpu/drm/amd/include/kgd_pp_interface.h. A value whose unit is
 * not stated there is left out, since it differs between devices: hwmon and the other
 * files of the device have stated units.
 */

#define AMD_METRICS_MAX 4096u /* of the file: less than a page */
#define AMD_PARTITIONS_MAX 8u

/* Index into amd_metrics.value, and as 1 << value in amd_metrics.have */
enum amd_value {
	AMD_POWER,        /* microwatts, of the socket */
	AMD_ENERGY,       /* of the accumulator, as it counts */
	AMD_BUSY,         /* parts per million */
	AMD_MEMORY_BUSY,  /* parts per million */
	AMD_TEMPERATURE,  /* millidegrees Celsius, of the hottest spot */
	AMD_CLOCK,        /* hertz */
	AMD_MEMORY_CLOCK, /* hertz */
	AMD_THROTTLE,     /* bits of all devices alike: SMU_THROTTLER_* in the kernel's
			     amdgpu_smu.h */
	AMD_PARTITIONS,   /* how many the device is divided into */
	AMD_VALUES
};

struct amd_metrics {
	uint8_t format, content; /* its version */
	bool energy_in_joules;   /* the version says that energy is in 2^-16 J */
	uint32_t have;
	uint64_t value[AMD_VALUES];
	/* Of each partition's compute units, ppm; UINT32_MAX: not told */
	uint32_t partition_busy[AMD_PARTITIONS_MAX];
};

/* data is aligned for nothing. On failure *ret is untouched. -EPROTO: a version, or a
 * length of one, that is not known; -EBADMSG: shorter than its head says. */
int amd_metrics_parse(const void *data, size_t len, struct amd_metrics *ret,
		      struct err *err);

/* 2^-16 J to microjoules, rounded down; UINT64_MAX beyond it. */
uint64_t amd_metrics_uj(uint64_t counts);

#endif
