/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/groups.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/groups.skel.h"
#include "lib/cleanup.h"
#include "lib/log.h"
#include "opener/adopt.h"
#include "opener/load.h"

/* Groups below a step: user, slurm, task_N */
#define GROUPS_PER_SLOT 8u

/* As in bpf/groups.bpf.c */
struct group_key {
	uint64_t id;
	uint32_t hierarchy, unused;
};
struct group {
	uint32_t slot, part;
};

struct filling {
	const struct groups *groups;
	struct group_slot *slots;
	uint32_t capacity, used, left_out;
	bool full; /* the step that is walked has no slot */
};

static int adopt_group(void *arg, const struct adopted_group *found)
{
	struct filling *f = arg;
	struct group_key key = {.id = found->id, .hierarchy = found->hierarchy};
	struct group group = {.slot = f->used - !found->step, .part = found->stepd};
	struct bpf_map *map = f->groups->skeleton->maps.groups;

	if (found->step) {
		f->full = f->used == f->capacity;
		f->left_out += f->full;
	}
	if (f->full || (!found->step && !f->used))
		return 0;
	int rc = bpf_map__update_elem(map, &key, sizeof(key), &group, sizeof(group),
				      BPF_ANY);
	if (!found->step)
		/* without an entry it is found by the nearest one above */
		return rc == -E2BIG ? 0 : rc;
	if (rc == -E2BIG) {
		f->full = true;
		f->left_out++;
		return 0;
	}
	if (rc < 0)
		return rc;
	struct group_slot *s = &f->slots[f->used++];
	s->cgroup = found->id;
	s->hierarchy = found->hierarchy;
	s->has = GROUP_SLOT_ADOPTED | (found->hierarchy ? 0 : GROUP_SLOT_UNIFIED);
	s->state = GROUP_SLOT_LIVES;
	(void)snprintf(s->path, sizeof(s->path), "%s", found->path);
	return 0;
}

/* Nothing is attached yet: nobody else writes to the maps. */
static int fill_maps(struct groups *g, int cgroupfd, int procfd, uint32_t capacity,
		     struct err *err)
{
	size_t slot_bytes = (size_t)capacity * sizeof(struct group_slot);
	size_t free_bytes = (size_t)capacity * sizeof(uint64_t);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int both = PROT_READ | PROT_WRITE;

	struct group_slot *slots =
		mmap(NULL, slot_bytes, both, MAP_SHARED, g->fds[GROUP_FD_SLOTS], 0);
	uint64_t *free_slots =
		mmap(NULL, free_bytes, both, MAP_SHARED, g->fds[GROUP_FD_FREE], 0);
	struct group_control *c =
		mmap(NULL, page, both, MAP_SHARED, g->fds[GROUP_FD_CONTROL], 0);
	struct filling f = {.groups = g, .slots = slots, .capacity = capacity};
	int rc = 0;

	if (slots == MAP_FAILED || free_slots == MAP_FAILED || c == MAP_FAILED) {
		rc = err_set(err, -errno, "map the slots: %s", strerror(errno));
	} else {
		struct err why;
		if (adopt_walk(cgroupfd, procfd, adopt_group, &f, &why) < 0)
			log_warn("control groups that were there before: %s", why.text);
		if (f.left_out)
			log_warn("%u control groups of steps that were there before "
				 "are not followed, since all %u slots are taken: "
				 "--collector.ebpf.slots",
				 f.left_out, capacity);
		g->adopted = f.used;
		for (uint32_t i = f.used; i < capacity; i++)
			free_slots[i - f.used] = i;
		c->free_tail = capacity - f.used;
	}
	if (slots != MAP_FAILED)
		munmap(slots, slot_bytes);
	if (free_slots != MAP_FAILED)
		munmap(free_slots, free_bytes);
	if (c != MAP_FAILED)
		munmap(c, page);
	return rc;
}

static int size_maps(struct groups_bpf *s, uint32_t slots)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 0)
		return cpus;
	s->rodata->possible_cpus = (unsigned)cpus;
	s->rodata->page_bytes = (unsigned)sysconf(_SC_PAGESIZE);
	s->rodata->slot_count = slots;
	int rc = bpf_map__set_max_entries(s->maps.slots, slots);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.free_slots, slots);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.events,
					      slots * GROUP_EVENTS_PER_SLOT);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.groups, slots * GROUPS_PER_SLOT);
	return rc;
}

int groups_open(struct groups *g, int cgroupfd, int procfd, uint32_t slots,
		struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);

	*g = (struct groups){0};
	int rc = load_prepare(err);
	if (rc < 0)
		return rc;
	struct groups_bpf *s = groups_bpf__open_opts(&options);
	if (!s)
		return load_refused(err, -errno, "open the program");
	g->skeleton = s;
	rc = size_maps(s, slots);
	if (!rc)
		rc = groups_bpf__load(s);
	if (rc < 0)
		return load_refused(err, rc, "load the program");
	g->fds[GROUP_FD_SLOTS] = bpf_map__fd(s->maps.slots);
	g->fds[GROUP_FD_FREE] = bpf_map__fd(s->maps.free_slots);
	g->fds[GROUP_FD_EVENTS] = bpf_map__fd(s->maps.events);
	g->fds[GROUP_FD_CONTROL] = bpf_map__fd(s->maps.control);
	rc = fill_maps(g, cgroupfd, procfd, slots, err);
	if (rc < 0)
		return rc;
	rc = groups_bpf__attach(s);
	if (rc < 0)
		return load_refused(err, rc, "attach the program");
	g->groups_map = bpf_map__fd(s->maps.groups);
	g->fds[GROUP_FD_MADE] = bpf_link__fd(s->links.group_made);
	g->fds[GROUP_FD_REMOVED] = bpf_link__fd(s->links.group_removed);
	return 0;
}

void groups_close(struct groups *g)
{
	groups_bpf__destroy(g->skeleton);
	g->skeleton = NULL;
}
