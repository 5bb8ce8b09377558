/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_KERNEL_DEVICE_H
#define CEEMS_GPU_KERNEL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/drm/drm_gpus.h"
#include "lib/err.h"
#include "lib/records/child_msg.h"

struct device;
struct kfd_view;

/* A device that is read by the files of its kernel driver: no library. Of its thread,
 * once that is started. */
struct kernel_device {
	int sysfd; /* borrowed */
	struct drm_gpu gpu;
	char folder[DRM_FOLDER_BYTES]; /* below sysfd */
	char hwmon[DRM_HWMON_BYTES];   /* "": none */
	uint64_t generation;           /* of kfd's nodes when it was opened */
	uint64_t last_uj;
	bool sleeps; /* as of the last look */
	/* Of a module of two dies, each with an address, one tells the power and
	 * energy: each has a half of what module tells. NULL: it tells its own. */
	const struct kernel_device *neighbour, *module;
	bool is_paired, second_half;
	/* amd.c: the accumulator's last count, and when it moved */
	uint64_t counts, moved_ns;
	/* intel.c: of the last reading of its values */
	uint64_t power_uj, power_ns;
	bool has_moved;
	struct kfd_view *kfd; /* NULL: no memory for it, or Intel's */
};

/* Fills what does not change. kfd is the caller's. */
void kernel_device_open(struct kernel_device *k, int sysfd, const struct drm_gpu *g);
/* What does not change of it in m (zeroed): address, name, device file. */
void kernel_device_identify(const struct kernel_device *k, uint32_t index,
			    struct child_gpu *m);
/* Looks, once a second and not for each reading of a counter, whether the device has
 * been put to sleep: a read would wake it up. -ENODEV: its folder is gone, or it is
 * divided in another way than it was. */
int kernel_device_look(struct kernel_device *k, struct err *err);
/* Why a file is missing. -ENODEV: the device is. 0: the file alone. */
int kernel_device_check(const struct kernel_device *k, struct err *err);

/* A number in a file of the device's folder, or of its hwmon's. Negative errno: it is
 * not there or cannot be read. */
int kernel_device_number(const struct kernel_device *k, const char *name,
			 uint64_t *ret);
int kernel_device_hwmon(const struct kernel_device *k, const char *name, uint64_t *ret);
/* Keeps number x scale, if rc is 0 and m does not have that value yet. */
void kernel_device_keep(struct child_gpu *m, enum child_gpu_value which, int rc,
			uint64_t number, uint64_t scale);

/* Fills d, whose link, period_ms and lost are set. k stays the caller's. */
void kernel_device_start(struct device *d, struct kernel_device *k, uint32_t index);

/* Finds the dies of an MI250 among the devices. Reads nothing. */
void amd_find_neighbours(struct kernel_device *devices, uint32_t count);
int amd_energy(struct device *d, uint64_t *ret_uj, struct err *err);
int amd_read(struct device *d, struct err *err);
void amd_send(struct device *d);

int intel_energy(struct device *d, uint64_t *ret_uj, struct err *err);
int intel_read(struct device *d, struct err *err);

#endif
