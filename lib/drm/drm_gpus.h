/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_DRM_DRM_GPUS_H
#define CEEMS_LIB_DRM_DRM_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * GPUs that the kernel's own drivers tell about: amdgpu, xe and i915. ceems-gpu reads
 * them and ceemsd maps Slurm's indices to them, so both take them from here, in one
 * order: amdgpu's by PCI address, then Intel's. A device is its PCI address: serial
 * numbers are missing or equal on some boards. Names and layouts: the kernel's
 * Documentation/ABI/testing/sysfs-bus-pci, amdgpu's drm render nodes, and
 * kfd_topology.c (class/kfd), which tells the compute partitions of a device.
 */

#define DRM_GPUS_MAX 64u
#define DRM_PARTITIONS_MAX 8u
#define DRM_PCI_BYTES 16
#define DRM_NONE UINT32_MAX

enum drm_driver { DRM_AMDGPU, DRM_XE, DRM_I915, DRM_DRIVERS };

/* A node of kfd */
struct drm_partition {
	uint32_t gpu_id;       /* in the names of class/kfd/kfd/proc */
	uint32_t render;       /* /dev/dri/renderD<render>; DRM_NONE */
	uint32_t units;        /* compute units; 0: unknown */
	uint32_t dies;         /* compute dies (XCC); 0: unknown */
	uint64_t memory_bytes; /* 0: unknown */
};

struct drm_gpu {
	enum drm_driver driver;
	char pci[DRM_PCI_BYTES]; /* "0000:c1:00.0" */
	uint32_t device_id;      /* PCI's; 0: unknown */
	uint32_t render, card;   /* numbers of its own device files; DRM_NONE */
	/* As kfd sees it: 0 it does not, 1 as a whole, more: divided */
	uint32_t partition_count;
	struct drm_partition partitions[DRM_PARTITIONS_MAX];
};

struct drm_gpus {
	uint32_t count;
	uint32_t left_out; /* beyond DRM_GPUS_MAX */
	struct drm_gpu gpu[DRM_GPUS_MAX];
};

/* Of Intel's devices only those that measure their energy: the graphics of a processor
 * are in its package. sysfd: an open /sys or a test's folder. 0, with none too. */
int drm_gpus_find(int sysfd, struct drm_gpus *ret, struct err *err);

/* Whether any device is one of these drivers', whatever it measures */
bool drm_gpus_are_there(int sysfd);

/* The number of the first of them among all GPUs of the node: NVIDIA's come before, as
 * many as its driver lists in procfd's driver/nvidia/gpus (-1: none), also those that
 * are not read, or as the caller knows by its library. */
uint32_t drm_gpus_base(int procfd, uint32_t nvidia_count);

/* The device and partition of "/dev/dri/renderD129" or "/dev/dri/card1", in whatever
 * folder dri is: index into g, or DRM_NONE. *ret_partition: DRM_NONE where the device
 * is not divided. */
uint32_t drm_gpus_of_file(const struct drm_gpus *g, const char *file,
			  uint32_t *ret_partition);

/* The folder of the device below sysfd, "bus/pci/devices/0000:c1:00.0". */
#define DRM_FOLDER_BYTES 48
void drm_gpu_folder(const struct drm_gpu *g, char ret[DRM_FOLDER_BYTES]);

/* Its hwmon folder below sysfd, such as ".../hwmon/hwmon3". -ENOENT: it has none. */
#define DRM_HWMON_BYTES 96
int drm_gpu_hwmon(int sysfd, const struct drm_gpu *g, char ret[DRM_HWMON_BYTES]);

#endif
