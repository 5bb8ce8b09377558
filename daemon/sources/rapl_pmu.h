/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_RAPL_PMU_H
#define CEEMS_DAEMON_SOURCES_RAPL_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sources/source.h"

/* Parsers for a PMU's files in /sys/bus/event_source/devices, for any bytes. Source:
 * kernel Documentation/ABI/testing/sysfs-bus-event_source-devices-events and
 * arch/x86/events/rapl.c. */

/* "event=0x02\n": the PMU's configuration. -EINVAL: anything else, including terms of
 * other PMUs. */
int rapl_pmu_event(const char *text, size_t len, uint64_t *ret);

/* An event's scale, in joules ("2.3283064365386962890625e-10"), as microjoules in units
 * of 2^-64, which is exact for the kernel's 2^-32 J. -EINVAL, -ERANGE: not between
 * 1e-15 and 9e-7 J. */
int rapl_pmu_scale(const char *text, size_t len, uint64_t *ret);

/* Microjoules of a count */
static inline uint64_t rapl_pmu_uj(uint64_t count, uint64_t scale)
{
	return (uint64_t)((unsigned __int128)count * scale >> 64);
}

/* "energy-pkg": its powercap name ("package") and domain. False: not an energy
 * event. */
bool rapl_pmu_name(const char *event, char *ret, size_t size,
		   enum source_domain *ret_domain);

#endif
