/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_SESSION_H
#define CEEMS_PROFILER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/profile_sample.h"
#include "profiler/door.h"
#include "profiler/modules.h"

/* The kernel program and what it is told: which groups it samples, and what their
 * processes execute, learnt when they begin to execute it. Nothing is loaded while no
 * group is wanted. One thread. */
struct session;

/* A frame without its name: the place in a module, or an address that is in none */
#define FRAME_MODULE(frame) ((unsigned)((frame) >> 48))
#define FRAME_OFFSET(frame) ((frame) & ~UINT64_C(0) >> 16)
#define FRAME(module, offset) ((uint64_t)(module) << 48 | FRAME_OFFSET(offset))
enum {
	FRAME_KERNEL = 0xffff,
	FRAME_UNKNOWN = 0xfffe,
	FRAME_PYTHON = 0xfffd,
	FRAME_JIT = 0xfffc
};
/* FRAME_JIT: number of a name (jit_maps.h, name_generations.h). */
/* FRAME_PYTHON: number of a name (python_codes.h), and whether it begins a call of the
 * interpreter's loop. These frames come behind all others. */
#define FRAME_PYTHON_ENTRY (UINT64_C(1) << 40)

struct session_stack {
	uint64_t cgroup; /* the wanted group that it is of */
	uint32_t process, thread, count;
	enum sample_end end;
	uint64_t blocked_ns; /* for how long it waited there; 0: it was on a CPU */
	uint64_t frames[SAMPLE_PCS_MAX]; /* innermost first */
};

struct session_config {
	struct door *door; /* borrowed, as the next one */
	struct reader *reader;
	const char *debug_folder; /* to ask for debug files (debug_files.h); "": none */
	struct profile_room room;
	void (*on_stack)(void *arg, const struct session_stack *stack);
	void *arg;
};

struct session_counts {
	uint64_t samples, ends[SAMPLE_ENDS];
	uint64_t lost;      /* samples that the ring had no room for */
	uint64_t learnt;    /* how often a process was looked at */
	uint64_t put_off;   /* how often not, since too many began */
	uint64_t forgotten; /* processes that made place for others */
	uint64_t evictions; /* files whose rows did */
	uint64_t without_rows;
	uint64_t blocked,
		blocked_lost; /* blocked stacks taken; not, or without an end */
	uint64_t debug_wanted, debug_refused; /* debug_files.h */
	uint64_t table_bytes, module_bytes;
	uint32_t processes, modules, hz;
};

int session_new(const struct session_config *c, struct session **ret, struct err *err);
/* Loads the kernel program, which takes it some tenths of a second, before anybody is
 * sampled: nothing calls it yet. */
int session_load(struct session *s, struct err *err);
/* Samples these groups from now on, each at its own rate; all of rate 0: their
 * processes are got to know before they are sampled; none of them: stops the clocks,
 * and some time later nothing calls the program any more. */
int session_set_groups(struct session *s, const struct profile_group *groups,
		       size_t count, struct err *err);
/* To be polled for reading, -1: nothing; and for how long at most. */
int session_fd(const struct session *s);
int session_wait_ms(const struct session *s);
/* Takes all samples that have come, and looks at processes. */
void session_work(struct session *s);
/* Before a profile gets its names: debug files that came are read, and it is found out
 * which are missing. */
void session_look_for_debug_files(struct session *s);
/* A process that has been there all along is looked at soon. */
void session_look_at(struct session *s, uint32_t pid);
/* When profiles have been written: all stacks that there are were sampled since since_s
 * (CLOCK_BOOTTIME). */
void session_turn_names(struct session *s, uint32_t since_s);
/* Tells of threads of a group that are blocked now the time so far; ended: none of them
 * is waited for any more. */
void session_settle_blocked(struct session *s, uint64_t cgroup, bool ended);
/* No process waits to be looked at. */
bool session_is_settled(const struct session *s);
struct modules *session_modules(struct session *s);
void session_get_counts(const struct session *s, struct session_counts *ret);
void session_free(struct session *s);

#endif
