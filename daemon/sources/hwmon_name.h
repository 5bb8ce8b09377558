/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_HWMON_NAME_H
#define CEEMS_DAEMON_SOURCES_HWMON_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/sources/source.h"

/* Names of hwmon chips and sensors, as the peer (and node_exporter) label them. */

/* Lower case, what is not in [a-z0-9:_] as '_', none at the ends; cut to fit. */
void hwmon_clean(const char *text, char *ret, size_t size);

/* "<bus>_<device>" from the two last parts of where hwmonN/device leads: folder is
 * hwmonN, link where it leads itself ("" when it is a real folder), both relative to
 * the class; device is relative to that. False when nothing is left of it. */
bool hwmon_device_name(const char *folder, const char *link, const char *device,
		       char *ret, size_t size);

/* Is this file one of a power or energy sensor? ret_name: "power1". */
bool hwmon_sensor(const char *file, enum source_kind *ret_kind, char *ret_name,
		  size_t size);

/* What a sensor counts for, by driver and label: ACPI power meters measure the node
 * (and on Grace the module or the CPU, as they say), amd_energy its sockets, GPU
 * drivers theirs. Anything else is shown but not divided. */
enum source_domain hwmon_domain(const char *chip_name, const char *label,
				enum source_kind kind);

/* Is the sensor the one of "CHIP/SENSOR", where CHIP is the chip's label or its driver?
 */
bool hwmon_matches(const char *spec, const char *chip, const char *chip_name,
		   const char *sensor);

#endif
