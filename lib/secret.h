/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SECRET_H
#define CEEMS_LIB_SECRET_H

#include <stddef.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Files that hold, or may hold, secrets. */

/* Reads a regular file of at most max bytes; *ret_st is from its fstat(). */
int secret_read(const char *file, size_t max, struct buf *ret, struct stat *ret_st,
		struct err *err);

/* Whether a file with secrets is safe: owned by root or us, not group-writable, not
 * readable by others. -EPERM; err says what to change. */
int secret_check(const char *file, const struct stat *st, struct err *err);

/* secret_read() and secret_check(). */
int secret_load(const char *file, size_t max, struct buf *ret, struct err *err);

/* Wipes and frees the buffer. */
void secret_wipe(struct buf *b);
#define auto_secret __attribute__((cleanup(secret_wipe)))

#endif
