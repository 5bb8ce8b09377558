/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_LOOP_H
#define CEEMS_LIB_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * One thread's events on epoll(7). Watches, tasks and hooks are owned by the caller,
 * usually as members of its structs; the loop allocates nothing after loop_new(). All
 * functions but loop_post() and loop_inside() may be called only by the thread that
 * runs the loop, or before it runs and after it ended.
 */

struct loop;

/* ready() gets the epoll events. It may forget any watch, including its own. */
struct loop_watch {
	void (*ready)(struct loop_watch *w, uint32_t events);
};

/* Work for the loop's thread. May be posted again once it runs. */
struct loop_task {
	void (*run)(struct loop_task *t);
	struct loop_task *next; /* the loop's, like the next member */
	bool posted;
};

/* Called after each batch of events; returns in how many milliseconds it wants to be
 * called at the latest; 0: at once; -1: no limit. */
struct loop_hook {
	int (*run)(struct loop_hook *h);
	struct loop_hook *next; /* the loop's */
};

int loop_new(struct loop **ret, struct err *err);
void loop_free(struct loop *l); /* accepts NULL; posted tasks are dropped */

/* events: for epoll_ctl(2), EPOLLET included. 0 or negative errno. */
int loop_watch(struct loop *l, int fd, uint32_t events, struct loop_watch *w);
/* From now on w is not called, not even for events that have already come. */
void loop_forget(struct loop *l, int fd, struct loop_watch *w);

/* From any thread; a task that is already waiting is not posted twice. Tasks run in the
 * order in which they were posted, after the current events. */
void loop_post(struct loop *l, struct loop_task *t);

/* Hooks run in the order in which they were added. */
void loop_add_hook(struct loop *l, struct loop_hook *h);

/* Milliseconds of CLOCK_MONOTONIC when the last batch of events came. */
uint64_t loop_now_ms(const struct loop *l);

/* Whether the caller is the thread that runs l now. Any thread. */
bool loop_inside(const struct loop *l);

/* Runs until *stop, which is checked after each batch: whoever sets it posts a task. */
void loop_run(struct loop *l, const atomic_bool *stop);

#endif
