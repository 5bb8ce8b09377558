/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_CGROUP_FIXTURE_H
#define CEEMS_TEST_CGROUP_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static inline int open_fixture(const char *name, struct cgroup_layout *layout)
{
	char path[256];
	struct err err;

	(void)snprintf(path, sizeof(path), "test/fixture/%s/sys/fs/cgroup", name);
	int fd = fs_opendir_at(AT_FDCWD, path, &err);
	if (fd < 0)
		fail_msg("%s", err.text);
	assert_int_equal(cgroup_probe(fd, layout, &err), 0);
	return fd;
}

__attribute__((unused)) static const struct cgroup_known nothing_known;

#define V1_ALL                                                                         \
	(CGROUP_CPUACCT | CGROUP_MEMORY | CGROUP_CPUSET | CGROUP_CPU | CGROUP_PIDS |   \
	 CGROUP_BLKIO | CGROUP_FREEZER)

static inline struct record_cgroup path_of(uint32_t controllers, const char *path)
{
	struct record_cgroup c = {.controllers = controllers};

	assert_true(strlen(path) < sizeof(c.path));
	memcpy(c.path, path, strlen(path) + 1);
	return c;
}

/* A tree of a test's own, where files can be made wrong. */
static char scratch[SCRATCH_PATH];
static int scratch_fd;

static inline void make_dirs(const char *path)
{
	char copy[256];

	assert_true(strlen(path) < sizeof(copy));
	memcpy(copy, path, strlen(path) + 1);
	for (char *p = copy + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdirat(scratch_fd, copy, 0700) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

static inline void put(const char *path, const char *text)
{
	make_dirs(path);
	auto_close int fd = openat(scratch_fd, path,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

static inline void take(const char *path)
{
	assert_int_equal(unlinkat(scratch_fd, path, 0), 0);
}

__attribute__((unused)) static const struct cgroup_layout v1_layout = {
	.cpuacct = "cpuacct",
	.memory = "memory",
	.cpuset = "cpuset",
	.cpu = "cpu",
	.pids = "pids"};
__attribute__((unused)) static const struct cgroup_layout v2_layout = {
	.unified_only = true, .unified = "."};

static inline int setup(void **state)
{
	(void)state;
	scratch_make(scratch);
	scratch_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return scratch_fd < 0;
}

static inline int teardown(void **state)
{
	(void)state;
	close(scratch_fd);
	scratch_remove(scratch);
	return 0;
}

#endif
