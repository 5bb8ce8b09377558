/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of which is known how many instructions they execute, six a turn:
 *	known_loop TURNS                 alone
 *	known_loop threads N TURNS       in N threads at a time, TURNS each
 *	known_loop children N TURNS      in N processes, one after the other
 *	known_loop as UID COMMAND...     becomes that user, and executes COMMAND
 *	known_loop crowd N               keeps N events of its own on CPU 0, for ever
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/parse.h"

#define MANY 64u

static void run_turns(uint64_t turns)
{
#if defined(__aarch64__)
	__asm__ volatile("1: nop\n nop\n nop\n nop\n subs %0, %0, #1\n b.ne 1b"
			 : "+r"(turns)
			 :
			 : "cc");
#elif defined(__x86_64__)
	__asm__ volatile("1: nop\n nop\n nop\n nop\n dec %0\n jnz 1b"
			 : "+r"(turns)
			 :
			 : "cc");
#else
	for (volatile uint64_t n = turns; n; n--)
		continue;
#endif
}

static void *run_thread(void *turns)
{
	run_turns(*(uint64_t *)turns);
	return NULL;
}

static int run_threads(uint64_t count, uint64_t turns)
{
	pthread_t threads[MANY];

	for (uint64_t i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, run_thread, &turns) != 0)
			return 1;
	}
	for (uint64_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int run_children(uint64_t count, uint64_t turns)
{
	for (uint64_t i = 0; i < count; i++) {
		int status;
		pid_t pid = fork();
		if (pid == 0) {
			run_turns(turns);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
			return 1;
	}
	return 0;
}

static int keep_crowd(uint64_t count)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_HARDWARE,
				       .config = PERF_COUNT_HW_INSTRUCTIONS};

	for (uint64_t i = 0; i < count; i++) {
		if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) < 0) {
			fprintf(stderr, "perf_event_open: %s\n", strerror(errno));
			return 1;
		}
	}
	puts("kept");
	fflush(stdout);
	for (;;)
		pause();
}

static uint64_t number_of(const char *text)
{
	uint64_t n = 0;

	if (parse_u64(text, &n) == 0)
		return n;
	fprintf(stderr, "%s: not a number\n", text);
	exit(2);
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		run_turns(number_of(argv[1]));
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "threads") == 0)
		return run_threads(number_of(argv[2]) % MANY, number_of(argv[3]));
	if (argc == 4 && strcmp(argv[1], "children") == 0)
		return run_children(number_of(argv[2]), number_of(argv[3]));
	if (argc == 3 && strcmp(argv[1], "crowd") == 0)
		return keep_crowd(number_of(argv[2]) % MANY);
	if (argc > 3 && strcmp(argv[1], "as") == 0) {
		uid_t uid = (uid_t)number_of(argv[2]);
		if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
			return 1;
		execv(argv[3], argv + 3);
	}
	fprintf(stderr, "known_loop: %s\n", strerror(errno));
	return 2;
}
