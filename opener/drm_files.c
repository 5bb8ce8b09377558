/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only the texts of DRM's files are handed on, as the kernel writes them: who asks
 * reads them. */
#include "opener/drm_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/records/profile_request.h"

#define DESCRIPTORS_MAX 4096u /* looked at */

static int error_of_process(void)
{
	return errno == ENOENT ? -ESRCH : -errno;
}

/* By its name, in whatever folder dri is: a file of another kind has no such text. 0
 * also of one that is closed by now. Any user can have one without a name
 * (-ENAMETOOLONG). */
static int is_drm_file(int fds, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(fds, name, target, sizeof(target) - 1);

	if (n < 0)
		return errno == ENOENT ? 0 : error_of_process();
	target[n] = '\0';
	return strstr(target, "/dri/") != NULL;
}

/* Its length; 0: it is not of a driver that tells anything, or gone */
static ssize_t read_drm_text(int process, const char *name,
			     char ret[PROFILE_DRM_FILE_BYTES])
{
	char path[32];
	int n = snprintf(path, sizeof(path), "fdinfo/%s", name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	ssize_t len = fs_read_at(process, path, ret, PROFILE_DRM_FILE_BYTES, NULL);
	if (len <= 0)
		return len == -ENOENT ? 0 : len;
	return strstr(ret, "\ndrm-driver:") ? (ssize_t)strlen(ret) : 0;
}

static int copy_drm_texts(int process, DIR *fds, int to, uint32_t *left_out)
{
	unsigned seen = 0, copied = 0;
	char text[PROFILE_DRM_FILE_BYTES];
	const struct dirent *e;

	while ((e = readdir(fds))) {
		if (e->d_name[0] == '.')
			continue;
		if (seen++ == DESCRIPTORS_MAX) {
			++*left_out;
			break;
		}
		ssize_t n = is_drm_file(dirfd(fds), e->d_name);
		if (n > 0)
			n = copied < PROFILE_DRM_FILES_MAX
				    ? read_drm_text(process, e->d_name, text)
				    : -EFBIG;
		if (n == -EACCES || n == -EPERM || n == -ESRCH)
			return (int)n;
		*left_out += n < 0;
		if (n <= 0)
			continue;
		int rc = fs_write_all(to, text, (size_t)n + 1);
		if (rc < 0)
			return rc;
		copied++;
	}
	return (int)copied;
}

int drm_files_copy(int process, uint32_t *left_out, struct err *err)
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
	int rc = copy_drm_texts(process, fds, to, left_out);
	if (rc <= 0)
		return err_set(err, rc ? rc : -ENODATA, "fdinfo: %s",
			       rc ? strerror(-rc) : "no client of a DRM driver");
	(void)lseek(to, 0, SEEK_SET);
	return steal_fd(&to);
}
