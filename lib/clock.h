/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CLOCK_H
#define CEEMS_LIB_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull

/* Nanoseconds of CLOCK_REALTIME (may step) and CLOCK_BOOTTIME (never steps, includes
 * suspend). The daemon takes its clocks from struct env, so that tests can set them. */
static inline uint64_t clock_read_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_realtime_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

static inline uint64_t clock_boottime_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

#endif
