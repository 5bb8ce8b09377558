/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RFC3339_H
#define CEEMS_LIB_RFC3339_H

#include <stdint.h>

/* Times as web services write them (RFC 3339, the profile of ISO 8601), always with a
 * zone: "2025-08-07T10:00:00Z", "2025-08-07 12:00:00.123+02:00". Pure functions, no
 * locale, no TZ. */

/* Whole seconds since 1970 UTC; a fraction is truncated. The whole string must be the
 * time. -EINVAL: not one, or it has no zone; -ERANGE: before 1970 or after 9999. */
int rfc3339_parse(const char *s, uint64_t *ret_s) __attribute__((warn_unused_result));

#define RFC3339_BYTES 21 /* "2025-08-07T10:00:00Z" and its NUL */

/* In UTC. Later than 9999 is written as the end of 9999. */
void rfc3339_print(uint64_t time_s, char ret[RFC3339_BYTES]);

#endif
