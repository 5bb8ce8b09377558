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
 * ceems-gpu), restarted when it dies, and read by a thread. Its latest messages are
 * kept; nothing waits for it. */
struct child_link;

/* name: for the log, a literal. path: the program. args: more arguments; takes them,
 * and leaves the list empty. Starts nothing yet. -ENOENT and the like: the program
 * cannot be found. */
int child_link_new(const char *name, const char *path, struct conf_list *args,
		   struct child_link **ret, struct err *err);

/* Starts thread and child, as the calling user. */
int child_link_start(struct child_link *l, struct err *err);

/* The newest message of this kind and name. Copies it into buf (aligned to 8) and
 * returns its length; -EAGAIN: there is none yet; -EFBIG: size is too small.
 * CHILD_MESSAGE_MAX always suffices. Thread safe, never waits for the child. */
int child_link_get(struct child_link *l, enum child_kind kind, const char *name,
		   void *buf, size_t size);

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
