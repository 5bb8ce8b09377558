/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_FENCE_H
#define CEEMS_LIB_FENCE_H

#include <limits.h>
#include <stdint.h>

#include "lib/err.h"

/* Which files a program can still open, by Landlock: those of the system (what a C
 * library, its name services and TLS read: /etc, /usr, /opt, /run, /proc, /sys, some of
 * /var), those of folders that are named here, all for reading; none for writing but
 * /dev/null; and nothing can be started. What is open stays so; sockets are connected
 * to as before. Folders, not files: a certificate that is replaced is a new file.
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
	char last[PATH_MAX]; /* folder, "" */
};

/* Whether fence_begin() would find Landlock: 0 or -ENOSYS. Changes nothing. */
int fence_probe(struct err *err);

/* -ENOSYS: this kernel has none, or what started us keeps us from it. */
int fence_begin(struct fence *f, struct err *err);

/* A folder that is not there, or may not be looked at, is passed over: what is in it
 * cannot be read anyway. */
void fence_add_folder(struct fence *f, const char *path);

/* The folders that these are in, one path per line; where a path is a symbolic link,
 * the folder of what it points to now, too. */
void fence_add_files(struct fence *f, const char *lines);

/* For the calling thread and those that it starts, so before threads; needs
 * no_new_privs. Gives the fence up, also when it fails. */
int fence_enter(struct fence *f, struct err *err);

/* Whether these can be opened, one path per line: 0, or -EACCES with the first that
 * rights or the fence keep us from. What is not there is another's business. */
int fence_check_files(const char *lines, struct err *err);

#endif
