/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SECRET_H
#define CEEMS_LIB_SECRET_H

#include <stddef.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Files that hold secrets, or may. */

/* Reads a regular file of at most max bytes; *ret_st says whose it is. */
int secret_read(const char *file, size_t max, struct buf *ret, struct stat *ret_st,
		struct err *err);

/* Whether a file with secrets is safe: of root or ours, not writable by the group, not
 * readable by others. -EPERM says what to change. */
int secret_check(const char *file, const struct stat *st, struct err *err);

/* Both. */
int secret_load(const char *file, size_t max, struct buf *ret, struct err *err);

/* Frees the buffer and leaves nothing of it in memory. */
void secret_wipe(struct buf *b);
#define auto_secret __attribute__((cleanup(secret_wipe)))

#endif
