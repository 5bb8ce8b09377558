/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_SCRATCH_H
#define CEEMS_TEST_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/unit.h"

/* A folder of a test's own, below /tmp. A failure fails the test. */
#define SCRATCH_PATH 64

static inline void scratch_make(char path[SCRATCH_PATH])
{
	(void)snprintf(path, SCRATCH_PATH, "/tmp/ceems-test.XXXXXX");
	assert_non_null(mkdtemp(path));
}

/* Makes one with a copy of what is in the folder `from`. */
static inline void scratch_copy(char path[SCRATCH_PATH], const char *from)
{
	char source[512];
	int status;

	scratch_make(path);
	(void)snprintf(source, sizeof(source), "%s/.", from);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		execlp("cp", "cp", "-a", source, path, (char *)NULL);
		_exit(127);
	}
	assert_true(waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	/* cp gave it the mode of a folder that a checkout with another umask made */
	assert_int_equal(chmod(path, 0700), 0);
}

static inline void scratch_mkdir(const char *path, const char *name)
{
	char full[512];

	(void)snprintf(full, sizeof(full), "%s/%s", path, name);
	assert_int_equal(mkdir(full, 0755), 0);
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* The file or folder and all that is in it, nothing when there is none. */
static inline void scratch_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		assert_int_equal(
			nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
