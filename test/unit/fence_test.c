/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/exec.h"
#include "lib/fs.h"
#include "test/unit/unit.h"

/* A folder with in/, linked/ and out/; in/link points to linked/file. */
static char top[64];
static int top_fd = -1;

static void write_file(const char *path, const char *text)
{
	int fd = openat(top_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/ceems-fence.XXXXXX");
	assert_non_null(mkdtemp(top));
	top_fd = open(top, O_DIRECTORY | O_CLOEXEC);
	assert_true(top_fd >= 0);
	assert_int_equal(mkdirat(top_fd, "in", 0700), 0);
	assert_int_equal(mkdirat(top_fd, "in/deep", 0700), 0);
	assert_int_equal(mkdirat(top_fd, "linked", 0700), 0);
	assert_int_equal(mkdirat(top_fd, "out", 0700), 0);
	write_file("in/file", "old");
	write_file("in/deep/file", "x");
	write_file("linked/file", "x");
	write_file("out/file", "x");
	assert_int_equal(symlinkat("../linked/file", top_fd, "in/link"), 0);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = {"in/link",     "in/file",  "in/deep/file",
					    "linked/file", "out/file", "out/socket"};
	static const char *const folders[] = {"in/deep", "in", "linked", "out"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlinkat(top_fd, files[i], 0);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		(void)unlinkat(top_fd, folders[i], AT_REMOVEDIR);
	close(top_fd);
	return rmdir(top);
}

static char *path_of(const char *name)
{
	static char path[2][256];
	static unsigned n;
	char *p = path[n++ % 2];

	snprintf(p, sizeof(path[0]), "%s/%s", top, name);
	return p;
}

static int report_failure(const char *what)
{
	fprintf(stderr, "# %s: %s\n", what, strerror(errno));
	return 1;
}

/* As who wants no privileges: not this program itself. go: what the parent does once
 * the child is fenced, before the child looks. */
static void expect_fenced(int (*inside)(void), void (*go)(void))
{
	struct fence f;
	struct err err = {""};
	int status = -1, ready[2], done[2];
	char c = 0;

	if (fence_begin(&f, &err) == -ENOSYS)
		skip();
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(done), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char lines[512];
		snprintf(lines, sizeof(lines), "%s/nowhere/file\n%s/in/link\n", top,
			 top);
		fence_add_files(&f, lines);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (fence_enter(&f, &err) < 0)
			fprintf(stderr, "# %s\n", err.text);
		if (write(ready[1], "x", 1) != 1 || read(done[0], &c, 1) != 1 ||
		    err.text[0])
			_exit(2);
		_exit(inside());
	}
	close(f.fd);
	assert_int_equal(read(ready[0], &c, 1), 1);
	if (go)
		go();
	assert_int_equal(write(done[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(done[i]);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool can_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool is_refused(const char *path, int flags)
{
	errno = 0;
	return !can_open(path, flags) && errno == EACCES;
}

static int try_reading(void)
{
	struct err err = {""};
	char lines[512];

	if (!can_open(path_of("in/file"), O_RDONLY) ||
	    !can_open(path_of("in/deep/file"), O_RDONLY))
		return report_failure("a file of a named folder");
	if (!can_open(path_of("in/link"), O_RDONLY) ||
	    !can_open(path_of("linked/file"), O_RDONLY))
		return report_failure("what a link points to");
	if (!is_refused(path_of("out/file"), O_RDONLY))
		return report_failure("a file of another folder");
	if (!can_open("/etc/passwd", O_RDONLY) ||
	    !can_open("/proc/self/stat", O_RDONLY))
		return report_failure("a file of the system");
	snprintf(lines, sizeof(lines), "%s\n%s\n", path_of("in/file"),
		 path_of("out/file"));
	if (fence_check_files(path_of("in/file"), &err) != 0 ||
	    fence_check_files(lines, &err) != -EACCES ||
	    !strstr(err.text, path_of("out/file")))
		return report_failure("fence_check_files");
	return 0;
}

static void named_folders_and_the_systems_are_read(void **state)
{
	(void)state;
	expect_fenced(try_reading, NULL);
}

static int try_writing(void)
{
	static const char *const argv[] = {"/bin/true", NULL};
	struct buf out, said;
	int status = 0;

	if (!is_refused(path_of("in/file"), O_WRONLY) ||
	    !is_refused(path_of("in/new"), O_WRONLY | O_CREAT) ||
	    !is_refused(path_of("out/file"), O_RDWR))
		return report_failure("writing");
	if (unlink(path_of("in/file")) == 0 || errno != EACCES)
		return report_failure("removing");
	if (!can_open("/dev/null", O_RDWR))
		return report_failure("/dev/null");
	buf_init(&out, 4096);
	buf_init(&said, 4096);
	if (exec_run(argv, NULL, 60000, &out, &said, &status, NULL) == 0 && status == 0)
		return report_failure("starting a program");
	return 0;
}

static void nothing_is_written_or_started(void **state)
{
	(void)state;
	expect_fenced(try_writing, NULL);
}

static void renew_file(void)
{
	write_file("in/deep/file", "new");
	assert_int_equal(renameat(top_fd, "in/deep/file", top_fd, "in/file"), 0);
	write_file("in/deep/file", "x");
}

static int try_renewed(void)
{
	char text[8] = "";
	int fd = open(path_of("in/file"), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) != 3 || strcmp(text, "new") != 0)
		return report_failure("a file that was replaced");
	return 0;
}

static void a_file_that_is_replaced_is_read(void **state)
{
	(void)state;
	expect_fenced(try_renewed, renew_file);
}

static int listener = -1;

static struct sockaddr_un socket_address(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/out/socket", top);
	return a;
}

static void *look_up(void *arg)
{
	struct addrinfo hints = {.ai_family = AF_INET}, *found = NULL;

	*(bool *)arg =
		getpwuid(0) && getaddrinfo("localhost", NULL, &hints, &found) == 0;
	if (found)
		freeaddrinfo(found);
	return NULL;
}

static int try_services(void)
{
	struct sockaddr_un a = socket_address();
	bool found = false;
	pthread_t t;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return report_failure("a socket of another folder");
	errno = pthread_create(&t, NULL, look_up, &found);
	if (errno || pthread_join(t, NULL) != 0 || !found)
		return report_failure("users and services");
	return 0;
}

static void sockets_and_name_services_go_on(void **state)
{
	struct sockaddr_un a = socket_address();

	(void)state;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 4), 0);
	expect_fenced(try_services, NULL);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(named_folders_and_the_systems_are_read,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_written_or_started, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_replaced_is_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(sockets_and_name_services_go_on, set_up,
						tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
