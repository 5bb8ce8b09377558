/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceemsd has given up the privileges by which it started the opener, so it cannot start
 * another. This process keeps them, does nothing but fork, and starts the one that
 * serves again when that dies: at a fault, or for want of memory. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fd_pass.h"
#include "lib/log.h"
#include "opener/profile.h"

#define SHORT_LIFE_NS NSEC_PER_SEC

/* Whoever waits for an answer waits for nothing. */
static void tell_of_death(int link)
{
	const struct profile_reply a = {.magic = PROFILE_REQUEST_MAGIC,
					.serial = PROFILE_REQUEST_DIED,
					.rc = -EPIPE};

	(void)fd_pass_send(link, &a, sizeof(a), NULL, 0, 0);
}

static int await_server(pid_t pid, int *ret_status)
{
	for (;;) {
		if (waitpid(pid, ret_status, 0) == pid)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

int profile_keep(const struct profile_service *service)
{
	const struct timespec pause = {.tv_sec = 1};
	int status = 0;

	for (;;) {
		uint64_t begin_ns = clock_boottime_ns();
		pid_t pid = fork();
		if (pid == 0)
			_exit(profile_serve(service) < 0);
		if (pid < 0 || await_server(pid, &status) < 0)
			return -errno;
		if (WIFEXITED(status))
			return WEXITSTATUS(status) ? -EPIPE : 0;
		log_warn("the process that opens users' files was ended by signal %d: "
			 "it is started again",
			 WTERMSIG(status));
		tell_of_death(service->link);
		if (clock_boottime_ns() < begin_ns + SHORT_LIFE_NS)
			(void)nanosleep(&pause, NULL);
	}
}
