/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_LOOP_H
#define CEEMS_LIB_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * One thread's events on epoll(7). What is watched, posted and hooked belongs to its
 * owner, usually as a member of a struct of the owner's; the loop allocates nothing
 * after loop_new(). All functions but loop_post() and loop_inside() are for the thread
 * that runs the loop, or for before it runs and after it ended.
 */

struct loop;

/* ready() is told what epoll said. It may forget any watch, its own too. */
struct loop_watch {
	void (*ready)(struct loop_watch *w, uint32_t events);
};

/* Something to be done on the loop's thread. May be posted again once it runs. */
struct loop_task {
	void (*run)(struct loop_task *t);
	struct loop_task *next; /* the loop's, as is what follows */
	bool posted;
};

/* Called after each batch of events; returns in how many milliseconds it wants to be
 * called at the latest: 0: at once, -1: whenever. */
struct loop_hook {
	int (*run)(struct loop_hook *h);
	struct loop_hook *next; /* the loop's */
};

int loop_new(struct loop **ret, struct err *err);
void loop_free(struct loop *l); /* accepts NULL; what was posted is not run any more */

/* events as epoll_ctl(2), EPOLLET included. 0 or negative errno. */
int loop_watch(struct loop *l, int fd, uint32_t events, struct loop_watch *w);
/* From here on w is not called, events that were there already included. */
void loop_forget(struct loop *l, int fd, struct loop_watch *w);

/* From any thread; a task that waits already is not posted twice. Tasks run in the
 * order in which they came, after the events that are under way. */
void loop_post(struct loop *l, struct loop_task *t);

/* Hooks run in the order in which they were added. */
void loop_add_hook(struct loop *l, struct loop_hook *h);

/* Milliseconds of CLOCK_MONOTONIC when the last batch of events came. */
uint64_t loop_now_ms(const struct loop *l);

/* Whether the caller is the thread that runs l now. Any thread. */
bool loop_inside(const struct loop *l);

/* Until *stop, which is looked at after each batch: whoever sets it posts a task. */
void loop_run(struct loop *l, const atomic_bool *stop);

#endif
