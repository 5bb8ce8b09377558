/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_around GROUP... -- COMMAND...: runs COMMAND in these control groups and prints
 * what inherited perf events counted for it, as perf stat does: page faults, context
 * switches, CPU migrations, minor and major faults. Exit status 77: not possible
 * here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"

#define EVENTS 5u

static int open_event(uint64_t config, pid_t pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.inherit = 1,
		.disabled = 1,
		.enable_on_exec = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static int move_to(const char *group, pid_t pid)
{
	char path[4096], text[32];

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	int n = snprintf(text, sizeof(text), "%d", (int)pid);
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, text, (size_t)n) == n)
		return 0;
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return -1;
}

static int print_counts(const int fds[EVENTS])
{
	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t count;
		if (read(fds[i], &count, sizeof(count)) != sizeof(count))
			return 1;
		printf("%llu%c", (unsigned long long)count,
		       i + 1 < EVENTS ? ' ' : '\n');
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const uint64_t kinds[EVENTS] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES,
		PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
		PERF_COUNT_SW_PAGE_FAULTS_MAJ};
	int fds[EVENTS], go[2], status, command = 1;

	while (command < argc && strcmp(argv[command], "--") != 0)
		command++;
	if (command + 1 >= argc || pipe2(go, O_CLOEXEC) < 0) {
		fputs("usage: perf_around GROUP... -- COMMAND...\n", stderr);
		return 2;
	}
	pid_t pid = fork();
	if (pid == 0) {
		char c;
		if (read(go[0], &c, 1) == 1)
			execvp(argv[command + 1], argv + command + 1);
		_exit(127);
	}
	for (unsigned i = 0; i < EVENTS; i++) {
		fds[i] = open_event(kinds[i], pid);
		if (fds[i] < 0) {
			fprintf(stderr, "perf_event_open: %s\n", strerror(errno));
			return 77;
		}
	}
	for (int i = 1; i < command; i++) {
		if (move_to(argv[i], pid) < 0)
			return 1;
	}
	if (write(go[1], "", 1) != 1 || waitpid(pid, &status, 0) < 0)
		return 1;
	return print_counts(fds) || status;
}
