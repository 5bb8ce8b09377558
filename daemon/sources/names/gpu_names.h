/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_NAMES_GPU_NAMES_H
#define CEEMS_DAEMON_SOURCES_NAMES_GPU_NAMES_H

#include <stdbool.h>

#include "lib/prom.h"
#include "lib/records/child_msg.h"

/* --collector.gpu.dcgm-names: what a device tells under the names, labels and units of
 * NVIDIA's dcgm-exporter (etc/default-counters.csv, etc/dcp-metrics-included.csv) or of
 * AMD's device-metrics-exporter (docs/configuration/metricslist.md), for dashboards
 * that know those. instances: of a divided device, else NULL; each has the device's
 * values. */
void gpu_names_put(struct prom *out, const struct child_gpu *m,
		   const struct child_gpu_instances *instances, const char *hostname);

/* Whether a server listens on dcgm-exporter's port. procfd: an open /proc */
bool gpu_names_are_taken(int procfd);

#endif
