/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_GPU_PROCESSES_H
#define CEEMS_DAEMON_GPUS_GPU_PROCESSES_H

#include "daemon/env.h"
#include "daemon/units.h"
#include "lib/prom.h"

/* Processes on the devices: whose they are, and those on a device that their unit was
 * not given. */
void gpu_processes_export(const struct env *env, struct units *units, struct prom *out);

#endif
