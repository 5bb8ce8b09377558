/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_PROFILES_PROFILE_CHILD_H
#define CEEMS_DAEMON_PROFILES_PROFILE_CHILD_H

#include <sys/types.h>

#include "daemon/sources/child_link.h"
#include "lib/err.h"

struct options;

/* A ceems-opener that serves ceems-profiler or ceemsd itself, and its socket for that
 */
struct profile_opener {
	pid_t pid; /* 0: there is none */
	int fd;    /* -1: handed on */
};

/* Starts it as what it is to serve, "profile" or "drm", with the privileges that we
 * have still: before privileges_limit(). -ENOENT: there is no such program. */
int profile_opener_start(const struct options *o, const char *what,
			 struct profile_opener *ret, struct err *err);
/* Prepares ceems-profiler, which is started without privileges as uid (-1: as we are),
 * and gives it the socket and the page of hot functions (lib/records/hot_page.h). */
int profile_child_new(const struct options *o, const char *hostname, uid_t uid,
		      gid_t gid, struct profile_opener *opener, struct child_link **ret,
		      struct err *err);
/* After its other end was closed, which makes it end */
void profile_opener_end(struct profile_opener *p);

#endif
