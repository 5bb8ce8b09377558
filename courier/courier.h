/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_COURIER_H
#define CEEMS_COURIER_COURIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "courier/options.h"
#include "lib/conf/program.h"
#include "lib/err.h"
#include "lib/records/courier_msg.h"

/*
 * ceems-courier: the process of a node that speaks HTTP, so that ceemsd links no HTTP
 * or TLS client and is never delayed by a server. It is ceemsd's child and tells it
 * over a socket what it learnt; it also runs alone.
 *
 * What it does is a table of tasks (courier/tasks.c), each with a thread of its own: a
 * task may wait for its server as long as it likes and delays no other.
 */

struct courier {
	struct options options;
	char hostname[256];
	atomic_bool
		stop; /* ends HTTP requests in flight too: http_client_config.stop */
	int link;     /* to ceemsd; -1: runs alone */
};

struct task {
	const char *name; /* below COURIER_NAME_BYTES */
	/* Reads configuration, asks no server. -ENODEV: there is nothing to do for it.
	 * Other failures are said, and it is
	 * tried again each minute. c outlives the state. */
	int (*open)(struct courier *c, void **ret_state, struct err *err);
	/* One look at the server; sends what it learnt by courier_send(). A failure is
	 * said with growing gaps, and each in a row doubles the wait until the next
	 * look, to a minute or period_ms if that is longer. */
	int (*poll)(void *state, struct err *err);
	uint64_t (*period_ms)(const void *state);
	bool paces;                 /* period_ms() is the wait after failures too */
	void (*close)(void *state); /* NULL-safe; within two seconds */
};

/* All tasks, sorted by name (courier/tasks.c) */
extern const struct task *const tasks[];
extern const size_t tasks_count;

/* courier/crew.c: a thread for each task that has something to do. */
struct crew;
int crew_start(struct courier *c, const struct task *const *list, size_t count,
	       struct crew **ret, struct err *err);
size_t crew_size(const struct crew *w); /* tasks at work */
/* With --once: waits until each task has been polled. 0, or how one failed. */
int crew_once(struct crew *w);
/* Sets c->stop, waits a few seconds for the threads to close their tasks. NULL-safe.
 * false: one hangs, its memory is left to it. */
bool crew_end(struct crew *w);

/* courier/flush.c: sends what the spool holds by the task ship, for
 * options.flush_timeout at most, and prints what is left. */
enum program_status courier_flush(struct courier *c, const struct task *ship);

/* courier/link.c. Sends a message whose items and own fields are filled; its head is
 * filled here. Alone, with --print, it goes to stdout as text. Never waits: what ceemsd
 * does not take is lost, the next one is newer. Thread safe. */
void courier_send(struct courier *c, struct courier_head *m, enum courier_kind kind,
		  const char *name, uint32_t count, size_t bytes);
/* What became of a task: rc of its last poll, why, since when (boot time). */
void courier_send_health(struct courier *c, const char *task, int rc, const char *text,
			 uint64_t since_ns);

#endif
