/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_RAPL_READER_H
#define CEEMS_DAEMON_SOURCES_RAPL_READER_H

#include "daemon/sources/source.h"

/* The ways to read the RAPL counters, as sources; source_rapl takes the first that
 * works here. Both have the same zone names and domains. */

/* Zones of /sys/class/powercap: with limits; needs read access to energy_uj */
extern const struct source rapl_powercap;

/* Events of the kernel's PMU "power": 64 bits wide; needs the right to count on whole
 * CPUs (root, CAP_PERFMON, or kernel.perf_event_paranoid below 1) */
extern const struct source rapl_perf;

#endif
