/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_HWMON_NAME_H
#define CEEMS_DAEMON_SOURCES_HWMON_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/sources/source.h"

/* Names of hwmon chips and sensors, as the peer (and node_exporter) label them. */

/* Lower case, with '_' for characters outside [a-z0-9:_] but none at the ends; cut to
 * fit. */
void hwmon_clean(const char *text, char *ret, size_t size);

/* "<bus>_<device>" from the last two components of where hwmonN/device points: folder
 * is hwmonN, link its own target ("" for a real folder), both relative to the class;
 * device is relative to that. False: nothing is left of it. */
bool hwmon_device_name(const char *folder, const char *link, const char *device,
		       char *ret, size_t size);

/* Whether this is the file of a power or energy sensor. ret_name: "power1". */
bool hwmon_sensor(const char *file, enum source_kind *ret_kind, char *ret_name,
		  size_t size);

/* A sensor's domain, by driver and label: ACPI power meters measure the node (on Grace
 * the module or CPU that their label names), amd_energy the sockets, GPU drivers their
 * GPU. Others are exported but not divided. */
enum source_domain hwmon_domain(const char *chip_name, const char *label,
				enum source_kind kind);

/* Whether the sensor is "CHIP/SENSOR", where CHIP is the chip's label or its driver. */
bool hwmon_matches(const char *spec, const char *chip, const char *chip_name,
		   const char *sensor);

#endif
