/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "test/unit/unit.h"

static int listen_on(const char *name, size_t len)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0 && len <= sizeof(a.sun_path));
	memcpy(a.sun_path, name, len);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
	return fd;
}

static void expect(int fd, const char *text)
{
	char got[64] = "";
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);
	assert_int_equal(n, (ssize_t)strlen(text));
	assert_string_equal(got, text);
}

static void a_datagram_reaches_a_socket_in_the_file_system(void **state)
{
	(void)state;
	char dir[] = "/tmp/ceems-notify-test.XXXXXX", path[64];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/n", dir);
	auto_close int fd = listen_on(path, strlen(path));
	setenv("NOTIFY_SOCKET", path, 1);
	assert_int_equal(notify_send("READY=1"), 1);
	expect(fd, "READY=1");
	unlink(path);
	assert_true(notify_send("READY=1") < 0);
	rmdir(dir);
}

static void a_datagram_reaches_an_abstract_socket(void **state)
{
	(void)state;
	char name[64];
	int n = snprintf(name, sizeof(name), "@ceems-notify-test.%d", (int)getpid());
	setenv("NOTIFY_SOCKET", name, 1);
	name[0] = '\0';
	auto_close int fd = listen_on(name, (size_t)n);
	assert_int_equal(notify_send("STOPPING=1"), 1);
	expect(fd, "STOPPING=1");
}

static void without_systemd_nothing_happens(void **state)
{
	(void)state;
	char longest[200];
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_send("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "", 1);
	assert_int_equal(notify_send("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "relative", 1);
	assert_int_equal(notify_send("READY=1"), -EINVAL);
	memset(longest, '/', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	setenv("NOTIFY_SOCKET", longest, 1);
	assert_int_equal(notify_send("READY=1"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_reaches_a_socket_in_the_file_system),
		cmocka_unit_test(a_datagram_reaches_an_abstract_socket),
		cmocka_unit_test(without_systemd_nothing_happens),
	};
	return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
