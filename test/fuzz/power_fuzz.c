/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The energy model's coefficients: a curve that is taken never falls and meets its
 * points; what is refused says why. */
#include "daemon/power_curve.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct power_curve *c)
{
	uint64_t last = 0;

	if (c->count < 2 || c->count > POWER_POINTS_MAX)
		abort();
	for (uint32_t i = 0; i < c->count; i++) {
		if (power_at(c, c->points[i].percent, 100) != c->points[i].uw)
			abort();
	}
	for (uint64_t busy = 0; busy <= 997; busy += 7) {
		uint64_t uw = power_at(c, busy * (UINT64_MAX / 997), UINT64_MAX);
		if (uw < last || uw > POWER_UW_MAX)
			abort();
		last = uw;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct power_curve c;
	struct err err = {""};
	uint64_t uw;

	if (power_parse_watts(text, size, &uw) == 0 && uw > POWER_UW_MAX)
		abort();
	if (power_parse_curve(text, size, &c, &err) == 0)
		check(&c);
	else if (!err.text[0])
		abort();
	return 0;
}
