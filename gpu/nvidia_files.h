/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_NVIDIA_FILES_H
#define CEEMS_GPU_NVIDIA_FILES_H

#include <stdbool.h>

#include "lib/err.h"

/*
 * Files that NVIDIA's library needs and that nobody here can make or open for it: said
 * in words, since the library only says that it may not, or nothing at all.
 *
 * Sources: the driver's README, chapter "nvidia-modprobe" (a setuid program makes
 * missing device files) and "procfs interface"; MIG user guide, "Device nodes and
 * capabilities": the driver grants mig/monitor to whoever can open its device file,
 * whose number and mode are in /proc/driver/nvidia/capabilities/mig/monitor.
 */

/* After the library failed to begin: adds to err's text what is missing, if it is that.
 * Returns rc. procfd, devfd: open /proc and /dev, -1: not there. */
int nvidia_files_explain(int procfd, int devfd, int rc, struct err *err);

/* Whether instances (MIG) may be monitored by us; if not, *err says what to do. */
bool nvidia_may_monitor(int procfd, int devfd, struct err *err);

#endif
