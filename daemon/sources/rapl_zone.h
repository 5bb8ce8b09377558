/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_RAPL_ZONE_H
#define CEEMS_DAEMON_SOURCES_RAPL_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sources/source.h"

/* What the texts of a powercap zone mean. Source: kernel
 * Documentation/power/powercap/powercap.rst and drivers/powercap/intel_rapl_*.c. */

#define RAPL_ZONES_MAX 512u
#define RAPL_NAME_BYTES 40u

/* The name file's text: "package-1\n" is package and index 1. A name without such an
 * end ("core", "package-0-die-1") stays whole and *ret_indexed is false: its index is
 * the number of zones of that name before it, as in the peer. -EINVAL: empty, too long
 * or not printable. */
int rapl_zone_name(const char *text, size_t len, char ret[RAPL_NAME_BYTES],
		   uint32_t *ret_index, bool *ret_indexed);

/* Parses a zone's folder name, "intel-rapl:0:1". depth: how many numbers. False: not a
 * zone. */
bool rapl_zone_folder(const char *folder, unsigned *ret_depth);

/* A zone's domain. The memory-mapped interface (intel-rapl-mmio) shows the packages a
 * second time. Packages made of dies show only those. */
enum source_domain rapl_zone_domain(const char *folder, const char *name);

/* The counter's range from max_energy_range_uj: the register has 32 bits, and the file
 * has its largest value. */
uint64_t rapl_zone_range_uj(uint64_t max_energy_range_uj);

/* An upper bound for the power of a zone; max_power_uw (0: unknown) is the
 * firmware's. */
uint64_t rapl_zone_worst_uw(const char *name, uint64_t max_power_uw);

#endif
