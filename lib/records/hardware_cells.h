/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_HARDWARE_CELLS_H
#define CEEMS_LIB_RECORDS_HARDWARE_CELLS_H

/*
 * Hardware and cache events of units. Each CPU has one event of each kind for all its
 * tasks; a kernel program reads them when the CPU goes from one unit's task to another
 * unit's, or to none of a unit, and adds the difference to the slot (group_slots.h) of
 * the unit that it leaves. A plain array that ceemsd maps; it clears a slot's cells
 * when it gives the slot back, until then they only count up. Stripes as in
 * perf_cells.h.
 *
 * Events that are set in relation to each other are in one group, which the kernel
 * counts at the same time or not at all. With more groups than the CPU has counters for
 * they take turns: running_ns is then less than enabled_ns.
 *
 * Kernel memory: slots * groups * stripes * 64 bytes.
 */

#define HARDWARE_STRIPES_MAX 4u /* possible CPUs, up to this; a power of two */
#define HARDWARE_MEMBERS 6u     /* of a group, at most */

enum hardware_event {
	HARDWARE_CYCLES,
	HARDWARE_INSTRUCTIONS,
	HARDWARE_REF_CYCLES,
	HARDWARE_CACHE_REFS,
	HARDWARE_CACHE_MISSES,
	HARDWARE_BRANCHES,
	HARDWARE_BRANCH_MISSES,
	HARDWARE_L1D_READS, /* the first of the cache events */
	HARDWARE_L1D_READ_MISSES,
	HARDWARE_L1D_WRITES,
	HARDWARE_L1I_READ_MISSES,
	HARDWARE_LL_READS,
	HARDWARE_LL_READ_MISSES,
	HARDWARE_LL_WRITES,
	HARDWARE_LL_WRITE_MISSES,
	HARDWARE_ITLB_READS,
	HARDWARE_ITLB_READ_MISSES,
	HARDWARE_BPU_READS,
	HARDWARE_BPU_READ_MISSES,
	HARDWARE_RAW, /* the first of those that a file names (hardware_raw.h) */
	HARDWARE_EVENTS = HARDWARE_RAW + 12
};
#define HARDWARE_NAMED HARDWARE_RAW /* all before */
#define HARDWARE_RAW_MAX (HARDWARE_EVENTS - HARDWARE_RAW)
#define HARDWARE_GENERAL_MASK ((1u << HARDWARE_L1D_READS) - 1)
#define HARDWARE_CACHE_MASK ((1u << HARDWARE_RAW) - (1u << HARDWARE_L1D_READS))
#define HARDWARE_RAW_MASK ((1u << HARDWARE_EVENTS) - (1u << HARDWARE_RAW))
#define HARDWARE_GROUPS_MAX HARDWARE_EVENTS /* if each is alone */

/* One stripe of one group */
struct hardware_counts {
	unsigned long long values[HARDWARE_MEMBERS];
	unsigned long long enabled_ns, running_ns;
};

/* Written by the opener before anything is attached; armed and armed_groups by ceemsd.
 */
struct hardware_control {
	unsigned int armed;        /* another number each time; 0: nothing is counted */
	unsigned int armed_groups; /* one bit each */
	unsigned int groups, events;
	unsigned int group_events[HARDWARE_GROUPS_MAX]; /* mask of enum hardware_event;
							   its members in that order */
	int refused[HARDWARE_EVENTS]; /* negative errno: could not be opened */
};

/* The descriptors that the opener hands over; count is the number of slots. */
enum hardware_fd {
	HARDWARE_FD_COUNTS,   /* [slot][group][stripe] struct hardware_counts */
	HARDWARE_FD_CONTROL,  /* struct hardware_control */
	HARDWARE_FD_EVENTS,   /* keeps the events */
	HARDWARE_FD_LEADERS,  /* a socket, see below */
	HARDWARE_FD_SWITCHED, /* the attached program */
	HARDWARE_FDS
};
enum { HARDWARE_DETAIL_STRIPES, HARDWARE_DETAIL_GROUPS };

/*
 * The first event of each group on each CPU is in messages that wait in a socket and
 * are only looked at (MSG_PEEK, SO_PEEK_OFF), so that ceemsd and systemd keep one
 * descriptor instead of thousands. PERF_EVENT_IOC_ENABLE and _DISABLE on the first
 * event are for the whole group. A message is the number of the group, and descriptors.
 */
#define HARDWARE_LEADERS_MAX 64u /* of one message */

#endif
