/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/service.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/conf/program.h"
#include "lib/log.h"
#include "lib/signals.h"
#include "test/unit/unit.h"

/* What systemd hears. */
static int notify_socket(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char name[64];
	int n = snprintf(name, sizeof(name), "@ceems-service-test.%d", (int)getpid());
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	setenv("NOTIFY_SOCKET", name, 1);
	memcpy(a.sun_path + 1, name + 1, (size_t)n - 1);
	assert_int_equal(
		bind(fd, (struct sockaddr *)&a,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)),
		0);
	return fd;
}

static void expect(int fd, const char *begin)
{
	char got[128] = "";

	assert_true(recv(fd, got, sizeof(got) - 1, 0) > 0);
	if (strncmp(got, begin, strlen(begin)) != 0)
		fail_msg("%s instead of %s", got, begin);
}

struct world {
	int ticks, reloads;
	int end_at;     /* the tick that brings SIGTERM */
	int hup_at;     /* and the one that brings SIGHUP */
	bool reload_ok; /* what reload() says */
};

static unsigned tick(void *arg)
{
	struct world *w = arg;

	w->ticks++;
	if (w->ticks == w->hup_at)
		kill(getpid(), SIGHUP);
	if (w->ticks == w->end_at)
		kill(getpid(), SIGTERM);
	return 1;
}

static bool reload(void *arg)
{
	struct world *w = arg;

	w->reloads++;
	return w->reload_ok;
}

static void run(struct world *w)
{
	struct err err;
	auto_close int fd = -1;

	assert_int_equal(signals_open(&fd, &err), 0);
	service_run(&(struct service){.signalfd = fd,
				      .wait_ms = 1,
				      .tick = tick,
				      .reload = reload,
				      .arg = w});
}

static void it_ticks_until_a_signal_ends_it(void **state)
{
	struct world w = {.end_at = 5};
	(void)state;

	unsetenv("NOTIFY_SOCKET");
	run(&w);
	assert_int_equal(w.ticks, 5);
	assert_int_equal(w.reloads, 0);
}

static void systemd_hears_of_ready_reload_and_stop(void **state)
{
	struct world w = {.hup_at = 2, .end_at = 4, .reload_ok = true};
	auto_close int fd = notify_socket();
	char got[8];
	(void)state;

	run(&w);
	assert_int_equal(w.reloads, 1);
	assert_int_equal(w.ticks, 4);
	expect(fd, "READY=1");
	expect(fd, "RELOADING=1\nMONOTONIC_USEC=");
	expect(fd, "READY=1");
	expect(fd, "STOPPING=1");
	assert_true(recv(fd, got, sizeof(got), 0) < 0);
}

static void a_refused_reload_goes_on_and_is_not_said_to_be_done(void **state)
{
	struct world w = {.hup_at = 1, .end_at = 2};
	FILE *said = tmpfile();
	int err = dup(STDERR_FILENO);
	char text[512] = "";
	(void)state;

	assert_true(said && err >= 0);
	unsetenv("NOTIFY_SOCKET");
	(void)dup2(fileno(said), STDERR_FILENO);
	log_init("test", LOG_LOGFMT, LOG_INFO);
	run(&w);
	(void)dup2(err, STDERR_FILENO);
	close(err);
	rewind(said);
	assert_true(fread(text, 1, sizeof(text) - 1, said) > 0);
	fclose(said);
	assert_int_equal(w.reloads, 1);
	assert_int_equal(w.ticks, 2);
	assert_null(strstr(text, "reload: done"));
	assert_non_null(strstr(text, "ends on SIGTERM"));
}

/* program.h */
struct options {
	char *name;
};

static const struct conf_opt table[] = {
	CONF_ROW("name", CONF_STRING, name, "none", "A name."),
};

static enum program_status start(char *argument, bool *ret_goes_on, char *out,
				 size_t size)
{
	const struct program p = {.name = "test", .options = table, .option_count = 1};
	char *argv[] = {(char *)"test", argument, NULL};
	auto_buf struct buf warnings = BUF_INIT;
	struct options o = {0};
	enum program_status status = PROGRAM_OK;
	FILE *said = tmpfile();
	int fd1 = dup(STDOUT_FILENO), fd2 = dup(STDERR_FILENO);

	assert_true(said && fd1 >= 0 && fd2 >= 0);
	fflush(stdout);
	(void)dup2(fileno(said), STDOUT_FILENO);
	(void)dup2(fileno(said), STDERR_FILENO);
	*ret_goes_on = program_options(&p, 2, argv, &o, &warnings, &status);
	(void)dup2(fd1, STDOUT_FILENO);
	(void)dup2(fd2, STDERR_FILENO);
	close(fd1);
	close(fd2);
	rewind(said);
	out[fread(out, 1, size - 1, said)] = '\0';
	fclose(said);
	conf_release(table, 1, &o);
	return status;
}

static void a_command_line_starts_the_program_or_ends_it(void **state)
{
	char out[2048];
	bool on;
	(void)state;

	assert_int_equal(start((char *)"--name=x", &on, out, sizeof(out)), PROGRAM_OK);
	assert_true(on);
	assert_string_equal(out, "");
	assert_int_equal(start((char *)"--nmae=x", &on, out, sizeof(out)),
			 PROGRAM_USAGE);
	assert_false(on);
	assert_non_null(strstr(out, "test: "));
	assert_non_null(strstr(out, "--nmae"));
	assert_int_equal(start((char *)"--help", &on, out, sizeof(out)), PROGRAM_OK);
	assert_false(on);
	assert_non_null(strstr(out, "A name."));
	assert_int_equal(start((char *)"--help-markdown", &on, out, sizeof(out)),
			 PROGRAM_OK);
	assert_false(on);
	assert_non_null(strstr(out, "| `"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ticks_until_a_signal_ends_it),
		cmocka_unit_test(systemd_hears_of_ready_reload_and_stop),
		cmocka_unit_test(a_refused_reload_goes_on_and_is_not_said_to_be_done),
		cmocka_unit_test(a_command_line_starts_the_program_or_ends_it),
	};
	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
