/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_DEVICE_H
#define CEEMS_GPU_DEVICE_H

#include <stdint.h>

#include "gpu/device_nvml.h"
#include "gpu/nvml.h"
#include "gpu/refresh.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/periodic.h"

struct device;
struct kernel_device;

/* How a kind of device is read. Each call may take as long as the driver likes. */
struct device_ops {
	/* Its energy counter, microjoules. -EOPNOTSUPP: it has none, or none any more.
	 * -ENODEV, here and below: the device is lost. */
	int (*energy)(struct device *d, uint64_t *ret_uj, struct err *err);
	/* d->out.m's value and have. Values that it does not have are left out. */
	int (*read)(struct device *d, struct err *err);
	/* Tells ceemsd what else was read. NULL: there is nothing. */
	void (*send)(struct device *d);
};

/* One device, read by a thread of its own, since a driver call can take minutes. */
struct device {
	const struct device_ops *ops;
	struct nvml *nvml;            /* an NVIDIA device's; else NULL */
	struct kernel_device *kernel; /* AMD's or Intel's; else NULL */
	int link;                     /* ceemsd's socket, borrowed */
	uint64_t period_ms;
	/* ends the program, so that it is started anew with a fresh library */
	void (*lost)(const struct err *why);
	/* of its thread, once that is started */
	nvml_device handle;
	struct periodic thread;
	bool has_counter;
	bool has_news, has_point; /* since the last message */
	struct counter_refresh refresh;
	struct device_nvml *more; /* of an NVIDIA device */
	struct log_repeat log;
	union {
		struct child_gpu m;
		char bytes[sizeof(struct child_gpu) +
			   CHILD_GPU_POINTS_MAX * sizeof(struct child_gpu_point)];
	} out;
};

/* Fills d, whose nvml, link, period_ms and lost are set, with what does not change of
 * the NVIDIA device. Errors of nvml_identify(); -ENODEV: it is lost. */
int device_open(struct device *d, uint32_t index, struct err *err);
/* Sends ceemsd a message whose head is yet to be filled in. */
void device_send(const struct device *d, struct child_head *h, enum child_kind kind,
		 uint32_t count, size_t bytes);
/* Reads it once: d->out.m. Errors of ops. */
int device_read(struct device *d, struct err *err);
/* Reads it again and again, and tells ceemsd. There is no way to stop it: a thread that
 * hangs in the driver never would. */
int device_start(struct device *d, struct err *err);

#endif
