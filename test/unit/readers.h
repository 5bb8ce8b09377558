/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_READERS_H
#define CEEMS_TEST_READERS_H

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fs.h"

/* The children that read a file, at most most. Returns how many. */
static inline int find_readers(pid_t *pids, int most)
{
	auto_closedir DIR *d = opendir("/proc");
	struct dirent *e;
	int count = 0;

	while (count < most && (e = readdir(d))) {
		char path[300], text[512];
		int parent = 0, above = 0;
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (pid <= 0)
			continue;
		(void)snprintf(path, sizeof(path), "%d/stat", pid);
		if (fs_read_at(dirfd(d), path, text, sizeof(text), NULL) <= 0 ||
		    !strstr(text, "(ceems-prof-read)"))
			continue;
		parent = (int)strtol(strrchr(text, ')') + 4, NULL, 10);
		(void)snprintf(path, sizeof(path), "%d/stat", parent);
		if (fs_read_at(dirfd(d), path, text, sizeof(text), NULL) > 0)
			above = (int)strtol(strrchr(text, ')') + 4, NULL, 10);
		if (above == getpid())
			pids[count++] = pid;
	}
	return count;
}

/* Sends a signal to each of them. Returns how many. */
static inline int signal_readers(int signal)
{
	pid_t pids[64];
	int count = find_readers(pids, 64);

	for (int i = 0; i < count; i++)
		(void)kill(pids[i], signal);
	return count;
}

#endif
