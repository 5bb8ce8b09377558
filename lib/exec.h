/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_EXEC_H
#define CEEMS_LIB_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Runs argv[0] (an absolute path; no shell, no search path) with stdin from /dev/null,
 * an environment of env (NULL: only PATH and LC_ALL=C) and no other open fd, and
 * collects stdout and stderr apart, each up to its buf's max. The child gets its own
 * process group; when deadline_ms is over, or a stream is longer than its limit, the
 * whole group is killed.
 * Returns 0 and the wait status in *ret_status; -ETIMEDOUT, -EFBIG (what came so far is
 * in the bufs), -EINVAL for a path that is not absolute, else negative errno. Blocks
 * the caller for at most about the deadline. Not for plugins. */
int exec_run(const char *const argv[], const char *const env[], uint32_t deadline_ms,
	     struct buf *out, struct buf *errout, int *ret_status, struct err *err);

#endif
