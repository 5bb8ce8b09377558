/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "opener/profile.h"

#define CGROUP_BYTES 16384
#define STATUS_LINE_BYTES 1024

int profile_open_process(int procfd, uint32_t pid, struct err *err)
{
	char path[16];

	(void)snprintf(path, sizeof(path), "%" PRIu32, pid);
	int fd = openat(procfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set(err, errno == ENOENT ? -ESRCH : -errno,
				"process %s: %s", path, strerror(errno))
		      : fd;
}

int profile_find_unit(int process, char *ret, struct err *err)
{
	char text[CGROUP_BYTES];
	ssize_t n = fs_read_at(process, "cgroup", text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	cgroup_unit_of_text(text, (size_t)n, ret);
	return *ret ? 0 : err_set(err, -ESRCH, "the process is of no unit");
}

/* Of a line of its status, the first number or the last one. There may be thousands of
 * groups on a line before it. */
static int read_status_number(int process, const char *key, bool last, uint32_t *ret,
			      struct err *err)
{
	auto_close int fd = fs_open_at(process, "status", err);
	auto_fclose FILE *f = fd >= 0 ? fdopen(fd, "re") : NULL;
	char line[STATUS_LINE_BYTES];

	if (!f)
		return fd < 0 ? fd : err_set(err, -errno, "status: no memory");
	(void)steal_fd(&fd);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		char *at = line + strlen(key);
		at[strcspn(at, "\n")] = '\0';
		if (last && strrchr(at, '\t'))
			at = strrchr(at, '\t') + 1;
		else
			at[strcspn(at, "\t")] = '\0';
		return parse_u32(at, ret) == 0
			       ? 0
			       : err_set(err, -EINVAL, "status: %sis no number", key);
	}
	return err_set(err, -ENODATA, "status: no such line: %s", key);
}

uint32_t profile_owner(int process)
{
	struct stat st;

	return fstat(process, &st) == 0 ? st.st_uid : 0;
}

static uint32_t read_own_uid(int process)
{
	uint32_t uid = profile_owner(process);

	if (!uid)
		(void)read_status_number(process, "Uid:\t", false, &uid, NULL);
	return uid;
}

/* Whoever made the outermost user namespace that is not root's made those in it, too:
 * ioctl_ns(2). 0: there is none below our own. */
static uint32_t find_namespace_maker(int process)
{
	uint32_t maker = 0;
	int fd = openat(process, "ns/user", O_RDONLY | O_CLOEXEC);

	while (fd >= 0) { /* there are 32 levels */
		uid_t uid;
		int parent = ioctl(fd, NS_GET_PARENT);
		if (parent >= 0 && ioctl(fd, NS_GET_OWNER_UID, &uid) == 0 && uid)
			maker = uid;
		close(fd);
		fd = parent;
	}
	return maker;
}

uint32_t profile_user(int process)
{
	uint32_t maker = find_namespace_maker(process);

	return maker ? maker : read_own_uid(process);
}

int profile_copy_maps(int process, struct err *err)
{
	auto_close int from = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	auto_close int to = memfd_create("maps", MFD_CLOEXEC);
	char text[16384];
	size_t all = 0;

	if (from < 0 || to < 0)
		return err_set(err, errno == ENOENT ? -ESRCH : -errno, "maps: %s",
			       strerror(errno));
	for (;;) {
		ssize_t n = read(from, text, sizeof(text));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "maps: %s", strerror(errno));
		if (n == 0)
			break;
		all += (size_t)n;
		if (all > PROFILE_MAPS_MAX)
			return err_set(err, -EFBIG, "maps of more than %u bytes",
				       PROFILE_MAPS_MAX);
		int rc = fs_write_all(to, text, (size_t)n);
		if (rc < 0)
			return err_set(err, rc, "maps: %s", strerror(-rc));
	}
	(void)lseek(to, 0, SEEK_SET);
	return steal_fd(&to);
}

/* rc: of a call that has set errno or *st */
static int check_regular(int rc, const struct stat *st, const char *path,
			 struct err *err)
{
	if (rc < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return S_ISREG(st->st_mode)
		       ? 0
		       : err_set(err, -EINVAL, "%s: no regular file", path);
}

int profile_open_file(int process, uint64_t start, uint64_t end,
		      struct profile_file *ret, struct err *err)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64, start,
		       end);
	/* before it is opened, by which a device would notice */
	int rc = check_regular(fstatat(process, path, &st, 0), &st, path, err);
	auto_close int fd =
		rc < 0 ? -1
		       : openat(process, path,
				O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (rc == 0)
		rc = check_regular(fd < 0 ? fd : fstat(fd, &st), &st, path, err);
	if (rc < 0)
		return rc;
	*ret = (struct profile_file){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed_s = st.st_ctim.tv_sec,
		.changed_ns = st.st_ctim.tv_nsec,
	};
	return steal_fd(&fd);
}

/* What its user put there may be a device of this machine's, which he may not open but
 * bind there, in a mount namespace of his own: some begin to do something when they are
 * opened (a watchdog), so that it is looked at before. */
int profile_open_perf_map(int process, struct err *err)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	char path[FS_FD_PATH_BYTES];
	struct stat st;
	uint32_t number = 0;

	/* what the process itself calls its number is the last one */
	int rc = read_status_number(process, "NSpid:\t", true, &number, err);
	if (rc < 0)
		return rc;
	(void)snprintf(path, sizeof(path), "tmp/perf-%" PRIu32 ".map", number);
	auto_close int root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int there =
		root < 0 ? -1
			 : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	rc = check_regular(there < 0 ? there : fstat(there, &st), &st, path, err);
	if (rc < 0)
		return rc;
	if (st.st_uid != read_own_uid(process) || st.st_nlink != 1)
		return err_set(err, -EPERM, "%s: not the process's own", path);
	if (st.st_size > PROFILE_PERF_MAP_MAX)
		return err_set(err, -EFBIG, "%s: more than %u bytes", path,
			       PROFILE_PERF_MAP_MAX);
	fs_fd_path(there, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? err_set(err, -errno, "perf map: %s", strerror(errno)) : fd;
}
