/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_BOOT_H
#define CEEMS_LIB_BOOT_H

#include <stdint.h>
#include <sys/stat.h>

#include "lib/err.h"

/* with its NUL, padded with zeros: may be compared and written as a whole */
#define BOOT_ID_BYTES 40

/* Which boot of the machine this is, from /proc/sys/kernel/random/boot_id: what tells a
 * file of this boot from one of an earlier boot. Read once per process. Thread safe. 0
 * or negative errno. */
int boot_id(char ret[BOOT_ID_BYTES], struct err *err);

/* A file in the run directory that says of itself which inode and boot it is of: all of
 * its bytes are there (a hole on a full tmpfs would be SIGBUS), it is no copy, and of
 * this boot. On a tmpfs every file is: there the id is not looked up, which is a tenth
 * of what a short step costs in slurmstepd. st is of fd. 0 or -EBADF. */
int boot_check_file(int fd, const struct stat *st, const char *path, uint64_t bytes,
		    uint64_t inode, const char id[BOOT_ID_BYTES], struct err *err);

#endif
