/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_PERF_CPU_H
#define CEEMS_DAEMON_SOURCES_PERF_CPU_H

#include <stdint.h>

/* Opens an event that counts on a whole CPU, whatever runs there: a descriptor from
 * which each read gives a 64-bit count, or negative errno. struct env carries it as
 * perf_open, since a fixture cannot imitate it. perf_event_open(2). */
int perf_open_cpu(uint32_t type, uint64_t config, int cpu);

/* The same, as perf_open_raw; each read gives a struct perf_reading. */
struct hardware_raw;
int perf_open_raw(const struct hardware_raw *event, int cpu);

#endif
