/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_RAPL_READER_H
#define CEEMS_DAEMON_SOURCES_RAPL_READER_H

#include "daemon/sources/source.h"

/* The ways to the RAPL counters, as sources of their own; source_rapl takes the first
 * one that can be read here. Both name zones alike and have channels of the same
 * domains. */

/* Zones of /sys/class/powercap: with limits, and for who may read energy_uj */
extern const struct source rapl_powercap;

/* Events of the kernel's PMU "power": 64 bits wide, for who may count on whole CPUs
 * (root, CAP_PERFMON, or kernel.perf_event_paranoid below 1) */
extern const struct source rapl_perf;

#endif
