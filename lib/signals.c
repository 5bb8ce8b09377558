/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a service is told by signals: read its configuration again, or end. */
#include "lib/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/log.h"

int signals_open(int *ret_fd, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "signalfd: %s", strerror(-rc));
	}
	*ret_fd = fd;
	return 0;
}

bool signals_take(int fd, void (*reload)(void *arg), void *arg)
{
	struct signalfd_siginfo si;

	while (read(fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo != SIGHUP) {
			log_info("ends on %s",
				 si.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
			return false;
		}
		reload(arg);
	}
	return true;
}
