/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_UNIT_GPU_LABELS_H
#define CEEMS_DAEMON_GPUS_UNIT_GPU_LABELS_H

#include <stdint.h>

#include "daemon/env.h"
#include "daemon/gpus/gpus.h"
#include "daemon/units.h"
#include "lib/prom.h"

/*
 * What ceems_compute_unit_gpu_* call a device of a unit: by index and hindex as the
 * manager counts that gave it to the unit, Slurm for a job, the driver for virtual
 * machines and pods, "" if nobody did; by gpuuuid and gpuiid as ceems_gpu_* do.
 */

#define UNIT_GPU_LABELS 8u

struct unit_gpu_labels {
	struct prom_label label[UNIT_GPU_LABELS + 2]; /* the last is gpuiid; two more */
	char index[16], hindex[RECORD_NAME_MAX * 5], instance[16];
};

/* index, instance: GPUS_NONE for "". ret points into itself and to what it is given. */
void unit_gpu_labels(struct unit_gpu_labels *ret, const struct env *env,
		     const struct unit *unit, uint32_t index, const char *uuid,
		     uint32_t instance);

/* ceems_compute_unit_gpu_memory_used_bytes, whoever tells it */
extern const struct prom_family unit_gpu_memory_used;

#endif
