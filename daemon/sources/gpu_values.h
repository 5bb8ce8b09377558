/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_GPU_VALUES_H
#define CEEMS_DAEMON_SOURCES_GPU_VALUES_H

#include "lib/prom.h"
#include "lib/records/child_msg.h"

/* Puts what a device told, each value in its family; labels, of which there are n, are
 * the device's. */
void gpu_values_put(struct prom *out, const struct child_gpu *m,
		    const struct prom_label *labels, size_t n);

/* The same of the instances of a device that is divided. */
void gpu_instances_put(struct prom *out, const struct child_gpu_instances *m,
		       const struct prom_label *labels, size_t n);

#endif
