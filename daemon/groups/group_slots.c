/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/group_slots.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t slots_bytes(const struct group_slots *s)
{
	return (size_t)s->count * sizeof(*s->slots);
}

static size_t events_bytes(const struct group_slots *s)
{
	return (size_t)s->count * GROUP_EVENTS_PER_SLOT * sizeof(*s->events);
}

static void *map_array(int fd, size_t bytes, int protection)
{
	void *map = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

int group_slots_open(struct group_slots *s, const int fds[GROUP_FDS], uint32_t count,
		     struct err *err)
{
	const int both = PROT_READ | PROT_WRITE;

	*s = (struct group_slots){.count = count};
	memcpy(s->fds, fds, sizeof(s->fds));
	if (!count || count > GROUP_SLOTS_MAX || (count & (count - 1))) {
		group_slots_close(s);
		return err_set(err, -EPROTO, "%u slots: not a power of two", count);
	}
	s->slots = map_array(fds[GROUP_FD_SLOTS], slots_bytes(s), both);
	s->free = map_array(fds[GROUP_FD_FREE], (size_t)count * sizeof(*s->free), both);
	s->events = map_array(fds[GROUP_FD_EVENTS], events_bytes(s), PROT_READ);
	s->control = map_array(fds[GROUP_FD_CONTROL], sizeof(*s->control), both);
	if (s->slots && s->free && s->events && s->control)
		return 0;
	int rc = -errno;
	group_slots_close(s);
	return err_set(err, rc, "map the slots: %s", strerror(-rc));
}

void group_slots_adopt(struct group_slots *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->slots[i].state == GROUP_SLOT_LIVES ||
		    s->slots[i].state == GROUP_SLOT_ENDED)
			s->slots[i].has |= GROUP_SLOT_ADOPTED;
	}
}

void group_slots_close(struct group_slots *s)
{
	if (!s->count)
		return;
	if (s->slots)
		munmap(s->slots, slots_bytes(s));
	if (s->free)
		munmap(s->free, (size_t)s->count * sizeof(*s->free));
	if (s->events)
		munmap((void *)s->events, events_bytes(s));
	if (s->control)
		munmap(s->control, sizeof(*s->control));
	for (unsigned i = 0; i < GROUP_FDS; i++) {
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	}
	*s = (struct group_slots){0};
}

bool group_slots_next(struct group_slots *s, uint32_t *ret_slot,
		      enum group_event *ret_what)
{
	uint64_t head = __atomic_load_n(&s->control->event_head, __ATOMIC_ACQUIRE);
	uint64_t tail = s->control->event_tail;

	if (head == tail)
		return false;
	uint64_t event = s->events[tail & (s->count * GROUP_EVENTS_PER_SLOT - 1)];
	s->control->event_tail = tail + 1;
	*ret_slot = (uint32_t)(event >> 1) & (s->count - 1);
	*ret_what = event & 1 ? GROUP_EVENT_ENDED : GROUP_EVENT_MADE;
	return true;
}

void group_slots_release(struct group_slots *s, uint32_t slot)
{
	uint64_t tail = s->control->free_tail;

	s->slots[slot].state = GROUP_SLOT_FREE;
	s->free[tail & (s->count - 1)] = slot;
	__atomic_store_n(&s->control->free_tail, tail + 1, __ATOMIC_RELEASE);
}
