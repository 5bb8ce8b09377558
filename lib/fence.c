/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Landlock by bare system calls and our own copy of its constants, which are ABI: the
 * headers of the oldest supported system do not have them. */
#include "lib/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"

/* the same on every architecture */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define CREATE_VERSION 1u
#define RULE_PATH_BENEATH 1

#define WRITE_FILE (1ull << 1)
#define READ_FILE (1ull << 2)
#define READ_DIR (1ull << 3)
#define FIRST_ABI ((1ull << 13) - 1) /* execute, read, write, make, remove */
#define REFER (1ull << 13)           /* from 2 on */
#define TRUNCATE (1ull << 14)        /* from 3 on */

struct ruleset {
	uint64_t handled;
};

struct path_beneath {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

/* /proc as a whole: a rule on /proc/self would apply to its inode only. */
static const char *const system_folders[] = {
	"/etc",
	"/usr",
	"/lib",
	"/lib64",
	"/opt",
	"/nix/store",
	"/proc",
	"/run",
	"/sys",
	/* caches and maps of name services: sss, extrausers, db, samba, nscd, NIS */
	"/var/lib/sss",
	"/var/lib/extrausers",
	"/var/lib/misc",
	"/var/lib/nscd",
	"/var/lib/pbis",
	"/var/lib/samba",
	"/var/cache/nscd",
	"/var/cache/samba",
	"/var/db",
	"/var/opt",
	"/var/yp",
	"/dev/urandom",
	"/dev/random",
	"/dev/zero",
};

static int add_rule(const struct fence *f, const char *path, uint64_t allowed)
{
	struct stat st;
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		allowed &= ~READ_DIR;
	const struct path_beneath rule = {.allowed = allowed & f->handled, .fd = fd};
	return syscall(SYS_landlock_add_rule, f->fd, RULE_PATH_BENEATH, &rule, 0) < 0
		       ? -errno
		       : 0;
}

/* The kernel's ABI version; -ENOSYS. */
static long find_abi(struct err *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	if (abi >= 1)
		return abi;
	return err_set(err, -ENOSYS,
		       "this kernel has no Landlock (5.13, lsm=), or SystemCallFilter= "
		       "of the service's systemd unit forbids it");
}

int fence_probe(struct err *err)
{
	long abi = find_abi(err);
	return abi < 0 ? (int)abi : 0;
}

int fence_begin(struct fence *f, struct err *err)
{
	long abi = find_abi(err);

	if (abi < 0)
		return (int)abi;
	const struct ruleset r = {.handled = FIRST_ABI | (abi >= 2 ? REFER : 0) |
					     (abi >= 3 ? TRUNCATE : 0)};
	f->handled = r.handled;
	f->last[0] = '\0';
	f->fd = (int)syscall(SYS_landlock_create_ruleset, &r, sizeof(r), 0);
	if (f->fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "Landlock: %s", strerror(-rc));
	}
	(void)fcntl(f->fd, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < sizeof(system_folders) / sizeof(system_folders[0]); i++)
		fence_add_folder(f, system_folders[i]);
	(void)add_rule(f, "/dev/null", READ_FILE | WRITE_FILE | TRUNCATE);
	return 0;
}

void fence_add_folder(struct fence *f, const char *path)
{
	(void)add_rule(f, path, READ_FILE | READ_DIR);
}

/* Modifies path. Thousands of files are often in one folder, which is added once. */
static void add_folder_of(struct fence *f, char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == path)
		slash[1] = '\0';
	else if (slash)
		*slash = '\0';
	const char *folder = slash ? path : ".";
	if (strcmp(folder, f->last) == 0)
		return;
	memcpy(f->last, folder, strlen(folder) + 1);
	fence_add_folder(f, folder);
}

/* The next of lines, or false. Lines longer than a path are skipped. */
static bool take_line(const char **lines, char line[PATH_MAX])
{
	for (const char *s = *lines; *s;) {
		size_t n = strcspn(s, "\n");
		const char *begin = s;

		s += n + (s[n] == '\n');
		*lines = s;
		if (n == 0 || n >= PATH_MAX)
			continue;
		memcpy(line, begin, n);
		line[n] = '\0';
		return true;
	}
	return false;
}

void fence_add_files(struct fence *f, const char *lines)
{
	char line[PATH_MAX], real[PATH_MAX];

	while (take_line(&lines, line)) {
		bool there = realpath(line, real);

		add_folder_of(f, line);
		if (there)
			add_folder_of(f, real);
	}
}

int fence_enter(struct fence *f, struct err *err)
{
	int rc = syscall(SYS_landlock_restrict_self, f->fd, 0) < 0 ? -errno : 0;

	close(f->fd);
	f->fd = -1;
	return rc < 0 ? err_set(err, rc, "Landlock: %s", strerror(-rc)) : 0;
}

int fence_check_files(const char *lines, struct err *err)
{
	char line[PATH_MAX];

	while (take_line(&lines, line)) {
		auto_close int fd =
			open(line, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0 && errno == EACCES)
			return err_set(err, -EACCES, "open %s: %s", line,
				       strerror(EACCES));
	}
	return 0;
}
