/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounded reading of small kernel files, and writing of files. */
#include "lib/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/parse.h"

static int open_at(int dirfd, const char *path, int flags, struct err *err)
{
	int fd;

	do {
		fd = openat(dirfd, path, flags | O_CLOEXEC | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "open %s: %s", path, strerror(-rc));
	}
	return fd;
}

int fs_open_at(int dirfd, const char *path, struct err *err)
{
	return open_at(dirfd, path, O_RDONLY, err);
}

int fs_opendir_at(int dirfd, const char *path, struct err *err)
{
	return open_at(dirfd, path, O_RDONLY | O_DIRECTORY, err);
}

ssize_t fs_pread(int fd, char *buf, size_t size)
{
	size_t len = 0;

	for (;;) {
		ssize_t n = pread(fd, buf + len, size - len, (off_t)len);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		len += (size_t)n;
		if (len == size)
			return -EFBIG;
		/* A seq_file fills a page record by record, so a short read far below a
		 * page is the end: numeric files need no second call. */
		if (n == 0 || len < 1024)
			break;
	}
	buf[len] = '\0';
	return (ssize_t)len;
}

ssize_t fs_read_at(int dirfd, const char *path, char *buf, size_t size, struct err *err)
{
	auto_close int fd = fs_open_at(dirfd, path, err);
	if (fd < 0)
		return fd;
	ssize_t n = fs_pread(fd, buf, size);
	if (n == -EFBIG)
		return err_set(err, -EFBIG, "read %s: longer than %zu bytes", path,
			       size - 1);
	if (n < 0)
		return err_set(err, (int)n, "read %s: %s", path, strerror((int)-n));
	return n;
}

int fs_read_buf_at(int dirfd, const char *path, size_t max, struct buf *b,
		   struct err *err)
{
	auto_close int fd = fs_open_at(dirfd, path, err);
	if (fd < 0)
		return fd;
	size_t total = 0;
	for (;;) {
		char *p = buf_reserve(b, 4096);
		if (!p)
			return err_set(err, buf_error(b), "read %s: out of room", path);
		ssize_t n = read(fd, p, 4096);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int rc = -errno;
			return err_set(err, rc, "read %s: %s", path, strerror(-rc));
		}
		if (n == 0)
			return 0;
		total += (size_t)n;
		if (total > max)
			return err_set(err, -EFBIG, "read %s: longer than %zu bytes",
				       path, max);
		buf_commit(b, (size_t)n);
	}
}

static int parse_file_u64(char *text, size_t len, uint64_t *ret)
{
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		text[--len] = '\0';
	if (!len)
		return -ENODATA;
	if (strlen(text) != len)
		return -EINVAL;
	return parse_u64(text, ret);
}

int fs_pread_u64(int fd, uint64_t *ret)
{
	char text[64];
	ssize_t n = fs_pread(fd, text, sizeof(text));

	if (n < 0)
		return n == -EFBIG ? -EINVAL : (int)n;
	return parse_file_u64(text, (size_t)n, ret);
}

int fs_read_u64_at(int dirfd, const char *path, uint64_t *ret, struct err *err)
{
	auto_close int fd = fs_open_at(dirfd, path, err);
	if (fd < 0)
		return fd;
	int rc = fs_pread_u64(fd, ret);
	switch (rc) {
	case 0:
		return 0;
	case -ENODATA:
		return err_set(err, rc, "%s: empty", path);
	case -EINVAL:
		return err_set(err, rc, "%s: not an unsigned number", path);
	case -ERANGE:
		return err_set(err, rc, "%s: number too large", path);
	default:
		return err_set(err, rc, "read %s: %s", path, strerror(-rc));
	}
}

int fs_write_errno(void)
{
	return errno == EFBIG ? -ENOSPC : -errno;
}

void fs_fd_path(int fd, char ret[FS_FD_PATH_BYTES])
{
	(void)snprintf(ret, FS_FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

int fs_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return fs_write_errno();
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fs_create_new_at(int dirfd, const char *path, mode_t mode, char *tmp,
		     struct err *err)
{
	int n = snprintf(tmp, FS_NEW_BYTES, "%s.new", path);

	if (n < 0 || n >= FS_NEW_BYTES)
		return err_set(err, -ENAMETOOLONG, "%s: path too long", path);
	if (unlinkat(dirfd, tmp, 0) < 0 && errno != ENOENT) {
		int rc = -errno;
		return err_set(err, rc, "remove %s: %s", tmp, strerror(-rc));
	}
	/* O_EXCL: refuses a file that somebody creates in between */
	int fd = openat(dirfd, tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			mode);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "create %s: %s", tmp, strerror(-rc));
	}
	return fd;
}

int fs_write_atomic_at(int dirfd, const char *path, const void *data, size_t len,
		       mode_t mode, struct err *err)
{
	char tmp[FS_NEW_BYTES];

	auto_close int fd = fs_create_new_at(dirfd, path, mode, tmp, err);
	if (fd < 0)
		return fd;
	int rc = fs_write_all(fd, data, len);
	if (rc == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		rc = -errno;
	if (rc == 0 && renameat(dirfd, tmp, dirfd, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlinkat(dirfd, tmp, 0);
		return err_set(err, rc, "write %s: %s", path, strerror(-rc));
	}
	return 0;
}

int fs_check_trusted_stat(const struct stat *st, const char *path, uid_t owner,
			  mode_t mode, struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return err_set(err, -EPERM, "%s: not a regular file, refused", path);
	if (st->st_nlink != 1)
		return err_set(err, -EPERM, "%s: has %ju links, refused (must be 1)",
			       path, (uintmax_t)st->st_nlink);
	if (st->st_uid != owner)
		return err_set(err, -EPERM, "%s: owned by uid %u, refused (must be %u)",
			       path, st->st_uid, owner);
	if (st->st_mode & 07777 & ~mode)
		return err_set(err, -EPERM, "%s: mode %04o, refused (chmod %04o)", path,
			       st->st_mode & 07777, st->st_mode & mode);
	return 0;
}

int fs_check_trusted(int fd, const char *path, uid_t owner, mode_t mode,
		     struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		int rc = -errno;
		return err_set(err, rc, "stat %s: %s", path, strerror(-rc));
	}
	return fs_check_trusted_stat(&st, path, owner, mode, err);
}

int fs_check_trusted_folder(const char *path, int fd, struct err *err)
{
	char folder[4096];
	struct stat st, file;
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (!slash || len >= sizeof(folder) - 1)
		return err_set(err, -EBADF, "%s: not a path", path);
	memcpy(folder, path, len);
	memcpy(folder + len, len ? "" : "/", len ? 1 : 2);
	if (stat(folder, &st) < 0 || fstat(fd, &file) < 0)
		return err_set(err, -EBADF, "stat %s: %s", folder, strerror(errno));
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != file.st_uid)
		return err_set(err, -EPERM, "%s: owned by uid %u, refused", folder,
			       st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, -EPERM, "%s: mode %04o, refused (chmod go-w)",
			       folder, st.st_mode & 07777);
	return 0;
}
