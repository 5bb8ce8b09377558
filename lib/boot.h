/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_BOOT_H
#define CEEMS_LIB_BOOT_H

#include <stdint.h>
#include <sys/stat.h>

#include "lib/err.h"

/* including its NUL, zero-padded: can be compared and written as a whole */
#define BOOT_ID_BYTES 40

/* Identifies this boot of the machine, from /proc/sys/kernel/random/boot_id, so that a
 * file left by an earlier boot can be recognised. Read once per process. Thread safe. 0
 * or negative errno. */
int boot_id(char ret[BOOT_ID_BYTES], struct err *err);

/* Checks a file of the run directory that records its own inode and boot: it has its
 * full length (a hole on a full tmpfs would be SIGBUS), it is not a copy, and it is of
 * this boot. A file on a tmpfs always is, so there the boot id is not read, which saves
 * a tenth of what a short step costs in slurmstepd. st: from fstat() of fd. 0 or
 * -EBADF. */
int boot_check_file(int fd, const struct stat *st, const char *path, uint64_t bytes,
		    uint64_t inode, const char id[BOOT_ID_BYTES], struct err *err);

#endif
