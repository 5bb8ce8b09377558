/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_BLOCKED_H
#define CEEMS_PROFILER_BLOCKED_H

#include <stdint.h>

/* Threads that are blocked, with the stack that each waits with: its time is told when
 * it runs again, or when a profile is written before. One thread. */
#define BLOCKED_BYTES_MAX (UINT64_C(4) << 20)
#define BLOCKED_LISTS 1024u /* a power of two */

struct session_stack;
struct blocked_thread;

struct blocked {
	struct blocked_thread *lists[BLOCKED_LISTS];
	uint64_t bytes, count;
	uint64_t lost; /* whose time is not known: no room, or no end was told */
	/* is given each stack with its blocked_ns */
	void (*on_stack)(void *arg, const struct session_stack *stack);
	void *arg;
};

/* Its thread blocks with this stack; one of one_in such. */
void blocked_begin(struct blocked *b, const struct session_stack *stack,
		   uint64_t since_ns, uint32_t one_in);
/* The thread that has been blocked since since_ns runs again, ns later. */
void blocked_end(struct blocked *b, uint32_t thread, uint64_t since_ns, uint64_t ns);
/* Tells the time so far of all that are blocked of a group; what comes is told later.
 */
void blocked_settle(struct blocked *b, uint64_t cgroup, uint64_t now_ns);
/* Those of a group, or all for 0, are not waited for any more. */
void blocked_forget(struct blocked *b, uint64_t cgroup);
/* Some have woken of which that was not told: all are given up, and counted. */
void blocked_lose(struct blocked *b);

#endif
