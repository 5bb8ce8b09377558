/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool gpu release|resume: for prologs and tools that reset GPUs, change MIG or
 * unload the driver. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "cli/tool/tool.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/records/gpu_hold.h"

#define RUNDIR "/run/ceems"
#define WAIT_NS (10 * NSEC_PER_SEC)

static int fail_gpu(const char *path, const char *what)
{
	fprintf(stderr, "ceems_tool: %s: %s\n", path, what);
	return TOOL_FAILED;
}

/* The run directory's file of that name */
static int parse_gpu_args(int argc, char **argv, const char *name, char path[PATH_MAX])
{
	const char *rundir = RUNDIR;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--path.rundir") == 0 && i + 1 < argc)
			rundir = argv[++i];
		else if (strncmp(argv[i], "--path.rundir=", 14) == 0)
			rundir = argv[i] + 14;
		else
			return tool_usage_error("unknown argument: ", argv[i]);
	}
	int n = snprintf(path, PATH_MAX, "%s/%s", rundir, name);
	return n < 0 || n >= PATH_MAX ? fail_gpu(rundir, "too long") : 0;
}

/* Until nobody has the lock */
static int wait_released(const char *path)
{
	uint64_t until_ns = clock_boottime_ns() + WAIT_NS;
	struct timespec pause = {.tv_nsec = 20 * NSEC_PER_MSEC};
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) /* ceemsd has never started ceems-gpu here */
		return errno == ENOENT ? 0 : fail_gpu(path, strerror(errno));
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (clock_boottime_ns() > until_ns)
			return fail_gpu(path, "ceems-gpu still uses the driver after "
					      "10 s: it hangs in it, or ceemsd does "
					      "not run");
		nanosleep(&pause, NULL);
	}
	return 0;
}

int tool_gpu_release(int argc, char **argv)
{
	char path[PATH_MAX], lock[PATH_MAX];
	int status = parse_gpu_args(argc, argv, GPU_RELEASE_NAME, path);

	if (status == 0)
		status = parse_gpu_args(argc, argv, GPU_LOCK_NAME, lock);
	if (status)
		return status;
	auto_close int fd =
		open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 ? fail_gpu(path, strerror(errno)) : wait_released(lock);
}

int tool_gpu_resume(int argc, char **argv)
{
	char path[PATH_MAX];
	int status = parse_gpu_args(argc, argv, GPU_RELEASE_NAME, path);

	if (status)
		return status;
	return unlink(path) < 0 && errno != ENOENT ? fail_gpu(path, strerror(errno))
						   : 0;
}
