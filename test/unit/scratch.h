/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_SCRATCH_H
#define CEEMS_TEST_SCRATCH_H

#include <fcntl.h>
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
	/* modes are those that a test gives, whatever umask its caller has */
	(void)umask(022);
	(void)snprintf(path, SCRATCH_PATH, "/tmp/ceems-test.XXXXXX");
	assert_non_null(mkdtemp(path));
}

/* Runs a program of the search path, without a shell, its output thrown away. Returns
 * its wait status. */
static inline int scratch_run(const char *const argv[])
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null >= 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2)
			execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	assert_true(waitpid(pid, &status, 0) == pid);
	return status;
}

/* What is in the folder `from`, into a folder that is there. */
static inline void scratch_add(const char *path, const char *from)
{
	char source[512];

	(void)snprintf(source, sizeof(source), "%s/.", from);
	const char *const argv[] = {"cp", "-a", source, path, NULL};
	assert_int_equal(scratch_run(argv), 0);
}

/* Makes one with a copy of what is in the folder `from`. */
static inline void scratch_copy(char path[SCRATCH_PATH], const char *from)
{
	scratch_make(path);
	scratch_add(path, from);
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
