/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/groups.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
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

struct maps {
	struct group_slot *slots;
	uint64_t *free_slots;
	struct group_control *control;
};

static void *map_fd(int fd, size_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

static void unmap_all(const struct groups *g, struct maps *m)
{
	if (m->slots)
		munmap(m->slots, g->slots * sizeof(*m->slots));
	if (m->free_slots)
		munmap(m->free_slots, g->slots * sizeof(*m->free_slots));
	if (m->control)
		munmap(m->control, sizeof(*m->control));
}

/* -errno: unmap_all() all the same */
static int map_all(const struct groups *g, struct maps *m)
{
	m->slots = map_fd(g->fds[GROUP_FD_SLOTS], g->slots * sizeof(*m->slots));
	m->free_slots =
		map_fd(g->fds[GROUP_FD_FREE], g->slots * sizeof(*m->free_slots));
	m->control = map_fd(g->fds[GROUP_FD_CONTROL], sizeof(*m->control));
	return m->slots && m->free_slots && m->control ? 0 : -errno;
}

/* Nothing is attached yet: nobody else writes to the maps. */
static int fill_maps(struct groups *g, int cgroupfd, int procfd, struct err *err)
{
	struct maps m;
	int rc = map_all(g, &m);

	if (rc < 0) {
		rc = err_set(err, rc, "map the slots: %s", strerror(-rc));
	} else {
		struct filling f = {
			.groups = g, .slots = m.slots, .capacity = g->slots};
		struct err why;
		if (adopt_walk(cgroupfd, procfd, adopt_group, &f, &why) < 0)
			log_warn("control groups that were there before: %s", why.text);
		if (f.left_out)
			log_warn("%u control groups of steps that were there before "
				 "are not followed, since all %u slots are taken: "
				 "--collector.ebpf.slots",
				 f.left_out, g->slots);
		g->adopted = f.used;
		for (uint32_t i = f.used; i < g->slots; i++)
			m.free_slots[i - f.used] = i;
		m.control->free_tail = g->slots - f.used;
	}
	unmap_all(g, &m);
	return rc;
}

struct seeing {
	const struct groups *groups;
	bool *seen; /* by slot */
};

static int see_group(void *arg, const struct adopted_group *found)
{
	struct seeing *s = arg;
	struct group_key key = {.id = found->id, .hierarchy = found->hierarchy};
	struct group group;

	if (found->step &&
	    bpf_map__lookup_elem(s->groups->skeleton->maps.groups, &key, sizeof(key),
				 &group, sizeof(group), 0) == 0 &&
	    group.slot < s->groups->adopted)
		s->seen[group.slot] = true;
	return 0;
}

/* Forgets their numbers, so that the programs know nothing of them from now on; seen
 * becomes true for what is not gone. Returns how many are. */
static uint32_t forget_unseen(struct groups *g, const struct maps *m, bool *seen)
{
	uint32_t gone = 0;

	for (uint32_t i = 0; i < g->adopted; i++) {
		const struct group_slot *s = &m->slots[i];
		const struct group_key key = {.id = s->cgroup,
					      .hierarchy = s->hierarchy};
		seen[i] = seen[i] || s->state != GROUP_SLOT_LIVES;
		if (seen[i])
			continue;
		(void)bpf_map__delete_elem(g->skeleton->maps.groups, &key, sizeof(key),
					   0);
		gone++;
	}
	return gone;
}

static uint32_t free_unseen(struct groups *g, struct maps *m, const bool *seen)
{
	/* a program that had begun before its number was forgotten has ended by then */
	const struct timespec moment = {.tv_nsec = 100 * 1000 * 1000};
	uint32_t dropped = 0;

	(void)nanosleep(&moment, NULL);
	for (uint32_t i = 0; i < g->adopted; i++) {
		uint64_t tail = m->control->free_tail;
		if (seen[i] || __atomic_load_n(&m->slots[i].state, __ATOMIC_ACQUIRE) !=
				       GROUP_SLOT_LIVES)
			continue;
		m->slots[i].state = GROUP_SLOT_FREE;
		m->free_slots[tail & (g->slots - 1)] = i;
		__atomic_store_n(&m->control->free_tail, tail + 1, __ATOMIC_RELEASE);
		dropped++;
	}
	return dropped;
}

uint32_t groups_drop_gone(struct groups *g, int cgroupfd, int procfd)
{
	struct maps m;
	struct err err;
	auto_free bool *seen = calloc(g->adopted + 1, sizeof(*seen));
	struct seeing s = {.groups = g, .seen = seen};
	uint32_t dropped = 0;

	if (!seen || !g->adopted)
		return 0;
	if (map_all(g, &m) == 0 &&
	    adopt_walk(cgroupfd, procfd, see_group, &s, &err) == 0 &&
	    forget_unseen(g, &m, seen))
		dropped = free_unseen(g, &m, seen);
	unmap_all(g, &m);
	return dropped;
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

static int load_programs(struct groups *g, bool by_symbol, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);
	int rc = load_prepare(err);
	if (rc < 0)
		return rc;
	struct groups_bpf *s = groups_bpf__open_opts(&options);
	if (!s)
		return load_refused(err, -errno, "open the program");
	g->skeleton = s;
	rc = size_maps(s, g->slots);
	if (!rc)
		rc = bpf_program__set_autoload(s->progs.group_removed, !by_symbol);
	if (!rc)
		rc = bpf_program__set_autoload(s->progs.group_removed_by_symbol,
					       by_symbol);
	if (!rc)
		rc = groups_bpf__load(s);
	return rc < 0 ? load_refused(err, rc, "load the program") : 0;
}

static int attach_programs(struct groups *g, bool by_symbol, int cgroupfd, int procfd,
			   struct err *err)
{
	struct groups_bpf *s = g->skeleton;

	g->fds[GROUP_FD_SLOTS] = bpf_map__fd(s->maps.slots);
	g->fds[GROUP_FD_FREE] = bpf_map__fd(s->maps.free_slots);
	g->fds[GROUP_FD_EVENTS] = bpf_map__fd(s->maps.events);
	g->fds[GROUP_FD_CONTROL] = bpf_map__fd(s->maps.control);
	int rc = fill_maps(g, cgroupfd, procfd, err);
	if (rc < 0)
		return rc;
	rc = groups_bpf__attach(s);
	if (rc < 0)
		return load_refused(err, rc, "attach the program");
	g->gone = groups_drop_gone(g, cgroupfd, procfd);
	g->groups_map = bpf_map__fd(s->maps.groups);
	g->fds[GROUP_FD_MADE] = bpf_link__fd(s->links.group_made);
	g->fds[GROUP_FD_REMOVED] = bpf_link__fd(
		by_symbol ? s->links.group_removed_by_symbol : s->links.group_removed);
	return 0;
}

int groups_open(struct groups *g, int cgroupfd, int procfd, uint32_t slots,
		struct err *err)
{
	struct err why;

	*g = (struct groups){.slots = slots};
	int rc = load_programs(g, false, err);
	if (rc == 0)
		return attach_programs(g, false, cgroupfd, procfd, err);
	groups_close(g);
	/* if that is refused, too, the first reason is the better one */
	if (rc == -EPERM || groups_open_by_symbol(g, cgroupfd, procfd, slots, &why) < 0)
		return rc;
	return 0;
}

int groups_open_by_symbol(struct groups *g, int cgroupfd, int procfd, uint32_t slots,
			  struct err *err)
{
	*g = (struct groups){.slots = slots};
	int rc = load_programs(g, true, err);

	return rc < 0 ? rc : attach_programs(g, true, cgroupfd, procfd, err);
}

void groups_close(struct groups *g)
{
	groups_bpf__destroy(g->skeleton);
	g->skeleton = NULL;
}
