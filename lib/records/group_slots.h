/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_GROUP_SLOTS_H
#define CEEMS_LIB_RECORDS_GROUP_SLOTS_H

/*
 * What the kernel programs and ceemsd share: plain arrays that ceemsd maps
 *(BPF_F_MMAPABLE), since it makes no bpf() call. Each array belongs to one opener and
 *lives as long as somebody has it mapped. Fixed sizes, little or big endian as the
 *machine; both sides are from one build (OPENER_VERSION). All times are
 *CLOCK_BOOTTIME, ns.
 *
 * A slot is taken at cgroup_mkdir of a unit's control group and ends at its
 *cgroup_rmdir, when its last counters are in it; ceemsd takes them and gives the slot
 *back. The kernel calls both programs with cgroup_mutex held, so that the kernel's side
 *of each queue has one writer:
 *
 *	free:   ceemsd puts (free_tail), the kernel takes (free_head)
 *	events: the kernel puts (event_head), ceemsd takes (event_tail)
 *
 * A queue's indices count for ever; the element is index modulo its size (a power of
 *two).
 */

#define GROUP_SLOTS_MAX 65536u
#define GROUP_PATH_BYTES 256u /* a longer path is cut: no slot is taken */
#define GROUP_EVENTS_PER_SLOT 2u

enum group_slot_state {
	GROUP_SLOT_FREE = 0,
	GROUP_SLOT_LIVES = 1,
	GROUP_SLOT_ENDED = 2
};

/* What a slot's counters are: of which hierarchy, and what could be read at its end */
enum group_slot_has {
	GROUP_SLOT_UNIFIED = 1 << 0, /* cgroup v2; else one hierarchy of v1 */
	GROUP_SLOT_CPU = 1 << 1,
	GROUP_SLOT_MEMORY = 1 << 2,
	GROUP_SLOT_ADOPTED =
		1 << 3, /* was there before the programs: made_ns is not known */
};

struct group_slot {
	unsigned long long cgroup; /* inode of the directory; unique in its hierarchy */
	unsigned int hierarchy;    /* number in /proc/cgroups, 0: v2 */
	unsigned int state;        /* enum group_slot_state */
	unsigned int has;   /* enum group_slot_has; CPU and MEMORY once it has ended */
	unsigned int known; /* ceemsd's: a record or a walk told of the step */
	unsigned long long made_ns, ended_ns;
	/* v2: of all groups below it that have been removed, without those of
	 * slurmstepd itself (step_N/slurm), whose time is in stepd_cpu_ns; v1: the
	 * group's own, which includes all below it. user and system are as the kernel
	 * accounts them (in ticks on most), only their ratio is to be used; cpu_ns is
	 * exact. */
	unsigned long long cpu_ns, user_ns, system_ns, stepd_cpu_ns;
	unsigned long long memory_peak_bytes, oom_kills;
	char path[GROUP_PATH_BYTES]; /* below the hierarchy's root, from "/" */
	/* ceemsd's, of a slot that it keeps after the end, for what other maps count in
	 * it: its unit's place in the table + 1, and what tells that unit from others
	 */
	unsigned int kept_unit, kept_mark;
	unsigned long long reserved2[3];
};

struct group_control {
	unsigned long long free_head, event_head; /* written by the kernel programs */
	unsigned long long
		no_slot; /* unit control groups without a slot: all were taken */
	unsigned long long made, ended;
	unsigned long long long_paths; /* without a slot: of GROUP_PATH_BYTES or more */
	unsigned long long reserved1[2];
	unsigned long long free_tail, event_tail; /* written by ceemsd */
	unsigned long long reserved2[6];
};

enum group_event { GROUP_EVENT_MADE = 0, GROUP_EVENT_ENDED = 1 };

/* An element of events: slot << 1 | enum group_event. An element of free: a slot. Both
 * are 8 bytes. */
#define GROUP_EVENT(slot, what) ((unsigned long long)(slot) << 1 | (what))

/* The descriptors that the opener hands over (lib/records/opener_message.h); count is
 * the number of slots, a power of two, detail[GROUP_DETAIL_ADOPTED] how many of them
 * are of groups that were there before. */
enum group_fd {
	GROUP_FD_SLOTS,
	GROUP_FD_FREE,
	GROUP_FD_EVENTS,
	GROUP_FD_CONTROL,
	GROUP_FD_MADE, /* the attached programs */
	GROUP_FD_REMOVED,
	GROUP_FDS
};
enum { GROUP_DETAIL_ADOPTED };

#endif
