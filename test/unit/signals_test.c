/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/unit.h"

#define BYTES 8192u

/* What a child that touches a file that has been cut does: its wait status, and what it
 * said. */
static int touch_cut_file(bool guarded, char *said, size_t size)
{
	int out[2];

	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit none = {0};
		char path[] = "/tmp/ceems-signals-test.XXXXXX";
		int fd = mkstemp(path);
		unlink(path);
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGBUS, SIG_DFL); /* a sanitizer has its own */
		if (fd < 0 || ftruncate(fd, BYTES) < 0)
			_exit(1);
		volatile char *map =
			mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		char other[BYTES];
		if (map == MAP_FAILED ||
		    signals_guard(guarded ? (const void *)map : other, BYTES,
				  "/run/x/ring") < 0)
			_exit(1);
		dup2(out[1], STDERR_FILENO);
		map[BYTES - 1] = 1;
		if (ftruncate(fd, 0) < 0)
			_exit(1);
		map[BYTES - 1] = 1;
		_exit(0);
	}
	close(out[1]);
	ssize_t n = read(out[0], said, size - 1);
	said[n > 0 ? n : 0] = '\0';
	close(out[0]);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_file_that_was_cut_ends_the_process_with_its_name(void **state)
{
	char said[1024];

	(void)state;
	int status = touch_cut_file(true, said, sizeof(said));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), SIGNALS_STATUS_BUS);
	assert_non_null(strstr(said, "/run/x/ring: shorter"));
	assert_int_equal(said[strlen(said) - 1], '\n');
}

static void another_bus_error_is_not_taken_for_it(void **state)
{
	char said[1024];

	(void)state;
	int status = touch_cut_file(false, said, sizeof(said));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	assert_string_equal(said, "");
}

static void a_thread_left_alone_still_hears_of_its_own_faults(void **state)
{
	sigset_t old, now;

	(void)state;
	signals_block(&old);
	pthread_sigmask(SIG_SETMASK, &old, &now);
	assert_true(sigismember(&now, SIGTERM) && sigismember(&now, SIGHUP));
	assert_false(sigismember(&now, SIGBUS));
	assert_false(sigismember(&now, SIGSEGV));
	assert_false(sigismember(&old, SIGTERM));
}

static void no_more_are_guarded_than_there_is_room_for(void **state)
{
	static const char map[SIGNALS_MAPPINGS + 1];

	(void)state;
	for (size_t i = 0; i < SIGNALS_MAPPINGS; i++)
		assert_int_equal(signals_guard(&map[i], 1, "x"), 0);
	assert_int_equal(signals_guard(&map[SIGNALS_MAPPINGS], 1, "x"), -ENOSPC);
	signals_unguard(&map[3]);
	assert_int_equal(signals_guard(&map[SIGNALS_MAPPINGS], 1, "x"), 0);
	for (size_t i = 0; i <= SIGNALS_MAPPINGS; i++)
		signals_unguard(&map[i]);
	signals_unguard(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_was_cut_ends_the_process_with_its_name),
		cmocka_unit_test(another_bus_error_is_not_taken_for_it),
		cmocka_unit_test(a_thread_left_alone_still_hears_of_its_own_faults),
		cmocka_unit_test(no_more_are_guarded_than_there_is_room_for),
	};
	return cmocka_run_group_tests_name("signals_test", tests, NULL, NULL);
}
