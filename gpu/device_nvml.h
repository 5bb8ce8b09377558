/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_DEVICE_NVML_H
#define CEEMS_GPU_DEVICE_NVML_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/module_check.h"
#include "gpu/nvml.h"
#include "lib/err.h"
#include "lib/periodic.h"

struct device;

/* What ceems-gpu knows of an NVIDIA device beside its values: instances, processes,
 * samples of its performance counters. Of the device's thread, but for the atomics. */
struct device_nvml {
	atomic_uint_fast64_t xids, xid_last;
	atomic_bool watched; /* for XIDs */
	struct nvml_busy busy;
	struct nvml_gpm gpm;
	struct nvml_processes processes;
	struct nvml_vgpus vgpus;
	bool hosts_vgpus; /* it had one */
	struct module_check module;
	bool module_told; /* or there is none */
	bool divided, layout_known;
	uint32_t instance_count, slices;
	struct nvml_instance instance[CHILD_GPU_INSTANCES_MAX];
	/* by place in instance; those of one GPU instance are in the first of them */
	struct nvml_gpm instance_gpm[CHILD_GPU_INSTANCES_MAX];
};

/* NULL: no memory */
struct device_nvml *device_nvml_new(bool divided);
/* With the library still open. v: NULL-safe */
void device_nvml_free(struct device_nvml *v, struct nvml *n);
/* Reads it once, after d's values. -ENODEV: the device is lost, or divided in another
 * way, so that the library must be opened anew. What cannot be read is left out. */
int device_nvml_read(struct device *d, struct err *err);
/* Tells ceemsd of instances and processes. */
void device_nvml_send(struct device *d);

/* Counts the driver's reports of errors of all devices, by a thread of its own. */
struct device_watch {
	struct nvml *nvml;
	void *set;
	struct device *devices;
	uint32_t count;
	struct periodic thread;
};
int device_watch_start(struct device_watch *w, struct err *err);

#endif
