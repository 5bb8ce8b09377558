/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_TABLES_H
#define CEEMS_PROFILER_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/profile_request.h"
#include "lib/records/profile_sample.h"
#include "profiler/unwind_row.h"

/* The arrays that the kernel program reads, mapped, and what we know of each place of
 * its table of processes. Room is fixed: who has not been seen for longest makes
 * place. One thread. */
#define TABLES_CLASSES 10u /* 8, 16 ... 4096 mappings */

struct known_process {
	uint32_t pid; /* 0: the place is free */
	uint32_t serial, first, count, class;
	uint32_t learned_s, seen_s; /* CLOCK_BOOTTIME */
	uint32_t looks; /* how often it was learnt since it began to execute this */
};

struct tables {
	struct profile_room room;
	struct profile_group *wanted;
	struct profile_process *processes;
	struct profile_mapping *mappings;
	struct profile_module *modules;
	struct unwind_row *rows;
	struct profile_control *control;
	struct profile_python *pythons; /* [PROFILE_PYTHONS_MAX] */
	struct known_process *known;    /* [room.processes] */
	uint8_t *taken; /* [room.mappings / 8] 1: these eight are a process's */
	uint32_t serials, hand, known_count;
	uint64_t forgotten; /* processes that made place for others */
	/* told of each process that goes */
	void (*gone)(void *arg, const struct profile_mapping *mappings, uint32_t count);
	void *arg;
};

int tables_open(struct tables *t, const int fds[PROFILE_FDS],
		const struct profile_room *room, struct err *err);
void tables_close(struct tables *t);

/* The groups that are sampled from now on; -E2BIG: not all have a place. */
int tables_set_groups(struct tables *t, const struct profile_group *groups,
		      size_t count, uint32_t hz);
/* What is known of a process, else NULL. Valid until the next call that changes
 * something. */
struct known_process *tables_find(struct tables *t, uint32_t pid);
/* By the number that a sample bears, since a forked process has its parent's mappings
 */
struct known_process *tables_find_serial(struct tables *t, uint32_t serial);
/* Its mappings, sorted by start, in place of what was known. -ENOSPC */
int tables_put(struct tables *t, uint32_t pid, const struct profile_mapping *mappings,
	       uint32_t count, uint32_t now_s);
void tables_forget(struct tables *t, uint32_t pid);
void tables_forget_all(struct tables *t);
const struct profile_mapping *
tables_mapping(const struct tables *t, const struct known_process *k, uint64_t pc);
/* Bytes of all arrays, the kernel's and ours */
uint64_t tables_bytes(const struct profile_room *room);

#endif
