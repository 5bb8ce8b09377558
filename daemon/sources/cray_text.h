/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_CRAY_TEXT_H
#define CEEMS_DAEMON_SOURCES_CRAY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sources/source.h"

/* Files of /sys/cray/pm_counters. Source: HPE Cray EX "User Access to Compute Node
 * Power Data". */

struct cray_reading {
	uint64_t value; /* in the file's own unit: W, J, C or none */
	uint64_t us;    /* wall clock of the measurement, microseconds; 0: none */
};

/* "100 W 1734094386462336 us": value, unit (which must be `unit`; NULL: none), and the
 * time if there is one. -ENODATA: empty; -EINVAL: anything else, a wrong unit
 * included. */
int cray_parse(const char *text, size_t len, const char *unit,
	       struct cray_reading *ret);

#define CRAY_DOMAIN_BYTES 16u

/* Splits "accel0_power_cap" into domain ("node" for names without one), kind and number
 * (0 if there is none; *ret_numbered says which). False: not the file of a domain's
 * value. */
bool cray_file(const char *file, char ret_domain[CRAY_DOMAIN_BYTES],
	       enum source_kind *ret_kind, uint32_t *ret_index, bool *ret_numbered);

/* The unit of such a file's value, and the factor to ours (microjoules, microwatts,
 * millidegrees). */
const char *cray_unit(enum source_kind kind, uint64_t *ret_scale);

#endif
