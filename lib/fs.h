/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_FS_H
#define CEEMS_LIB_FS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Small kernel files (procfs, sysfs, cgroupfs). All paths are relative to a directory
 * fd and every read is bounded. Thread safe. Failures name the path in err. */

/* Opens a file for reading beneath dirfd: O_RDONLY|O_CLOEXEC|O_NOCTTY. Returns the fd
 * or negative errno. */
int fs_open_at(int dirfd, const char *path, struct err *err);

/* Opens a directory: fd or negative errno. */
int fs_opendir_at(int dirfd, const char *path, struct err *err);

/* Reads the whole file, at most size - 1 bytes, and terminates it with NUL. Returns the
 * length; -EFBIG when the file is longer, else negative errno. */
ssize_t fs_read_at(int dirfd, const char *path, char *buf, size_t size,
		   struct err *err);

/* The same from offset 0 of an fd that is kept open (the kernel generates cgroup and
 * proc files anew at each read from 0). -ENODEV: the cgroup is gone. */
ssize_t fs_pread(int fd, char *buf, size_t size);

/* Reads a file of any length up to max bytes into b (appended). -EFBIG beyond that. */
int fs_read_buf_at(int dirfd, const char *path, size_t max, struct buf *b,
		   struct err *err);

/* Reads a file that holds one unsigned number and an optional newline. -ENODATA: empty;
 * -EINVAL: other text, -ERANGE on overflow. */
int fs_read_u64_at(int dirfd, const char *path, uint64_t *ret, struct err *err);
int fs_pread_u64(int fd, uint64_t *ret);

/* Creates "path.new", the file that will be renamed to path. It is always newly made:
 * whatever has that name is removed first. The name goes to tmp[FS_NEW_BYTES]. mode is
 * subject to the umask. Returns the fd, for reading and writing, or negative errno. */
#define FS_NEW_BYTES 4096
int fs_create_new_at(int dirfd, const char *path, mode_t mode, char *tmp,
		     struct err *err);

/* Replaces path by a temporary file beside it, fsync and rename. mode is exact,
 * whatever the umask. */
int fs_write_atomic_at(int dirfd, const char *path, const void *data, size_t len,
		       mode_t mode, struct err *err);

/* The path by which this process opens once more what it has open: good as long as fd
 * is. */
#define FS_FD_PATH_BYTES 32
void fs_fd_path(int fd, char ret[FS_FD_PATH_BYTES]);

/* Writes all bytes to fd, repeating short writes and EINTR. */
int fs_write_all(int fd, const void *data, size_t len);
/* -errno of the write that has just failed. EFBIG, which means RLIMIT_FSIZE, is
 * returned as -ENOSPC like a full disk. */
int fs_write_errno(void);

/* Checks an open file before it is trusted: a regular file with one link, owned by
 * owner, with no permission bit outside mode. -EPERM with a text that says what to
 * change. */
int fs_check_trusted(int fd, const char *path, uid_t owner, mode_t mode,
		     struct err *err);
/* The same from a stat that the caller already has. */
int fs_check_trusted_stat(const struct stat *st, const char *path, uid_t owner,
			  mode_t mode, struct err *err);
/* Whether only root, the caller or the owner of the open file can have put it where it
 * is. -EBADF, or -EPERM with a text that says what to change. */
int fs_check_trusted_folder(const char *path, int fd, struct err *err);

#endif
