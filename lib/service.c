/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of a daemon's main thread: signals, ticks, systemd. */
#include "lib/service.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fence.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/sandbox.h"

void service_say_user(const struct privileges *p)
{
	if (p->drop)
		log_info("runs as user %s%s", p->user,
			 p->fallback ? " (there is no user ceems)" : "");
	else if (geteuid() == 0)
		log_warn("keeps running as root (--security.drop-privileges)");
}

#define CALLS_OPTIONS "--security.seccomp, --security.drop-privileges"
#define FILES_OPTIONS "--security.landlock, --security.drop-privileges"

bool service_filter_calls(bool wanted)
{
	struct err err = {""};

	if (!wanted) {
		log_info("system calls are not filtered (" CALLS_OPTIONS ")");
		return false;
	}
	int rc = sandbox_filter_calls(&err);
	if (rc < 0)
		log_warn("system calls are not filtered: %s", err.text);
	else
		log_info("system calls are filtered: the kernel refuses what needs "
			 "privileges (seccomp)");
	return rc == 0;
}

bool service_fence_files(bool wanted, const char *files, const char *const *folders,
			 size_t count)
{
	struct fence f;
	struct err err = {""};

	if (!wanted) {
		log_info("files are not fenced (" FILES_OPTIONS ")");
		return false;
	}
	int rc = fence_begin(&f, &err);
	if (rc == 0) {
		fence_add_files(&f, files);
		for (size_t i = 0; i < count; i++)
			fence_add_folder(&f, folders[i]);
		rc = fence_enter(&f, &err);
	}
	if (rc < 0)
		log_warn("files are not fenced: %s", err.text);
	else
		log_info("files are fenced: it can read those of the system and of its "
			 "configuration, and write none (Landlock)");
	return rc == 0;
}

/* A missing feature is not an error of the configuration, but the site may want to
 * know. */
static void print_plan(const char *program, const char *what, const char *done,
		       const struct err *missing)
{
	if (!*missing->text)
		printf("%s: %s will be %s\n", program, what, done);
	else
		fprintf(stderr, "%s: warning: %s will not be %s: %s\n", program, what,
			done, missing->text);
}

void service_check_calls(const char *program, bool wanted)
{
	struct err err = {""};

	if (wanted) {
		(void)sandbox_probe_calls(&err);
		print_plan(program, "system calls", "filtered", &err);
	} else {
		printf("%s: system calls will not be filtered (" CALLS_OPTIONS ")\n",
		       program);
	}
}

void service_check_files(const char *program, bool wanted)
{
	struct err err = {""};

	if (wanted) {
		(void)fence_probe(&err);
		print_plan(program, "files", "fenced", &err);
	} else {
		printf("%s: files will not be fenced (" FILES_OPTIONS ")\n", program);
	}
}

void service_say_outside(const struct err *err)
{
	if (strstr(err->text, strerror(EACCES)))
		log_error("reload: only folders that the configuration named at the "
			  "start can be read (Landlock): restart, or name more with "
			  "--security.landlock-read");
}

void service_say_in_clear(void)
{
	log_warn("serves other hosts by plain HTTP: passwords and answers can be read "
		 "on the network. Give --web.config.file a tls_server_config, or "
		 "listen on 127.0.0.1 behind a proxy with TLS");
}

static void reload_service(const struct service *s)
{
	char state[64];

	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		       clock_read_ns(CLOCK_MONOTONIC) / 1000);
	(void)notify_send(state);
	if (s->reload(s->arg))
		log_info("reload: done");
	(void)notify_send("READY=1");
}

int service_take_signal(int signalfd)
{
	struct signalfd_siginfo si;

	if (read(signalfd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return 0;
	if (si.ssi_signo != SIGHUP)
		log_info("ends on %s", si.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
	return (int)si.ssi_signo;
}

/* False: end. */
static bool take_signals(const struct service *s)
{
	int signo;

	while ((signo = service_take_signal(s->signalfd)) == SIGHUP)
		reload_service(s);
	return signo == 0;
}

void service_run(const struct service *s)
{
	struct pollfd fds[] = {
		{.fd = s->signalfd, .events = POLLIN},
		{.fd = s->wakefd > 0 ? s->wakefd : -1, .events = POLLIN},
	};
	int wait_ms = s->tick ? (int)s->wait_ms : -1;

	log_info("ready");
	(void)notify_send("READY=1");
	for (;;) {
		int n = poll(fds, 2, wait_ms);
		if (n > 0 && fds[0].revents && !take_signals(s))
			break;
		unsigned next_ms = s->tick ? s->tick(s->arg) : 0;
		if (next_ms == SERVICE_END)
			break;
		if (s->tick)
			wait_ms = (int)next_ms;
	}
	(void)notify_send("STOPPING=1");
}
