/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_PERF_CELLS_H
#define CEEMS_LIB_RECORDS_PERF_CELLS_H

/*
 * Software events of units, from what the kernel counts for each task anyway: added to
 * the slot (group_slots.h) of its control group when the task exits, and once a second
 * while it is found running. A plain array that ceemsd maps; it clears a slot's cells
 * when it gives the slot back, until then they only count up. Each slot's counts lie in
 * stripes, so that CPUs seldom write to the same line: their value is the sum.
 *
 * Kernel memory: slots * stripes * 64 bytes.
 */

#define PERF_STRIPES_MAX 4u /* possible CPUs, up to this; a power of two */

/* One stripe. The task's min_flt, maj_flt, nvcsw + nivcsw and se.nr_migrations
 * (include/linux/sched.h); the first three are getrusage(2)'s. */
struct perf_counts {
	unsigned long long minor_faults, major_faults;
	unsigned long long switches, migrations;
	unsigned long long reserved[4];
};

/* The descriptors that the opener hands over; count is the number of slots. */
enum perf_fd {
	PERF_FD_COUNTS, /* [slot][stripe] struct perf_counts */
	PERF_FD_TICKS,  /* keeps the events of once a second */
	PERF_FD_EXITED, /* the attached programs */
	PERF_FD_MOVED,
	PERF_FDS
};
enum { PERF_DETAIL_STRIPES };

#endif
