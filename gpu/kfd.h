/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_KFD_H
#define CEEMS_GPU_KFD_H

#include "gpu/kernel_device.h"
#include "gpu/process_list.h"

/*
 * The compute processes and partitions of an AMD device, as kfd has them: class/kfd of
 * sysfs (kernel drivers/gpu/drm/amd/amdkfd/kfd_process.c). Programs that compute leave
 * no time in DRM's fdinfo; kfd tells how many compute units a process occupies at the
 * moment.
 */
struct kfd_view {
	struct process_list processes;
	uint64_t last_ns; /* of the reading before */
	/* How busy the compute dies of each partition are, from 1.6 of gpu_metrics on
	 */
	struct child_gpu_profile partitions[DRM_PARTITIONS_MAX];
};

/* Brings the processes up to date. A process holds memory of the device or occupies
 * some of it; its time is that of its part of the compute units. */
void kfd_read_processes(const struct kernel_device *k, struct kfd_view *v);
/* busy_ppm: of each partition; UINT32_MAX: not told */
void kfd_take_partitions(struct kfd_view *v, const uint32_t *busy_ppm, uint32_t count,
			 uint64_t now_ns);
/* Tells ceemsd of partitions, if there are, and processes. */
void kfd_send(const struct device *d, const struct kernel_device *k,
	      const struct kfd_view *v);

#endif
