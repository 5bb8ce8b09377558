/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_GROUPS_H
#define CEEMS_OPENER_GROUPS_H

#include <stdint.h>

#include "lib/err.h"
#include "lib/records/group_slots.h"

/* The kernel programs that follow the control groups of units (bpf/groups.bpf.c). */

struct groups {
	struct groups_bpf *skeleton;
	int fds[GROUP_FDS]; /* owned by the skeleton */
	int groups_map;     /* of the numbers of groups; the same */
	uint32_t slots;
	uint32_t adopted, gone; /* steps of before, and those of them that ended
				   meanwhile */
};

/* Loads and attaches them. slots: a power of two up to GROUP_SLOTS_MAX. Groups of steps
 * that are there already, below cgroupfd, get a slot first; procfd: /proc, for cgroup
 * v1. -EPERM, -ENOENT and the like: what the kernel refuses, in one line of text. */
int groups_open(struct groups *g, int cgroupfd, int procfd, uint32_t slots,
		struct err *err);
/* The same as groups_open() does it where the kernel lacks bpf_map_lookup_percpu_elem()
 * (below 5.19) */
int groups_open_by_symbol(struct groups *g, int cgroupfd, int procfd, uint32_t slots,
			  struct err *err);
/* Gives the slots back of adopted steps whose groups are not there any more and of
 * whose end the programs did not tell: they ended before these were attached.
 * groups_open() calls it, before anybody else has the maps. Returns
 * how many. */
uint32_t groups_drop_gone(struct groups *g, int cgroupfd, int procfd);
void groups_close(struct groups *g);

#endif
