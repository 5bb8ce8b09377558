/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_COURIER_H
#define CEEMS_COURIER_COURIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "courier/options.h"
#include "lib/conf/program.h"
#include "lib/err.h"
#include "lib/records/child_msg.h"

/*
 * ceems-courier: the process of a node that speaks HTTP, so that ceemsd links no HTTP
 * or TLS client and is never delayed by a server. It is ceemsd's child and sends it
 * results over a socket; it also runs alone.
 *
 * Its tasks are a table (courier/tasks.c). Each has its own thread, so a task that
 * waits for its server delays no other.
 */

struct courier {
	struct options options;
	char hostname[256];
	atomic_bool stop; /* also ends running HTTP requests: http_client_config.stop */
	int link;         /* to ceemsd; -1: runs alone */
};

struct task {
	const char *name; /* below CHILD_NAME_BYTES */
	/* Reads configuration, contacts no server. -ENODEV: nothing to do here. Other
	 * failures are logged and retried each minute. c outlives the state. */
	int (*open)(struct courier *c, void **ret_state, struct err *err);
	/* One poll of the server; sends results by courier_send(). Failures are logged
	 * at growing intervals, and each consecutive one doubles the wait until the
	 * next poll, up to a minute or period_ms if that is longer. */
	int (*poll)(void *state, struct err *err);
	uint64_t (*period_ms)(const void *state);
	bool paces;                 /* period_ms() applies after failures too */
	void (*close)(void *state); /* NULL-safe; within two seconds */
};

/* All tasks, sorted by name (courier/tasks.c) */
extern const struct task *const tasks[];
extern const size_t tasks_count;

/* courier/task_threads.c: a thread for each task that has something to do. */
struct task_threads;
int task_threads_start(struct courier *c, const struct task *const *list, size_t count,
		       struct task_threads **ret, struct err *err);
size_t task_threads_size(const struct task_threads *w); /* running tasks */
/* With --once: waits until each task has been polled. 0, or how one failed. */
int task_threads_once(struct task_threads *w);
/* Sets c->stop and waits a few seconds for the threads to close their tasks. NULL-safe.
 * False: a thread hangs; its memory is leaked. */
bool task_threads_end(struct task_threads *w);

/* Any 64 bits, for waits that nodes are not to have in step. */
uint64_t courier_random(void);

/* courier/flush.c: sends the spool's records by the task ship, for at most
 * options.flush_timeout, and prints what is left. */
enum program_status courier_flush(struct courier *c, const struct task *ship);

/* courier/link.c. Sends a message whose items and own fields are filled in; its head is
 * filled in here. With --print and without ceemsd it goes to stdout as text. Never
 * blocks: if ceemsd does not accept a message it is lost, since the next one is newer.
 * Thread safe. */
void courier_send(struct courier *c, struct child_head *m, enum child_kind kind,
		  const char *name, uint32_t count, size_t bytes);
/* State of a task: rc of its last poll, why, since when (boot time). */
void courier_send_health(struct courier *c, const char *task, int rc, const char *text,
			 uint64_t since_ns);

#endif
