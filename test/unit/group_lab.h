/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_GROUP_LAB_H
#define CEEMS_TEST_GROUP_LAB_H

#include <sys/mman.h>
#include <unistd.h>

#include "daemon/groups/group_slots.h"
#include "test/unit/unit.h"

/* The maps of the kernel programs without a kernel, for faults: memory that is mapped
 * twice. */
#define GROUP_LAB_SLOTS 64u

static inline int group_lab_map(size_t bytes)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	return fd;
}

/* ours: as ceemsd maps them; kernel: as the kernel programs write them, with all slots
 * free */
static inline void group_lab_open(struct group_slots *ours, struct group_slots *kernel)
{
	const size_t event_bytes =
		GROUP_LAB_SLOTS * GROUP_EVENTS_PER_SLOT * sizeof(uint64_t);
	int fds[GROUP_FDS], copies[GROUP_FDS];
	struct err err;

	fds[GROUP_FD_SLOTS] =
		group_lab_map(GROUP_LAB_SLOTS * sizeof(struct group_slot));
	fds[GROUP_FD_FREE] = group_lab_map(GROUP_LAB_SLOTS * sizeof(uint64_t));
	fds[GROUP_FD_EVENTS] = group_lab_map(event_bytes);
	fds[GROUP_FD_CONTROL] = group_lab_map(sizeof(struct group_control));
	fds[GROUP_FD_MADE] = fds[GROUP_FD_REMOVED] = -1;
	for (unsigned i = 0; i < GROUP_FDS; i++)
		copies[i] = fds[i] < 0 ? -1 : dup(fds[i]);
	assert_int_equal(group_slots_open(ours, fds, GROUP_LAB_SLOTS, &err), 0);
	assert_int_equal(group_slots_open(kernel, copies, GROUP_LAB_SLOTS, &err), 0);
	munmap(kernel->events, event_bytes);
	kernel->events = mmap(NULL, event_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			      copies[GROUP_FD_EVENTS], 0);
	assert_true(kernel->events != MAP_FAILED);
	for (uint32_t i = 0; i < GROUP_LAB_SLOTS; i++)
		group_slots_release(kernel, i);
}

#endif
