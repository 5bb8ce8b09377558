/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_FENCE_H
#define CEEMS_LIB_FENCE_H

#include <limits.h>
#include <stdint.h>

#include "lib/err.h"

/* Limits which files a program can still open, by Landlock: system files (what a C
 * library, its name services and TLS read: /etc, /usr, /opt, /run, /proc, /sys, parts
 * of /var) and the folders added here, all read-only; only /dev/null is writable;
 * nothing can be executed. Files that are open stay open and sockets are not affected.
 * Folders rather than files, because a certificate that is replaced is a new file.
 *
 *	struct fence f;
 *	rc = fence_begin(&f, err);
 *	fence_add_files(&f, "/srv/tls/key.pem\n");
 *	rc = fence_enter(&f, err);
 *
 * Documentation/userspace-api/landlock.rst; Linux 5.13, built in and switched on. */
struct fence {
	int fd; /* the ruleset */
	uint64_t handled;
	char last[PATH_MAX]; /* the folder added last, or "" */
};

/* Whether fence_begin() would find Landlock: 0 or -ENOSYS. Changes nothing. */
int fence_probe(struct err *err);

/* -ENOSYS: this kernel does not have Landlock, or our parent forbids us to use it. */
int fence_begin(struct fence *f, struct err *err);

/* A folder that does not exist or may not be searched is skipped: what is in it cannot
 * be read anyway. */
void fence_add_folder(struct fence *f, const char *path);

/* Adds the folders of these files, one path per line; for a symbolic link also the
 * folder of its current target. */
void fence_add_files(struct fence *f, const char *lines);

/* Restricts the calling thread and the threads it starts, so call it before threads;
 * needs no_new_privs. Frees f, also on failure. */
int fence_enter(struct fence *f, struct err *err);

/* Whether these can be opened, one path per line: 0, or -EACCES naming the first that
 * permissions or the fence forbid. Missing files are not reported here. */
int fence_check_files(const char *lines, struct err *err);

#endif
