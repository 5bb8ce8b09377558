/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quantities of Kubernetes. */
#include "aggregator/kubernetes/kube_quantity.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1152921504606846976.0 /* 2^60 */

static bool is_number(const char *s, size_t n)
{
	size_t digits = 0, dots = 0;

	for (size_t i = 0; i < n; i++) {
		digits += s[i] >= '0' && s[i] <= '9';
		dots += s[i] == '.';
	}
	return digits && dots <= 1 && digits + dots == n && n < 64;
}

int kube_quantity(const char *s, uint64_t *ret_milli)
{
	static const struct {
		const char *suffix;
		double factor;
	} units[] = {
		{"", 1e3},
		{"m", 1},
		{"k", 1e6},
		{"M", 1e9},
		{"G", 1e12},
		{"T", 1e15},
		{"P", 1e18},
		{"Ki", 1024e3},
		{"Mi", 1048576e3},
		{"Gi", 1073741824e3},
		{"Ti", 1024e3 * 1073741824.0},
		{"Pi", 1048576e3 * 1073741824.0},
		{"u", 1e-3},
		{"n", 1e-6},
	};
	size_t n = strspn(s, "0123456789.");
	double value = 0, factor = 0;

	if (!is_number(s, n))
		return -EINVAL;
	/* digits alone: no locale has another opinion of them, a dot apart */
	for (size_t i = 0, after = 0; i < n; i++) {
		if (s[i] == '.') {
			after = 1;
			continue;
		}
		value = value * 10 + (s[i] - '0');
		if (after)
			factor = factor == 0 ? 10 : factor * 10;
	}
	if (factor != 0)
		value /= factor;
	const char *suffix = s + n;
	char *end = NULL;
	if ((*suffix == 'e' || *suffix == 'E') && suffix[1]) {
		long e = strtol(suffix + 1, &end, 10);
		if (*end || e < -9 || e > 18)
			return -EINVAL;
		factor = 1e3 * pow(10, (double)e);
	} else {
		factor = 0;
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
			if (strcmp(units[i].suffix, suffix) == 0)
				factor = units[i].factor;
		}
	}
	if (factor == 0)
		return -EINVAL;
	value = ceil(value * factor);
	if (value >= MOST)
		return -ERANGE;
	*ret_milli = (uint64_t)value;
	return 0;
}
