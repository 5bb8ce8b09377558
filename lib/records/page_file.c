/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/crc32c.h"
#include "lib/fs.h"

_Static_assert(sizeof(struct page_file_header) == 24, "no padding");

static off_t row_place(const struct page_file_header *h, uint32_t row)
{
	return (off_t)sizeof(*h) + (off_t)row * h->row_bytes;
}

uint32_t page_file_crc(const struct page_file_header *h, const void *row)
{
	const size_t skipped = sizeof(uint32_t);

	return crc32c(0, (const char *)row + skipped, h->row_bytes - skipped);
}

/* ---- writing --------------------------------------------------------------------- */

int page_file_create(const char *path, const struct page_file_header *h,
		     struct err *err)
{
	char tmp[FS_NEW_BYTES];
	auto_close int fd = fs_create_new_at(AT_FDCWD, path, 0600, tmp, err);

	if (fd < 0)
		return fd;
	int rc = fchmod(fd, 0600) < 0 ? -errno
				      : -posix_fallocate(fd, 0, row_place(h, h->rows));
	if (rc == 0 && pwrite(fd, h, sizeof(*h), 0) != (ssize_t)sizeof(*h))
		rc = -EIO;
	if (rc == 0 && rename(tmp, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(tmp);
		return err_set(err, rc, "create %s: %s", path, strerror(-rc));
	}
	return steal_fd(&fd);
}

int page_file_write(int fd, const struct page_file_header *h, void *rows, uint32_t at,
		    uint32_t count)
{
	size_t len = (size_t)count * h->row_bytes;

	for (uint32_t i = 0; i < count; i++) {
		char *row = (char *)rows + (size_t)i * h->row_bytes;
		uint32_t crc = page_file_crc(h, row);
		memcpy(row, &crc, sizeof(crc));
	}
	ssize_t n = pwrite(fd, rows, len, row_place(h, at));
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/* ---- reading --------------------------------------------------------------------- */

static int check_page_file(int fd, const char *path, const struct page_file_header *h,
			   const char *what, struct err *err)
{
	struct page_file_header has;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -EBADF, "stat %s: %s", path, strerror(errno));
	int rc = fs_check_trusted_stat(&st, path, st.st_uid, 0600, err);
	if (rc == 0)
		rc = fs_check_trusted_folder(path, fd, err);
	if (rc < 0)
		return rc;
	if (pread(fd, &has, sizeof(has), 0) != (ssize_t)sizeof(has) ||
	    memcmp(has.magic, h->magic, sizeof(has.magic)) != 0)
		return err_set(err, -EBADF, "%s: not a page %s", path, what);
	if (has.version != h->version || has.row_bytes != h->row_bytes ||
	    has.rows != h->rows)
		return err_set(err, -EPROTO, "%s: version %u, this program has %u",
			       path, has.version, h->version);
	return st.st_size == row_place(h, h->rows)
		       ? 0
		       : err_set(err, -EBADF, "%s: not a page %s", path, what);
}

int page_file_open(const char *path, const struct page_file_header *h, const char *what,
		   struct err *err)
{
	/* O_NONBLOCK: a FIFO in its place must not hold up a job */
	auto_close int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc == -ENOENT ? rc : -EPERM, "open %s: %s", path,
			       strerror(-rc));
	}
	int rc = check_page_file(fd, path, h, what, err);
	return rc < 0 ? rc : steal_fd(&fd);
}

int page_file_read(int fd, const struct page_file_header *h, void *rows, uint32_t at,
		   uint32_t count)
{
	size_t len = (size_t)count * h->row_bytes;

	return pread(fd, rows, len, row_place(h, at)) == (ssize_t)len ? 0 : -EBADF;
}
