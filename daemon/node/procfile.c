/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads whole procfs files by pread() from 0: usually one system call, no open and
 * close. */
#include "daemon/node/procfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/fs.h"

#define FIRST_BYTES 8192

int procfile_open(struct procfile *f, int dirfd, const char *path, struct err *err)
{
	*f = (struct procfile){.path = path, .fd = -1};
	int fd = fs_open_at(dirfd, path, err);
	if (fd < 0)
		return fd == -ENOENT ? -ENODEV : fd;
	f->fd = fd;
	return 0;
}

void procfile_close(struct procfile *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->data);
	f->fd = -1;
	f->data = NULL;
	f->cap = 0;
}

static int grow_procfile(struct procfile *f, struct err *err)
{
	size_t cap = f->cap ? f->cap * 2 : FIRST_BYTES;

	if (cap > PROCFILE_BYTES_MAX)
		return err_set(err, -EFBIG, "read %s: longer than %zu bytes", f->path,
			       PROCFILE_BYTES_MAX);
	char *p = realloc(f->data, cap);
	if (!p)
		return err_set(err, -ENOMEM, "read %s: out of memory", f->path);
	f->data = p;
	f->cap = cap;
	return 0;
}

int procfile_read(struct procfile *f, const char **ret, size_t *ret_len,
		  struct err *err)
{
	size_t len = 0;

	for (;;) {
		if (len == f->cap) {
			int rc = grow_procfile(f, err);
			if (rc < 0)
				return rc;
		}
		ssize_t n = pread(f->fd, f->data + len, f->cap - len, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int rc = -errno;
			return err_set(err, rc, "read %s: %s", f->path, strerror(-rc));
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (!len)
		return err_set(err, -ENODATA, "%s: empty", f->path);
	*ret = f->data;
	*ret_len = len;
	return 0;
}
