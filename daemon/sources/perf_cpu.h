/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_PERF_CPU_H
#define CEEMS_DAEMON_SOURCES_PERF_CPU_H

#include <stdint.h>

/* An event that counts on a whole CPU, whoever runs there: a descriptor from which each
 * read gives the count as 64 bits, or negative errno. What struct env carries as
 * perf_open, since a folder cannot imitate it. perf_event_open(2). */
int perf_open_cpu(uint32_t type, uint64_t config, int cpu);

#endif
