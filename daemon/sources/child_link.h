/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_CHILD_LINK_H
#define CEEMS_DAEMON_SOURCES_CHILD_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/err.h"
#include "lib/records/child_msg.h"

/* A program that ceemsd starts for what may hang or must not be trusted (ceems-courier,
 * ceems-gpu, ceems-profiler), restarted when it dies, and read by a thread. Its latest
 * messages are kept; nothing waits for it. */
struct child_link;

/* name: for the log, a literal. path: the program. args: more arguments; takes them,
 * and leaves the list empty. Starts nothing yet. -ENOENT and the like: the program
 * cannot be found. */
int child_link_new(const char *name, const char *path, struct conf_list *args,
		   struct child_link **ret, struct err *err);

/* A descriptor, above 4, which is the link's from now on: each child has it as
 * number 4. Before child_link_start(). */
void child_link_hand(struct child_link *l, int fd);

/* Starts thread and child, as the calling user. */
int child_link_start(struct child_link *l, struct err *err);

/* The newest message of this kind and name. Copies it into buf (aligned to 8) and
 * returns its length; -EAGAIN: there is none yet; -EFBIG: size is too small.
 * CHILD_MESSAGE_MAX always suffices. Thread safe, never waits for the child. */
int child_link_get(struct child_link *l, enum child_kind kind, const char *name,
		   void *buf, size_t size);

/* Sends a datagram to the child; never waits for it. *ret_starts: child_link_starts()
 * of the one that has it. -ENOTCONN: there is none now; -EAGAIN: it does not read.
 * Thread safe. */
int child_link_send(struct child_link *l, const void *message, size_t size,
		    uint64_t *ret_starts);

/* Ends and restarts the child, so that it reads its files again. Does not wait for
 * that. Thread safe; NULL-safe. */
void child_link_restart(struct child_link *l);

/* While it is held the child is ended, and none is started. Does not wait for that, and
 * does nothing if nothing changes. Thread safe; NULL-safe. */
void child_link_hold(struct child_link *l, bool held);

/* How often the child was started */
uint64_t child_link_starts(struct child_link *l);

/* Ends the child: it is asked to, has four seconds to end sessions, is then killed, and
 * left behind if not even that ends it. NULL-safe. */
void child_link_free(struct child_link *l);

#endif
