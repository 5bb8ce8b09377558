/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a service is told by signals: read its configuration again, or end. */
#include "lib/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

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
