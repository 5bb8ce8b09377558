/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/privileges.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/unit.h"

#define NOBODY 65534

/* As under SystemCallFilter=~@privileged */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	va_list ap;

	if (number == SYS_capset) {
		errno = EPERM;
		return -1;
	}
	va_start(ap, number);
	void *a = va_arg(ap, void *), *b = va_arg(ap, void *);
	va_end(ap);
	return __real_syscall(number, a, b);
}

/* In a child, as an ordinary user: what privileges_drop() gives. */
static int drop_as_nobody(bool keep_capabilities)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct privileges p = {.uid = NOBODY};
		struct err err = {""};
		prctl(PR_SET_KEEPCAPS, keep_capabilities, 0, 0, 0);
		if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(100);
		_exit(-privileges_drop(&p, &err));
	}
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_refusal_is_none_where_there_is_nothing_to_drop(void **state)
{
	(void)state;
	assert_int_equal(drop_as_nobody(false), 0);
}

static void capabilities_that_cannot_be_dropped_are_a_failure(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(drop_as_nobody(true), EPERM);
}

static void who_hides_can_not_be_looked_into(void **state)
{
	(void)state;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		int rc = privileges_hide(NULL);
		_exit(rc == 0 ? prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) : 100);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_is_none_where_there_is_nothing_to_drop),
		cmocka_unit_test(capabilities_that_cannot_be_dropped_are_a_failure),
		cmocka_unit_test(who_hides_can_not_be_looked_into),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
