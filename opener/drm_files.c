/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only the texts of DRM's files are handed on, as the kernel writes them: who asks
 * reads them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "opener/profile.h"

#define DESCRIPTORS_MAX 4096u /* looked at */
#define TARGET_BYTES 256u

static int error_of_process(void)
{
	return errno == ENOENT ? -ESRCH : -errno;
}

/* By its name, in whatever folder dri is: a file of another kind has no such text. 0
 * also of one that is closed by now. */
static int is_drm_file(int fds, const char *name)
{
	char target[TARGET_BYTES];
	ssize_t n = readlinkat(fds, name, target, sizeof(target) - 1);

	if (n < 0)
		return errno == ENOENT ? 0 : error_of_process();
	target[n] = '\0';
	return strstr(target, "/dri/") != NULL;
}

/* 1: it is in to; 0: it is not of a driver that tells anything, or gone; -EFBIG: its
 * text is longer than any. */
static int copy_drm_text(int process, const char *name, int to)
{
	char path[32], text[PROFILE_DRM_FILE_BYTES];
	int n = snprintf(path, sizeof(path), "fdinfo/%s", name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	ssize_t len = fs_read_at(process, path, text, sizeof(text), NULL);
	if (len == -EFBIG)
		return -EFBIG;
	if (len <= 0 || !strstr(text, "\ndrm-driver:"))
		return 0;
	int rc = fs_write_all(to, text, strlen(text) + 1);
	return rc < 0 ? rc : 1;
}

static int copy_drm_texts(int process, DIR *fds, int to, uint32_t *ret_left_out)
{
	unsigned seen = 0, copied = 0, left_out = 0;
	const struct dirent *e;

	while ((e = readdir(fds))) {
		if (e->d_name[0] == '.')
			continue;
		if (seen++ == DESCRIPTORS_MAX) {
			left_out++;
			break;
		}
		int rc = is_drm_file(dirfd(fds), e->d_name);
		if (rc > 0)
			rc = copied < PROFILE_DRM_FILES_MAX
				     ? copy_drm_text(process, e->d_name, to)
				     : -EFBIG;
		if (rc == -EFBIG)
			left_out++;
		else if (rc < 0)
			return rc;
		copied += rc == 1;
	}
	*ret_left_out = left_out;
	return (int)copied;
}

int profile_copy_drm(int process, uint32_t *ret_left_out, struct err *err)
{
	int folder = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *fds = folder < 0 ? NULL : fdopendir(folder);
	auto_close int to = memfd_create("drm", MFD_CLOEXEC);

	if (!fds || to < 0) {
		int rc = error_of_process();
		if (!fds && folder >= 0)
			close(folder);
		return err_set(err, rc, "fd: %s", strerror(-rc));
	}
	int rc = copy_drm_texts(process, fds, to, ret_left_out);
	if (rc <= 0)
		return err_set(err, rc ? rc : -ENODATA, "fdinfo: %s",
			       rc ? strerror(-rc) : "no client of a DRM driver");
	(void)lseek(to, 0, SEEK_SET);
	return steal_fd(&to);
}
