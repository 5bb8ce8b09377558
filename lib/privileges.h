/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PRIVILEGES_H
#define CEEMS_LIB_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

struct privileges {
	char user[64]; /* name, or the number when it has none */
	uid_t uid;
	gid_t gid;
	bool drop;     /* we are root and will not stay so */
	bool fallback; /* there is no user ceems, so it is nobody */
};

/* Chooses the user to become. user: name or number; "": ceems, or nobody if that does
 * not exist. If we are not root there is no choice, and a different user is -EPERM.
 * -ENOENT: no such user. Uses the name service: call at start. */
int privileges_choose(const char *user, bool drop, struct privileges *ret,
		      struct err *err);

/* To be called before the first thread: programs started later cannot gain privileges,
 * and capabilities cannot come back. root keeps its privileges until
 * privileges_drop(). */
int privileges_limit(struct err *err);

/* Protects what the process holds (keys, passwords, records of users) from other
 * programs of the same account: no core file, no ptrace, no access to /proc/PID. Call
 * after privileges_drop(), which undoes it. Not inherited by programs it starts. */
int privileges_hide(struct err *err);

/* Becomes p: groups, gid, uid, no capability left, in all threads. Fails if there were
 * a way back. */
int privileges_drop(const struct privileges *p, struct err *err);

/* Keeps of the capabilities that we have only those of this mask (1 << CAP_...), and
 * stays root. After privileges_limit(). */
int privileges_keep(uint64_t capabilities, struct err *err);

#endif
