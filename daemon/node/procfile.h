/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_NODE_PROCFILE_H
#define CEEMS_DAEMON_NODE_PROCFILE_H

#include <stddef.h>

#include "lib/err.h"

/* A procfs file that is read at every scrape: the descriptor stays open and the buffer
 * grows as needed. Not thread safe. */
struct procfile {
	const char *path; /* relative, for messages; borrowed */
	int fd;           /* -1: not open */
	char *data;
	size_t cap;
};

#define PROCFILE_BYTES_MAX ((size_t)8 << 20)

/* Initialises f in any case, so that procfile_close() is always valid. ENOENT becomes
 * -ENODEV: not on this machine. */
int procfile_open(struct procfile *f, int dirfd, const char *path, struct err *err);
void procfile_close(struct procfile *f);

/* Reads all of it. *ret is borrowed until the next read and not NUL-terminated: use
 * *ret_len. -ENODATA: empty; -EFBIG: beyond PROCFILE_BYTES_MAX. */
int procfile_read(struct procfile *f, const char **ret, size_t *ret_len,
		  struct err *err);

#endif
