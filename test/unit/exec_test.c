/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "test/unit/unit.h"

struct run {
	struct buf out, err;
	struct err why;
	int rc, status;
};

static void sh(struct run *r, const char *script, uint32_t deadline_ms, size_t max)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	memset(r, 0, sizeof(*r));
	buf_init(&r->out, max);
	buf_init(&r->err, max);
	r->rc = exec_run(argv, NULL, deadline_ms, &r->out, &r->err, &r->status,
			 &r->why);
}

static void done(struct run *r)
{
	buf_done(&r->out);
	buf_done(&r->err);
}

static void keeps_stdout_and_stderr_apart_and_gives_the_status(void **state)
{
	struct run r;
	(void)state;
	sh(&r, "echo one; echo two >&2; exit 3", 5000, 1000);
	assert_int_equal(r.rc, 0);
	assert_string_equal(r.out.data, "one\n");
	assert_string_equal(r.err.data, "two\n");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 3);
	done(&r);
}

static void sigpipe_ends_a_program_unless_it_is_to_be_ignored(void **state)
{
	const char *argv[] = {"/bin/sh", "-c", "kill -PIPE $$; echo on", NULL};
	struct run r;
	(void)state;
	sh(&r, argv[2], 60000, 1000);
	assert_int_equal(r.rc, 0);
	assert_true(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGPIPE);
	r.rc = exec_run_sigpipe_ignored(argv, NULL, 60000, &r.out, &r.err, &r.status,
					&r.why);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.status, 0);
	assert_string_equal(r.out.data, "on\n");
	done(&r);
}

static void relative_and_missing_programs_are_refused(void **state)
{
	const char *relative[] = {"sh", NULL}, *missing[] = {"/no/such/program", NULL};
	struct run r;
	(void)state;
	sh(&r, "", 1000, 100);
	r.rc = exec_run(relative, NULL, 1000, &r.out, &r.err, &r.status, &r.why);
	assert_int_equal(r.rc, -EINVAL);
	r.rc = exec_run(missing, NULL, 1000, &r.out, &r.err, &r.status, &r.why);
	assert_int_equal(r.rc, -ENOENT);
	assert_non_null(strstr(r.why.text, "/no/such/program"));
	done(&r);
}

/* the group, so that a grandchild that holds the pipe does not live on either */
static void deadline_ends_the_whole_group(void **state)
{
	struct run r;
	pid_t grandchild;
	(void)state;
	sh(&r, "sleep 300 & echo $!; wait", 3000, 1000);
	assert_int_equal(r.rc, -ETIMEDOUT);
	assert_non_null(r.out.data);
	grandchild = (pid_t)atoi(r.out.data);
	assert_true(grandchild > 1);
	/* killed; init reaps it in its own time, so a zombie counts as gone */
	for (int i = 0; i < 6000 && kill(grandchild, 0) == 0; i++) {
		char path[64], text[512] = "";
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)grandchild);
		auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
		    strstr(text, ") Z "))
			break;
		assert_true(i < 5999);
		usleep(10000);
	}
	done(&r);
}

static void
a_child_that_closes_its_streams_and_stays_meets_the_deadline_too(void **state)
{
	struct run r;
	(void)state;
	sh(&r, "exec >&- 2>&-; sleep 300", 300, 1000);
	assert_int_equal(r.rc, -ETIMEDOUT);
	done(&r);
}

static void endless_output_is_cut_off(void **state)
{
	struct run r;
	(void)state;
	sh(&r, "exec yes", 60000, 100000);
	assert_int_equal(r.rc, -EFBIG);
	done(&r);
	sh(&r, "exec yes >&2", 60000, 100000);
	assert_int_equal(r.rc, -EFBIG);
	done(&r);
}

static void the_child_sees_no_other_descriptor_and_a_plain_environment(void **state)
{
	struct run r;
	(void)state;
	assert_int_equal(dup2(2, 57), 57); /* without O_CLOEXEC, on purpose */
	setenv("CEEMS_EXEC_TEST", "secret", 1);
	sh(&r,
	   "for f in /proc/$$/fd/*; do echo ${f##*/}; done; echo [$CEEMS_EXEC_TEST]",
	   60000, 1000);
	assert_int_equal(r.rc, 0);
	assert_memory_equal(r.out.data, "0\n1\n2\n", 6);
	assert_null(strstr(r.out.data, "\n57\n"));
	assert_non_null(strstr(r.out.data, "[]"));
	close(57);
	unsetenv("CEEMS_EXEC_TEST");
	done(&r);
}

static int open_fds(void)
{
	int n = 0;
	auto_closedir DIR *d = opendir("/proc/self/fd");
	assert_non_null(d);
	while (readdir(d))
		n++;
	return n;
}

static void leaves_no_descriptor_and_no_zombie(void **state)
{
	struct run r;
	(void)state;
	int before = open_fds();
	sh(&r, "exit 0", 5000, 100);
	done(&r);
	sh(&r, "sleep 300", 100, 100);
	done(&r);
	assert_int_equal(open_fds(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_stdout_and_stderr_apart_and_gives_the_status),
		cmocka_unit_test(sigpipe_ends_a_program_unless_it_is_to_be_ignored),
		cmocka_unit_test(relative_and_missing_programs_are_refused),
		cmocka_unit_test(deadline_ends_the_whole_group),
		cmocka_unit_test(
			a_child_that_closes_its_streams_and_stays_meets_the_deadline_too),
		cmocka_unit_test(endless_output_is_cut_off),
		cmocka_unit_test(
			the_child_sees_no_other_descriptor_and_a_plain_environment),
		cmocka_unit_test(leaves_no_descriptor_and_no_zombie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
