/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_NVML_H
#define CEEMS_GPU_NVML_H

#include <stdint.h>

#include "gpu/nvml_abi.h"
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

#endif
