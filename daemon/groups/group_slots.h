/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_GROUP_SLOTS_H
#define CEEMS_DAEMON_GROUPS_GROUP_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/group_slots.h"

/* The kernel programs' maps, mapped into ceemsd. No function makes a system call after
 * group_slots_open(), and no value read from a map is trusted as an index. One thread
 * at a time. */
struct group_slots {
	struct group_slot *slots;
	uint64_t *free, *events;
	struct group_control *control;
	uint32_t count; /* power of two */
	int fds[GROUP_FDS];
};

/* Maps them. The descriptors' ownership is taken, also on failure. */
int group_slots_open(struct group_slots *s, const int fds[GROUP_FDS], uint32_t count,
		     struct err *err);
/* All groups that are there may have been counted by an earlier unit table. */
void group_slots_adopt(struct group_slots *s);
/* Unmaps and detaches the programs. Accepts what was zeroed. */
void group_slots_close(struct group_slots *s);

/* The next event: its slot, and what happened. False: there is none. */
bool group_slots_next(struct group_slots *s, uint32_t *ret_slot,
		      enum group_event *ret_what);
/* The kernel may use an ended slot again. Its contents must have been copied. */
void group_slots_release(struct group_slots *s, uint32_t slot);

#endif
