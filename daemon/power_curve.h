/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_POWER_CURVE_H
#define CEEMS_DAEMON_POWER_CURVE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Power of a machine as a function of CPU load: straight lines between points. Plain
 * data; parsers accept any text. */

#define POWER_POINTS_MAX 101u
#define POWER_UW_MAX 1000000000000ull /* a megawatt: more is a mistake */

struct power_point {
	uint32_t percent;
	uint64_t uw;
};

struct power_curve {
	struct power_point
		points[POWER_POINTS_MAX]; /* from 0 to 100 %, never decreasing */
	uint32_t count;                   /* at least 2 */
};

/* "105" or "105.25", at most six decimals: microwatts. -EINVAL, -ERANGE. */
int power_parse_watts(const char *text, size_t len, uint64_t *ret_uw);

/* "0:105,10:160.5,...,100:420": percent and watts. -EINVAL with a text that says which
 * point is wrong and why. */
int power_parse_curve(const char *text, size_t len, struct power_curve *ret,
		      struct err *err);

/* A straight line; idle_uw <= max_uw */
void power_linear(uint64_t idle_uw, uint64_t max_uw, struct power_curve *ret);

/* The curve configured by these options ("": not given). 1: ret is set; 0: none is
 * given; -EINVAL with a text that names the option. */
int power_configured(const char *idle_watts, const char *max_watts, const char *curve,
		     struct power_curve *ret, struct err *err);

/* Microwatts at a load of busy / total CPU time; total > 0, busy above it counts as
 * full load. */
uint64_t power_at(const struct power_curve *c, uint64_t busy, uint64_t total);

#endif
