/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RUN_LEAST 8u
#define SERIAL_PLACES (1u << 18)
#define WANTED_MASK (PROFILE_GROUPS_MAX - 1)

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + 4095) & ~UINT64_C(4095);
}

uint64_t tables_bytes(const struct profile_room *r)
{
	return page_up((uint64_t)r->rows * sizeof(struct unwind_row)) +
	       (uint64_t)r->processes *
		       (sizeof(struct profile_process) + sizeof(struct known_process)) +
	       (uint64_t)r->mappings * sizeof(struct profile_mapping) +
	       r->mappings / RUN_LEAST +
	       PROFILE_MODULES_MAX * sizeof(struct profile_module) +
	       2 * PROFILE_GROUPS_MAX * sizeof(struct profile_group) + r->ring_bytes;
}

static int map_table(void *ret, int fd, size_t bytes, struct err *err)
{
	void *at =
		mmap(NULL, page_up(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return err_set(err, -errno, "map a table: %s", strerror(errno));
	memcpy(ret, &at, sizeof(at));
	return 0;
}

int tables_open(struct tables *t, const int fds[PROFILE_FDS],
		const struct profile_room *room, struct err *err)
{
	const struct {
		void *to;
		int fd;
		size_t bytes;
	} all[] = {
		{&t->wanted, PROFILE_FD_WANTED,
		 2 * PROFILE_GROUPS_MAX * sizeof(*t->wanted)},
		{&t->processes, PROFILE_FD_PROCESSES,
		 room->processes * sizeof(*t->processes)},
		{&t->mappings, PROFILE_FD_MAPPINGS,
		 room->mappings * sizeof(*t->mappings)},
		{&t->modules, PROFILE_FD_MODULES,
		 PROFILE_MODULES_MAX * sizeof(*t->modules)},
		{&t->rows, PROFILE_FD_ROWS, room->rows * sizeof(*t->rows)},
		{&t->control, PROFILE_FD_CONTROL, sizeof(*t->control)},
		{&t->pythons, PROFILE_FD_PYTHONS,
		 PROFILE_PYTHONS_MAX * sizeof(*t->pythons)},
	};
	int rc = 0;

	*t = (struct tables){.room = *room, .gone = t->gone, .arg = t->arg};
	t->known = calloc(room->processes, sizeof(*t->known));
	t->taken = calloc(room->mappings / RUN_LEAST + 1, sizeof(*t->taken));
	if (!t->known || !t->taken)
		rc = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		rc = map_table(all[i].to, fds[all[i].fd], all[i].bytes, err);
	if (rc < 0)
		tables_close(t);
	return rc;
}

static void unmap_table(void *at, size_t bytes)
{
	if (at)
		munmap(at, page_up(bytes));
}

void tables_close(struct tables *t)
{
	unmap_table(t->wanted, 2 * PROFILE_GROUPS_MAX * sizeof(*t->wanted));
	unmap_table(t->processes, t->room.processes * sizeof(*t->processes));
	unmap_table(t->mappings, t->room.mappings * sizeof(*t->mappings));
	unmap_table(t->modules, PROFILE_MODULES_MAX * sizeof(*t->modules));
	unmap_table(t->rows, t->room.rows * sizeof(*t->rows));
	unmap_table(t->control, sizeof(*t->control));
	unmap_table(t->pythons, PROFILE_PYTHONS_MAX * sizeof(*t->pythons));
	free(t->known);
	free(t->taken);
	*t = (struct tables){.gone = t->gone, .arg = t->arg};
}

/* ---- groups ---------------------------------------------------------------------- */

static bool place_group(struct profile_group *table, const struct profile_group *g)
{
	unsigned place = profile_place(g->cgroup, WANTED_MASK);

	for (unsigned i = 0; i < PROFILE_PROBES; i++) {
		struct profile_group *at = &table[(place + i) & WANTED_MASK];
		if (at->cgroup && at->cgroup != g->cgroup)
			continue;
		*at = *g;
		return true;
	}
	return false;
}

/* The table that is not in force is filled, then they change roles. */
int tables_set_groups(struct tables *t, const struct profile_group *groups,
		      size_t count, uint32_t hz)
{
	unsigned other = !(t->control->tables & 1);
	struct profile_group *table = &t->wanted[other * PROFILE_GROUPS_MAX];
	int rc = 0;

	memset(table, 0, PROFILE_GROUPS_MAX * sizeof(*table));
	for (size_t i = 0; i < count; i++) {
		if (!place_group(table, &groups[i]))
			rc = -E2BIG;
	}
	t->control->hz = hz;
	__atomic_store_n(&t->control->tables, other, __ATOMIC_RELEASE);
	__atomic_store_n(&t->control->generation, t->control->generation + 1,
			 __ATOMIC_RELEASE);
	return rc;
}

/* ---- runs of mappings ------------------------------------------------------------ */

static uint32_t class_of(uint32_t count)
{
	uint32_t class = 0;

	while (class < TABLES_CLASSES - 1 && RUN_LEAST << class < count)
		class ++;
	return class;
}

/* The first that begins at a multiple of its length, so that whoever goes leaves room
 * for as large a run, or for several smaller ones */
static int take_run(struct tables *t, uint32_t class, uint32_t *ret)
{
	uint32_t all = t->room.mappings / RUN_LEAST, count = 1u << class;

	for (uint32_t at = 0; at + count <= all; at += count) {
		if (memchr(t->taken + at, 1, count))
			continue;
		memset(t->taken + at, 1, count);
		*ret = at * RUN_LEAST;
		return 0;
	}
	return -ENOSPC;
}

static void free_run(struct tables *t, uint32_t class, uint32_t first)
{
	memset(t->taken + first / RUN_LEAST, 0, 1u << class);
}

/* ---- processes ------------------------------------------------------------------- */

static void clear_place(struct tables *t, uint32_t place)
{
	struct known_process *k = &t->known[place];

	if (!k->pid)
		return;
	__atomic_store_n(&t->processes[place].pid, 0, __ATOMIC_RELEASE);
	if (t->gone)
		t->gone(t->arg, &t->mappings[k->first], k->count);
	free_run(t, k->class, k->first);
	*k = (struct known_process){0};
	t->known_count--;
}

struct known_process *tables_find(struct tables *t, uint32_t pid)
{
	uint32_t mask = t->room.processes - 1, place = profile_place(pid, mask);

	for (unsigned i = 0; i < PROFILE_PROBES; i++) {
		struct known_process *k = &t->known[(place + i) & mask];
		if (k->pid == pid)
			return k;
	}
	return NULL;
}

struct known_process *tables_find_serial(struct tables *t, uint32_t serial)
{
	uint32_t place = serial % SERIAL_PLACES;

	return place < t->room.processes && t->known[place].pid &&
			       t->known[place].serial == serial
		       ? &t->known[place]
		       : NULL;
}

void tables_forget(struct tables *t, uint32_t pid)
{
	struct known_process *k = tables_find(t, pid);

	if (k)
		clear_place(t, (uint32_t)(k - t->known));
}

void tables_forget_all(struct tables *t)
{
	for (uint32_t i = 0; t->known_count && i < t->room.processes; i++)
		clear_place(t, i);
}

/* A free place, or that of the one of them that was not seen for longest */
static uint32_t choose_place(struct tables *t, uint32_t pid)
{
	uint32_t mask = t->room.processes - 1, first = profile_place(pid, mask);
	uint32_t best = first & mask;

	for (unsigned i = 0; i < PROFILE_PROBES; i++) {
		uint32_t place = (first + i) & mask;
		if (!t->known[place].pid)
			return place;
		if (t->known[place].seen_s < t->known[best].seen_s)
			best = place;
	}
	t->forgotten++;
	clear_place(t, best);
	return best;
}

/* Who makes room, in passing over all places: first who has not been seen lately, then
 * who has more than is wanted, then who has as much: never many small ones for a large
 * one that are seen at present */
enum make_round { ROUND_UNSEEN, ROUND_LARGER, ROUND_EQUAL, ROUNDS };

static bool is_to_go(const struct known_process *k, enum make_round round,
		     uint32_t class, uint32_t now_s)
{
	const uint32_t lately_s = 10;

	switch (round) {
	case ROUND_UNSEEN:
		return k->pid && k->seen_s + lately_s <= now_s;
	case ROUND_LARGER:
		return k->pid && k->class > class;
	default:
		return k->pid && k->class == class;
	}
}

static int make_run(struct tables *t, uint32_t class, uint32_t now_s, uint32_t *ret)
{
	int rc = take_run(t, class, ret);

	for (uint32_t n = 0; rc < 0 && n < ROUNDS * t->room.processes; n++) {
		uint32_t place = t->hand++ & (t->room.processes - 1);
		if (!is_to_go(&t->known[place], n / t->room.processes, class, now_s))
			continue;
		t->forgotten++;
		clear_place(t, place);
		rc = take_run(t, class, ret);
	}
	return rc;
}

int tables_put(struct tables *t, uint32_t pid, const struct profile_mapping *mappings,
	       uint32_t count, uint32_t now_s)
{
	uint32_t class = class_of(count), first;

	if (count > RUN_LEAST << class)
		return -ENOSPC;
	const struct known_process *old = tables_find(t, pid);
	uint32_t looks = old ? old->looks + 1 : 1;
	tables_forget(t, pid);
	int rc = make_run(t, class, now_s, &first);
	if (rc < 0)
		return rc;
	uint32_t place = choose_place(t, pid);
	t->serials = (t->serials + 1) % (UINT32_MAX / SERIAL_PLACES);
	uint32_t serial = (t->serials + 1) * SERIAL_PLACES + place;
	memcpy(&t->mappings[first], mappings, count * sizeof(*mappings));
	t->known[place] = (struct known_process){
		.pid = pid,
		.serial = serial,
		.first = first,
		.count = count,
		.class = class,
		.learned_s = now_s,
		.seen_s = now_s,
		.looks = looks,
	};
	t->known_count++;
	struct profile_process *p = &t->processes[place];
	p->first = first;
	p->count = count;
	p->serial = serial;
	__atomic_store_n(&p->pid, pid, __ATOMIC_RELEASE);
	return 0;
}

const struct profile_mapping *tables_mapping(const struct tables *t,
					     const struct known_process *k, uint64_t pc)
{
	const struct profile_mapping *all = &t->mappings[k->first];
	uint32_t low = 0, high = k->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (all[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low && pc < all[low - 1].end ? &all[low - 1] : NULL;
}
