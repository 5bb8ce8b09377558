/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PRIVILEGES_H
#define CEEMS_LIB_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

struct privileges {
	char user[64]; /* name, or the number when it has none */
	uid_t uid;
	gid_t gid;
	bool drop;     /* we are root and shall not stay so */
	bool fallback; /* there is no user ceems: nobody it is */
};

/* Decides who to become. user: name or number, "" for ceems, else nobody. Not being
 * root, there is nothing to decide; a different user is then -EPERM. -ENOENT: no such
 * user. Uses the name service: call at start. */
int privileges_choose(const char *user, bool drop, struct privileges *ret,
		      struct err *err);

/* What must precede the first thread: no program started later gains anything, and no
 * capability can come back. What root has now it keeps until privileges_drop(). */
int privileges_limit(struct err *err);

/* What the process holds (keys, passwords, records of users) is for no other program of
 * the same account: no core file, no ptrace, no look into /proc/PID. After
 * privileges_drop(), which undoes it. A program that it starts is not bound. */
int privileges_hide(struct err *err);

/* Becomes p: groups, gid, uid, no capability left, in all threads. Fails rather than
 * leave a way back. */
int privileges_drop(const struct privileges *p, struct err *err);

#endif
