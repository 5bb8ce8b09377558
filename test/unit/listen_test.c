/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "test/unit/unit.h"

static void addresses_are_split(void **state)
{
	(void)state;
	static const struct {
		const char *address, *host, *port; /* host NULL: refused */
	} cases[] = {
		{":9010", "", "9010"},
		{"127.0.0.1:9010", "127.0.0.1", "9010"},
		{"[::1]:0", "::1", "0"},
		{"node.example:65535", "node.example", "65535"},
		{"", NULL, NULL},
		{"9010", NULL, NULL},
		{"host", NULL, NULL},
		{"host:", NULL, NULL},
		{"host:http", NULL, NULL},
		{"host:65536", NULL, NULL},
		{"host:-1", NULL, NULL},
		{"host: 1", NULL, NULL},
		{"::1:9010", NULL, NULL},
		{"[::1:9010", NULL, NULL},
		{"[]:9010", NULL, NULL},
		{"[:9010", NULL, NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char host[32], port[8];
		int rc = listen_split(cases[i].address, host, sizeof(host), port,
				      sizeof(port));
		if ((rc == 0) != (cases[i].host != NULL))
			fail_msg("%s", cases[i].address);
		if (rc == 0) {
			assert_string_equal(host, cases[i].host);
			assert_string_equal(port, cases[i].port);
		}
	}
}

static void port_in_use_names_the_address(void **state)
{
	(void)state;
	struct err err = {""};
	auto_close int fd = listen_open("127.0.0.1:0", &err);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	char address[32];
	snprintf(address, sizeof(address), "127.0.0.1:%u", listen_port(fd));
	assert_int_equal(listen_open(address, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, address));
}

static void who_can_connect_is_known(void **state)
{
	(void)state;
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	auto_close int here = listen_open("127.0.0.1:0", NULL);
	auto_close int all = listen_open("0.0.0.0:0", NULL);
	auto_close int any = listen_open(":0", NULL);
	auto_close int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(here >= 0 && all >= 0 && any >= 0 && file >= 0);
	assert_int_equal(bind(file, (struct sockaddr *)&un, sizeof(sa_family_t)), 0);
	assert_true(listen_is_local(here));
	assert_true(listen_is_local(file));
	assert_false(listen_is_local(all));
	assert_false(listen_is_local(any));
	assert_false(listen_is_local(-1));
}

/* In a child, whose descriptor 3 and environment are its own. */
static int take_in_child(int pass_fd, const char *count, bool right_pid)
{
	pid_t pid = fork();
	if (pid == 0) {
		int fds[4];
		char text[16];
		snprintf(text, sizeof(text), "%d", right_pid ? getpid() : 1);
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", count, 1);
		if (pass_fd >= 0 && dup2(pass_fd, 3) != 3)
			_exit(100);
		int n = listen_take_systemd(fds, 4, NULL);
		if (n == 1 && (fds[0] != 3 || !(fcntl(3, F_GETFD) & FD_CLOEXEC) ||
			       !(fcntl(3, F_GETFL) & O_NONBLOCK) || !listen_port(3)))
			_exit(101);
		_exit(n < 0 ? -n : 200 + n);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void sockets_of_systemd_are_taken_and_checked(void **state)
{
	(void)state;
	auto_close int listening = listen_open("127.0.0.1:0", NULL);
	auto_close int plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	auto_close int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(listening >= 0 && plain >= 0 && file >= 0);
	assert_int_equal(take_in_child(listening, "1", true), 201);
	assert_int_equal(take_in_child(listening, "1", false), ENOENT);
	assert_int_equal(take_in_child(listening, "0", true), ENOENT);
	assert_int_equal(take_in_child(listening, "x", true), ENOENT);
	assert_int_equal(take_in_child(listening, "5", true), E2BIG);
	assert_int_equal(take_in_child(plain, "1", true), EINVAL);
	assert_int_equal(take_in_child(file, "1", true), EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_split),
		cmocka_unit_test(port_in_use_names_the_address),
		cmocka_unit_test(who_can_connect_is_known),
		cmocka_unit_test(sockets_of_systemd_are_taken_and_checked),
	};
	return cmocka_run_group_tests_name("listen_test", tests, NULL, NULL);
}
