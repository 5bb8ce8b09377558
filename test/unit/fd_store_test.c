/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/fd_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "test/unit/unit.h"

static char address[64];

static int manager_open(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n = snprintf(address, sizeof(address), "@ceems-fd-store-test.%d",
			 (int)getpid());

	assert_true(fd >= 0);
	memcpy(a.sun_path + 1, address + 1, (size_t)n - 1);
	assert_int_equal(
		bind(fd, (struct sockaddr *)&a,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)),
		0);
	setenv("NOTIFY_SOCKET", address, 1);
	return fd;
}

static void expect_message(int manager, const char *text, int *ret_fd)
{
	char got[256] = "";
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = got, .iov_len = sizeof(got) - 1};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};

	assert_int_equal(recvmsg(manager, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT),
			 (ssize_t)strlen(text));
	assert_string_equal(got, text);
	assert_true((CMSG_FIRSTHDR(&m) != NULL) == (ret_fd != NULL));
	if (ret_fd)
		memcpy(ret_fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino &&
	       x.st_dev == y.st_dev;
}

static void a_copy_goes_to_systemd(void **state)
{
	int copy = -1, pipes[2];

	(void)state;
	auto_close int manager = manager_open();
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(fd_store_put("stored-a", pipes[0]), 1);
	expect_message(manager, "FDSTORE=1\nFDPOLL=0\nFDNAME=stored-a", &copy);
	assert_true(same_file(copy, pipes[0]));
	close(copy);
	close(pipes[0]);
	close(pipes[1]);
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(fd_store_put("stored-a", 0), 0);
}

/* In a child, whose descriptors and environment are its own: what came is 3 to 5. */
static int look_as_service(const char *names, bool ours, bool (*look)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		char text[16];
		(void)snprintf(text, sizeof(text), "%d", ours ? getpid() : 1);
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", "3", 1);
		setenv("LISTEN_FDNAMES", names, 1);
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		for (int fd = 3; fd < 6; fd++) {
			if (fd != null && dup2(null, fd) != fd)
				_exit(2);
		}
		_exit(look() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static bool looks_complete(void)
{
	return fd_store_passed() == 3 && !fd_store_is_stored(3) &&
	       fd_store_is_stored(4) && fd_store_is_stored(5) &&
	       fd_store_take("stored-a") == 4 && fd_store_take("stored-b") == 5 &&
	       (fcntl(4, F_GETFD) & FD_CLOEXEC) && fd_store_take("stored") == -ENOENT;
}

static bool looks_empty(void)
{
	return fd_store_passed() == 0 && fd_store_take("stored-a") == -ENOENT;
}

static bool looks_nameless(void)
{
	return fd_store_passed() == 3 && !fd_store_is_stored(3) &&
	       !fd_store_is_stored(5) && fd_store_take("stored-a") == -ENOENT;
}

static bool drop_others(void)
{
	fd_store_drop("stored-a");
	return fcntl(3, F_GETFD) >= 0 && fcntl(4, F_GETFD) >= 0 &&
	       fcntl(5, F_GETFD) < 0;
}

static void what_was_kept_is_found_by_its_name(void **state)
{
	char longer[2 * FD_STORE_NAME_MAX] = FD_STORE_PREFIX;

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(
		look_as_service("x.socket:stored-a:stored-b", true, looks_complete), 0);
	assert_int_equal(
		look_as_service("x.socket:stored-a:stored-b", false, looks_empty), 0);
	assert_int_equal(look_as_service("", true, looks_nameless), 0);
	memset(longer + strlen(longer), 'a', sizeof(longer) - strlen(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(look_as_service(longer, true, looks_nameless), 0);
}

static void what_has_another_name_is_forgotten(void **state)
{
	(void)state;
	auto_close int manager = manager_open();
	assert_int_equal(
		look_as_service("x.socket:stored-a:stored-b", true, drop_others), 0);
	expect_message(manager, "FDSTOREREMOVE=1\nFDNAME=stored-b", NULL);
	unsetenv("NOTIFY_SOCKET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_goes_to_systemd),
		cmocka_unit_test(what_was_kept_is_found_by_its_name),
		cmocka_unit_test(what_has_another_name_is_forgotten),
	};
	return cmocka_run_group_tests_name("fd_store", tests, NULL, NULL);
}
