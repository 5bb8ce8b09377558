/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_GPU_VGPUS_H
#define CEEMS_DAEMON_GPUS_GPU_VGPUS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "lib/records/child_msg.h"

/* The vGPUs of this host's devices, as ceems-gpu has sent them, and the units that have
 * them: a unit of libvirt has the UUID of its virtual machine. */
struct gpu_vgpus;

struct gpu_vgpu {
	uint32_t device; /* the driver's number */
	/* of the device, or of the GPU instance (MIG) that it is in: by frame buffer,
	 * in equal parts where that is not told */
	uint32_t share_ppm;
	char gpu_uuid[CHILD_GPU_UUID_BYTES];
	struct child_gpu_vgpu said;
};

struct gpu_vgpus *gpu_vgpus_new(const struct env *env); /* NULL: no memory */
void gpu_vgpus_free(struct gpu_vgpus *v);               /* NULL-safe */
/* Reads what ceems-gpu has sent of devices 0..count-1; what is old is left out. */
void gpu_vgpus_take(struct gpu_vgpus *v, uint32_t count);
/* The next one after `after` (NULL: the first) that the machine of this UUID has; NULL:
 * there are no more. Borrowed until gpu_vgpus_take(). v: NULL-safe */
const struct gpu_vgpu *gpu_vgpus_next(const struct gpu_vgpus *v, const char *vm,
				      const struct gpu_vgpu *after);

#endif
