/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_NVML_H
#define CEEMS_GPU_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/nvml_abi.h"
#include "gpu/process_list.h"
#include "lib/err.h"
#include "lib/records/child_msg.h"

/*
 * NVIDIA's management library, opened at run time. A call may take as long as the
 * driver likes: nothing here waits for it but the thread that calls. The calls are
 * thread safe, as the library says of its own.
 */
struct nvml;

/* path: the library's name or file. -ENOENT: no such library; -ENODEV: it finds no
 * driver; -EPROTO: it is not of the driver's release, or lacks what is needed. The
 * library stays open until the process ends: it is never safe to unload. */
int nvml_open(const char *path, struct nvml **ret, struct err *err);
/* Lets the driver go (nvmlShutdown). NULL-safe. */
void nvml_close(struct nvml *n);

/* Of the driver, "" if unknown */
const char *nvml_driver(const struct nvml *n);
int nvml_count(struct nvml *n, uint32_t *ret, struct err *err);

/* The device, and what never changes of it in m (zeroed). -EACCES: not ours to see. */
int nvml_identify(struct nvml *n, uint32_t index, nvml_device *ret, struct child_gpu *m,
		  struct err *err);

/* The energy counter, microjoules since the driver was loaded. -EOPNOTSUPP: it has none
 * (before Volta). -ENODEV, here and below: the device is lost, or the library must be
 * opened anew. */
int nvml_energy(struct nvml *n, nvml_device d, uint64_t *ret_uj, struct err *err);
/* m->value and m->have. Values that the device does not have are left out. */
int nvml_read(struct nvml *n, nvml_device d, struct child_gpu *m, struct err *err);

/* Power now of the GPU and of the module that it is on with a processor. -EOPNOTSUPP:
 * it is on none. */
int nvml_module_power(struct nvml *n, nvml_device d, uint64_t *ret_gpu_uw,
		      uint64_t *ret_module_uw, struct err *err);

/* The time in which a kernel ran, by the driver's own samples. {0} is valid. */
struct nvml_busy {
	unsigned long long last_us; /* of the newest sample, by the host's clock */
	uint64_t total_ns;
};
/* Takes the samples since the last call. -EOPNOTSUPP; -ENODATA: none so far. */
int nvml_busy(struct nvml *n, nvml_device d, struct nvml_busy *b, struct err *err);

/* Whether the device is divided into instances (MIG) */
int nvml_divided(struct nvml *n, nvml_device d, bool *ret, struct err *err);

struct nvml_instance {
	nvml_device handle;
	struct child_gpu_instance item;
};
/* At most CHILD_GPU_INSTANCES_MAX, ascending by numbers, with their memory, but without
 * a profile; and the device's slices. */
int nvml_instances(struct nvml *n, nvml_device d, struct nvml_instance *ret,
		   uint32_t *ret_count, uint32_t *ret_slices, struct err *err);

/* Samples of a device or an instance. {0} is valid. */
struct nvml_gpm {
	nvml_gpm_sample sample[2];
	unsigned newest;
	bool is_open;
	uint64_t at_ns; /* of the newest; 0: there is none */
};
/* Takes a sample, and adds what passed since the last one to p. parent: the device,
 * also of an instance. gi: of an instance, or CHILD_GPU_NONE. -EOPNOTSUPP: before
 * Hopper. */
int nvml_profile(struct nvml *n, nvml_device parent, uint32_t gi, struct nvml_gpm *g,
		 uint64_t now_ns, struct child_gpu_profile *p, struct err *err);
/* Gives its samples back. */
void nvml_profile_end(struct nvml *n, struct nvml_gpm *g);

/* {0} is valid. */
struct nvml_processes {
	struct process_list list;
	unsigned long long last_us; /* of the newest sample of their use */
};
/* Brings the list up to date. instances: NULL on a device that is not divided. */
int nvml_list_processes(struct nvml *n, nvml_device d,
			const struct nvml_instance *instances, uint32_t instance_count,
			struct nvml_processes *l, struct err *err);

/* {0} is valid. */
struct nvml_vgpus {
	uint32_t count;
	struct child_gpu_vgpu item[CHILD_GPU_VGPUS_MAX]; /* ascending by id */
	unsigned long long last_us; /* of the newest sample of their use */
};
/* Those that run now. -EOPNOTSUPP: not a host of vGPUs. */
int nvml_list_vgpus(struct nvml *n, nvml_device d, struct nvml_vgpus *l,
		    struct err *err);

/* Switches accounting mode on, for whoever wants to: it takes root, and lasts until the
 * driver is unloaded. -EACCES; -EOPNOTSUPP: the device has none. */
int nvml_enable_accounting(struct nvml *n, nvml_device d, struct err *err);

/* The driver's reports of errors (XID). The set lives as long as the process. */
int nvml_events_open(struct nvml *n, void **ret, struct err *err);
int nvml_events_add(struct nvml *n, void *set, nvml_device d, struct err *err);
/* -EAGAIN: none in this time */
int nvml_events_wait(struct nvml *n, void *set, unsigned timeout_ms, nvml_device *ret,
		     uint64_t *ret_xid, struct err *err);

#endif
