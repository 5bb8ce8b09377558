/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a profile needs of a file that not even root may open is in the memory of
 * whoever executes it. Nothing else of that memory is handed on. */
#include "opener/profile_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "opener/profile.h"

/* rights: where "r--p offset device inode path" begins in a line of maps. What is of no
 * file has no inode ([heap], [anon:a/b]), or is shared (/SYSV00000000). */
static bool is_of_file_for_reading(const char *rights)
{
	enum { FIELDS_BEFORE_INODE = 3 };
	const char *at = rights;

	if (at[0] != 'r' || at[1] != '-' || !at[2] || at[3] != 'p')
		return false;
	for (int i = 0; i < FIELDS_BEFORE_INODE; i++) {
		at = strchr(at, ' ');
		if (!at++)
			return false;
	}
	if (*at == '0')
		return false;
	at += strspn(at, "0123456789");
	return at[strspn(at, " ")] == '/';
}

static int check_mapping(int process, uint64_t start, uint64_t end, struct err *err)
{
	auto_free char *line = NULL;
	char wanted[64];
	size_t room = 0, all = 0;
	ssize_t n;
	auto_close int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *f = fd < 0 ? NULL : fdopen(fd, "re");

	if (!f)
		return err_set(err, -errno, "maps: %s", strerror(errno));
	(void)steal_fd(&fd);
	/* as fs/proc/task_mmu.c writes it, in the order of addresses */
	int len = snprintf(wanted, sizeof(wanted), "%08" PRIx64 "-%08" PRIx64 " ",
			   start, end);
	while ((n = getline(&line, &room, f)) > 0) {
		all += (size_t)n;
		if (all > PROFILE_MAPS_MAX)
			return err_set(err, -EFBIG, "maps of more than %u bytes",
				       PROFILE_MAPS_MAX);
		if (strncmp(line, wanted, (size_t)len) == 0)
			return is_of_file_for_reading(line + len)
				       ? 0
				       : err_set(err, -EPERM,
						 "%snot of a file for reading alone",
						 wanted);
		if (strtoull(line, NULL, 16) > start)
			break;
	}
	return err_set(err, -ENOENT, "%sno such mapping", wanted);
}

static int check_closed(int process, uint64_t start, uint64_t end, struct err *err)
{
	struct profile_file file;
	auto_close int fd = profile_open_file(process, start, end, &file, err);

	if (fd >= 0)
		return err_set(err, -EEXIST, "its file opens");
	return fd == -EACCES ? 0 : fd;
}

/* A process that executes another program, one with other rights perhaps, leaves its
 * memory, and what was opened of it has nothing to read from then on: so it is opened
 * before anything is asked about it. Only a process that shares it, as after vfork(2),
 * would keep it alive, which is why the owner has to be the same, too. */
static int open_memory(int process, uint64_t start, uint64_t end, struct err *err)
{
	uint32_t owner = profile_owner(process);
	auto_close int fd = openat(process, "mem", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "mem: %s", strerror(errno));
	int rc = check_mapping(process, start, end, err);
	if (rc == 0)
		rc = check_closed(process, start, end, err);
	if (rc == 0 && profile_owner(process) != owner)
		rc = err_set(err, -ESRCH, "another program runs by now");
	return rc < 0 ? rc : steal_fd(&fd);
}

int profile_memory_copy(int process, uint64_t start, uint64_t end, struct err *err)
{
	char part[16384];

	if (end - start > PROFILE_MEMORY_MAX)
		return err_set(err, -EFBIG, "a mapping of more than %u bytes",
			       PROFILE_MEMORY_MAX);
	auto_close int from = open_memory(process, start, end, err);
	if (from < 0)
		return from;
	auto_close int to = memfd_create("memory", MFD_CLOEXEC);
	if (to < 0)
		return err_set(err, -errno, "memory: %s", strerror(errno));
	for (uint64_t at = start; at < end;) {
		size_t want =
			end - at < sizeof(part) ? (size_t)(end - at) : sizeof(part);
		ssize_t n = pread(from, part, want, (off_t)at);
		if (n <= 0) /* behind the file's end */
			break;
		int rc = fs_write_all(to, part, (size_t)n);
		if (rc < 0)
			return err_set(err, rc, "memory: %s", strerror(-rc));
		at += (uint64_t)n;
	}
	(void)lseek(to, 0, SEEK_SET);
	return steal_fd(&to);
}
