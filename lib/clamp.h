/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CLAMP_H
#define CEEMS_LIB_CLAMP_H

#include <stdint.h>

/* a - b, and 0 where b is the larger one: counters that were read one after the other,
 * or that began again, never give a huge difference. */
static inline uint64_t clamp_minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#endif
