/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/sandbox.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/exec.h"
#include "lib/privileges.h"
#include "test/unit/unit.h"

#define WAIT_MS 60000

/* What a child says went wrong; the test program has no filter itself. */
static int report_failure(const char *what)
{
	fprintf(stderr, "# %s: %s\n", what, strerror(errno));
	return 1;
}

static void expect_child(int (*inside)(void))
{
	int status = -1;

	if (sandbox_probe_calls(NULL) < 0)
		skip();
	pid_t pid = fork();
	if (pid == 0) {
		struct err err = {""};
		if (privileges_limit(&err) < 0 || sandbox_filter_calls(&err) < 0) {
			fprintf(stderr, "# %s\n", err.text);
			_exit(2);
		}
		_exit(inside());
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Arguments that do no harm where nothing refuses the call. */
static const struct refusal {
	const char *name;
	long call, a, b;
} refusals[] = {
	{"unshare", SYS_unshare, CLONE_NEWUTS, 0},
	{"setns", SYS_setns, -1, 0},
	{"clone with a namespace", SYS_clone, CLONE_NEWUTS | SIGCHLD, 0},
	{"mount", SYS_mount, 0, 0},
	{"umount2", SYS_umount2, 0, 0},
	{"pivot_root", SYS_pivot_root, 0, 0},
	{"chroot", SYS_chroot, 0, 0},
	{"bpf", SYS_bpf, -1, 0},
	{"perf_event_open", SYS_perf_event_open, 0, 0},
	{"personality", SYS_personality, ADDR_NO_RANDOMIZE, 0},
	{"userfaultfd", SYS_userfaultfd, -1, 0},
#ifdef SYS_io_uring_setup
	{"io_uring_setup", SYS_io_uring_setup, 0, 0},
#endif
	{"keyctl", SYS_keyctl, -1, 0},
	{"add_key", SYS_add_key, 0, 0},
	{"init_module", SYS_init_module, 0, 0},
	{"finit_module", SYS_finit_module, -1, 0},
	{"kexec_load", SYS_kexec_load, -1, -1},
	{"swapon", SYS_swapon, 0, 0},
	{"reboot", SYS_reboot, 0, 0},
	{"syslog", SYS_syslog, -1, 0},
	{"sethostname", SYS_sethostname, 0, -1},
	{"settimeofday", SYS_settimeofday, -1, -1},
	{"open_by_handle_at", SYS_open_by_handle_at, -1, 0},
	{"capset", SYS_capset, 0, 0},
	{"setuid", SYS_setuid, -1, 0},
	{"setgroups", SYS_setgroups, -1, 0},
	{"fchown", SYS_fchown, -1, 0},
#ifndef __SANITIZE_ADDRESS__
	{"ptrace", SYS_ptrace, -1, 0},
	{"process_vm_readv", SYS_process_vm_readv, -1, 0},
#endif
#ifdef SYS_iopl
	{"iopl", SYS_iopl, 0, 0},
#endif
#ifdef __x86_64__
	{"getpid by the numbers of x32", 0x40000000 | SYS_getpid, 0, 0},
#endif
};

static int try_refused(void)
{
	int bad = 0;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		errno = 0;
		long rc = syscall(r->call, r->a, r->b, 0, 0, 0);
		if (rc == 0 && r->call == SYS_clone)
			_exit(0); /* a child that should not be */
		if (rc >= 0 || errno != EPERM)
			bad = report_failure(r->name);
	}
	return bad;
}

static void what_needs_privileges_is_refused(void **state)
{
	(void)state;
	expect_child(try_refused);
}

static void *say_yes(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static int try_allowed(void)
{
	struct addrinfo hints = {.ai_family = AF_INET}, *found = NULL;
	struct sockaddr_storage a = {.ss_family = AF_UNIX};
	pthread_t t;
	int yes = 0;
	FILE *f = fopen("/etc/passwd", "re");

	if (!f || fclose(f) != 0)
		return report_failure("open");
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || listen(fd, 1) < 0 || close(fd) < 0)
		return report_failure("socket");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || (connect(fd, (struct sockaddr *)&a, 3) < 0 && errno == EPERM) ||
	    close(fd) < 0)
		return report_failure("unix socket");
	errno = pthread_create(&t, NULL, say_yes, &yes);
	if (errno || pthread_join(t, NULL) != 0 || !yes)
		return report_failure("thread");
	if (!getpwuid(0))
		return report_failure("getpwuid");
	if (getaddrinfo("127.0.0.1", NULL, &hints, &found) != 0)
		return report_failure("getaddrinfo");
	freeaddrinfo(found);
	if (personality(0xffffffff) < 0)
		return report_failure("asking for the personality");
	return 0;
}

static void what_a_daemon_does_goes_on(void **state)
{
	(void)state;
	expect_child(try_allowed);
}

static int try_program(void)
{
	static const char *const argv[] = {"/bin/grep",
					   "^Seccomp:", "/proc/self/status", NULL};
	struct buf out, said;
	struct err err = {""};
	int status = -1;

	buf_init(&out, 4096);
	buf_init(&said, 4096);
	int rc = exec_run(argv, NULL, WAIT_MS, &out, &said, &status, &err);
	if (rc < 0 || status != 0 || !out.len || !memchr(out.data, '2', out.len))
		return report_failure("a program that was started");
	buf_done(&out);
	buf_done(&said);
	return 0;
}

static void what_is_started_is_filtered_too(void **state)
{
	(void)state;
	expect_child(try_program);
}

struct early {
	int go[2];
	long rc;
	int error;
};

static void *try_when_told(void *arg)
{
	struct early *e = arg;
	char c;

	if (read(e->go[0], &c, 1) == 1) {
		e->rc = syscall(SYS_bpf, -1, 0, 0);
		e->error = errno;
	}
	return NULL;
}

/* In a child: a thread from before the filter. */
static int filter_with_thread(void)
{
	struct early e = {.rc = 1};
	struct err err = {""};
	pthread_t t;

	if (pipe(e.go) < 0 || pthread_create(&t, NULL, try_when_told, &e) != 0 ||
	    privileges_limit(&err) < 0)
		return report_failure("thread");
	if (sandbox_filter_calls(&err) < 0) {
		fprintf(stderr, "# %s\n", err.text);
		return 2;
	}
	if (write(e.go[1], "x", 1) != 1 || pthread_join(t, NULL) != 0)
		return report_failure("thread");
	errno = e.error;
	return e.rc == -1 && e.error == EPERM ? 0
					      : report_failure("bpf in another thread");
}

static void threads_that_run_are_filtered_too(void **state)
{
	(void)state;
	int status = -1;

	if (sandbox_probe_calls(NULL) < 0)
		skip();
	pid_t pid = fork();
	if (pid == 0)
		_exit(filter_with_thread());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_needs_privileges_is_refused),
		cmocka_unit_test(what_a_daemon_does_goes_on),
		cmocka_unit_test(what_is_started_is_filtered_too),
		cmocka_unit_test(threads_that_run_are_filtered_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
