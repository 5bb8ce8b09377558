/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_EXEC_H
#define CEEMS_LIB_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Runs argv[0] (an absolute path; no shell, no search path) with stdin from /dev/null,
 * the environment env (NULL: only PATH and LC_ALL=C) and no other open fd, and collects
 * stdout and stderr separately, each up to its buf's max. The child gets its own
 * process group, which is killed as a whole when deadline_ms has passed or a stream
 * exceeds its limit. Returns 0 and the wait status in *ret_status; -ETIMEDOUT, -EFBIG
 * (the output so far is in the bufs), -EINVAL for a path that is not absolute, else
 * negative errno. Blocks for about deadline_ms at most. Not for plugins. */
int exec_run(const char *const argv[], const char *const env[], uint32_t deadline_ms,
	     struct buf *out, struct buf *errout, int *ret_status, struct err *err);
/* The same for a program that writes to sockets which others close and takes it for
 * granted that whoever starts it ignores SIGPIPE. */
int exec_run_sigpipe_ignored(const char *const argv[], const char *const env[],
			     uint32_t deadline_ms, struct buf *out, struct buf *errout,
			     int *ret_status, struct err *err);

/* The path of a program that is installed beside the running one: configured, unless
 * that is
 * "", else name in the running program's folder. Cut to fit. */
void exec_beside(const char *configured, const char *name, char *ret, size_t size);

#endif
