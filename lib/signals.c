/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals of a service: reload or end. */
#include "lib/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(int *ret_fd, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* a file at its limit (RLIMIT_FSIZE) should be a failing write */
	signal(SIGXFSZ, SIG_IGN);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "signalfd: %s", strerror(-rc));
	}
	*ret_fd = fd;
	return 0;
}

void signals_block(sigset_t *ret_old)
{
	static const int own[] = {SIGBUS,  SIGSEGV, SIGILL, SIGFPE,
				  SIGTRAP, SIGABRT, SIGSYS};
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&set, own[i]);
	pthread_sigmask(SIG_SETMASK, &set, ret_old);
}

/* ---- mapped files that are truncated --------------------------------------------- */

/* Global, like the signal itself. The handler's message is prepared in advance: it may
 * call hardly anything (signal-safety(7)). */
static struct mapping {
	const char *map;
	size_t bytes;
	char text[512];
} mappings[SIGNALS_MAPPINGS];

static void say_and_end(int signal_number, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;

	(void)context;
	for (size_t i = 0; i < SIGNALS_MAPPINGS; i++) {
		const struct mapping *m = &mappings[i];
		if (!m->map || at < m->map || at >= m->map + m->bytes)
			continue;
		(void)!write(STDERR_FILENO, m->text, strlen(m->text));
		_exit(SIGNALS_STATUS_BUS);
	}
	/* not ours: the access is repeated, without a handler */
	signal(signal_number, SIG_DFL);
}

int signals_guard(const void *map, size_t bytes, const char *name)
{
	struct sigaction action = {.sa_sigaction = say_and_end, .sa_flags = SA_SIGINFO};
	struct mapping *m = mappings;

	while (m < mappings + SIGNALS_MAPPINGS && m->map)
		m++;
	if (m == mappings + SIGNALS_MAPPINGS)
		return -ENOSPC;
	bool journal = getenv("JOURNAL_STREAM") || getenv("INVOCATION_ID");
	(void)snprintf(m->text, sizeof(m->text),
		       "%s%s: shorter than it was when it was mapped: something has "
		       "truncated it; exiting, the next start begins with a new one\n",
		       journal ? "<3>" : "", name);
	m->bytes = bytes;
	m->map = map;
	return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

void signals_unguard(const void *map)
{
	for (size_t i = 0; i < SIGNALS_MAPPINGS; i++) {
		if (mappings[i].map == map)
			mappings[i].map = NULL;
	}
}
