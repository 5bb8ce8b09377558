/* SPDX-License-Identifier: GPL-2.0-or-later */
/* That the opener still does its work under these limits is in test/e2e/ebpf_*.sh. */
#include "opener/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sandbox.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static int report_failure(const char *what)
{
	fprintf(stderr, "# %s: %s\n", what, strerror(errno));
	return 1;
}

/* What the opener of programs gives up, or else the one that reads */
static void expect_limited_child(int (*inside)(void), bool reads)
{
	int status = -1;

#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	if (sandbox_probe_calls(NULL) < 0)
		skip();
	pid_t pid = fork();
	if (pid == 0) {
		struct err err = {""};
		if ((reads ? limits_apply_reading(&err)
			   : limits_apply(false, -1, &err)) < 0) {
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

/* The limits hold for a child only. */
static void expect_child(int (*inside)(void))
{
	expect_limited_child(inside, false);
}

static int is_refused(const char *what, long rc)
{
	return rc == -1 && errno == EPERM ? 0 : report_failure(what);
}

static int try_forbidden(void)
{
	static const char *const argv[] = {"/bin/true", NULL};
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int bad = fd < 0 ? report_failure("open for reading") : 0;

	bad |= is_refused("socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	bad |= is_refused("netlink", socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
	bad |= is_refused("unix", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	bad |= is_refused("connect", syscall(SYS_connect, -1, 0, 0));
	bad |= is_refused("open for writing", open("/dev/null", O_WRONLY | O_CLOEXEC));
	bad |= is_refused("open for both", open("/dev/null", O_RDWR | O_CLOEXEC));
	bad |= is_refused("create", openat(AT_FDCWD, "/tmp/ceems-opener-limits",
					   O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
	bad |= is_refused("unlink", unlink("/tmp/ceems-opener-limits"));
	bad |= is_refused("rename", rename("/nothing", "/nothing2"));
	bad |= is_refused("chmod", syscall(SYS_fchmodat, AT_FDCWD, "/nothing", 0));
	bad |= is_refused("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	bad |= is_refused("execve", execve(argv[0], (char *const *)argv, NULL));
	bad |= is_refused("kill", syscall(SYS_kill, 1, 0));
	bad |= is_refused("ptrace", syscall(SYS_ptrace, -1, 0, 0, 0));
	bad |= is_refused("setuid", syscall(SYS_setuid, 0));
	bad |= is_refused("mount", syscall(SYS_mount, 0, 0, 0, 0, 0));
	void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	bad |= is_refused("executable memory", map == MAP_FAILED ? -1 : 0);
	return bad;
}

static void what_it_does_not_need_is_refused(void **state)
{
	(void)state;
	expect_child(try_forbidden);
}

static int try_needed(void)
{
	char text[64];
	const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
		return report_failure("read a file");
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || munmap(map, 4096) < 0)
		return report_failure("map memory");
	/* refused for its arguments, not by the filter */
	if (syscall(SYS_bpf, -1, 0, 0) == 0 || errno == ENOSYS)
		return report_failure("bpf");
	free(malloc(1 << 20));
	return close(fd) < 0 ? report_failure("close") : 0;
}

static void what_it_needs_goes_on(void **state)
{
	(void)state;
	expect_child(try_needed);
}

/* Only these are left, in all sets, of whatever there was. */
static int look_at_capabilities(unsigned long long allowed)
{
	char text[8192];
	const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	static const char *const sets[] = {"\nCapInh:\t", "\nCapPrm:\t", "\nCapEff:\t",
					   "\nCapAmb:\t"};

	if (n <= 0)
		return report_failure("/proc/self/status");
	text[n] = '\0';
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		const char *at = strstr(text, sets[i]);
		if (!at || strtoull(at + strlen(sets[i]), NULL, 16) & ~allowed)
			return report_failure(sets[i]);
	}
	return 0;
}

static int look_for_program_capabilities(void)
{
	return look_at_capabilities(3ull << 38); /* CAP_PERFMON and CAP_BPF */
}

static void two_capabilities_are_left_at_most(void **state)
{
	(void)state;
	expect_child(look_for_program_capabilities);
}

static int try_as_reader(void)
{
	/* CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE */
	int bad = look_at_capabilities(1ull << 2 | 1ull << 19);

	bad |= is_refused("bpf", syscall(SYS_bpf, -1, 0, 0));
	bad |= is_refused("perf", syscall(SYS_perf_event_open, 0, 0, 0, 0, 0));
	bad |= is_refused("ptrace", syscall(SYS_ptrace, -1, 0, 0, 0));
	bad |= is_refused("unix", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	bad |= is_refused("open for writing", open("/dev/null", O_WRONLY | O_CLOEXEC));
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return bad | (pid < 0 || waitpid(pid, NULL, 0) != pid);
}

static void one_that_only_reads_loads_no_programs(void **state)
{
	(void)state;
	expect_limited_child(try_as_reader, true);
}

static void write_paranoid(const char *path, const char *text)
{
	char file[512];

	(void)snprintf(file, sizeof(file), "%s/sys/kernel/perf_event_paranoid", path);
	FILE *f = fopen(file, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void kernels_that_want_more_for_perf_are_known(void **state)
{
	static const struct {
		const char *text;
		bool more;
	} levels[] = {{"-1\n", false}, {"0\n", false}, {"2\n", false}, {"3\n", true},
		      {"4\n", true},   {"", false},    {"x\n", false}};
	char path[SCRATCH_PATH];

	(void)state;
	scratch_make(path);
	int procfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_false(limits_perf_takes_admin(procfd));
	scratch_mkdir(path, "sys");
	scratch_mkdir(path, "sys/kernel");
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		write_paranoid(path, levels[i].text);
		assert_int_equal(limits_perf_takes_admin(procfd), levels[i].more);
	}
	close(procfd);
	scratch_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_does_not_need_is_refused),
		cmocka_unit_test(what_it_needs_goes_on),
		cmocka_unit_test(kernels_that_want_more_for_perf_are_known),
		cmocka_unit_test(two_capabilities_are_left_at_most),
		cmocka_unit_test(one_that_only_reads_loads_no_programs),
	};
	return cmocka_run_group_tests_name("opener_limits", tests, NULL, NULL);
}
