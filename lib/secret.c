/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One rule for files that hold secrets, for all programs. */
#include "lib/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"

int secret_read(const char *file, size_t max, struct buf *ret, struct stat *ret_st,
		struct err *err)
{
	auto_close int fd = fs_open_at(AT_FDCWD, file, err);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st) < 0) {
		int rc = -errno;
		return err_set(err, rc, "stat %s: %s", file, strerror(-rc));
	}
	if (!S_ISREG(ret_st->st_mode))
		return err_set(err, -EINVAL, "%s: not a regular file", file);
	if (ret_st->st_size < 0 || (size_t)ret_st->st_size > max)
		return err_set(err, -EFBIG, "%s: longer than %zu bytes", file, max);
	size_t room = (size_t)ret_st->st_size + 4096;
	char *at = buf_reserve(ret, room);
	if (!at)
		return err_set(err, buf_error(ret), "read %s: out of memory", file);
	ssize_t n = fs_pread(fd, at, room);
	if (n < 0)
		return err_set(err, (int)n, "read %s: %s", file, strerror((int)-n));
	buf_commit(ret, (size_t)n);
	return 0;
}

int secret_check(const char *file, const struct stat *st, struct err *err)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return err_set(err, -EPERM,
			       "%s: holds secrets and is owned by uid %u, refused "
			       "(must be root or %u)",
			       file, st->st_uid, geteuid());
	if (st->st_mode & 0027)
		return err_set(err, -EPERM,
			       "%s: holds secrets and has mode %04o, refused (chmod "
			       "%04o)",
			       file, st->st_mode & 07777, st->st_mode & 0750);
	return 0;
}

int secret_load(const char *file, size_t max, struct buf *ret, struct err *err)
{
	struct stat st;
	int rc = secret_read(file, max, ret, &st, err);

	return rc < 0 ? rc : secret_check(file, &st, err);
}

void secret_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_done(b);
}
