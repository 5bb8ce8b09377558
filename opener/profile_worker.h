/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_PROFILE_WORKER_H
#define CEEMS_OPENER_PROFILE_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/records/profile_request.h"

/* A process that opens what belongs to users: each of its calls may wait for ever for a
 * file server, so it has a deadline and is left behind. */
#define WORKERS_STUCK_MAX 4u

struct profile_worker {
	int procfd;       /* borrowed */
	bool any_process; /* also one of no unit */
	int fd;           /* -1: there is none */
	pid_t pid;
	/* killed, but in a call of the kernel that cannot be interrupted; 0: none */
	pid_t stuck[WORKERS_STUCK_MAX];
};

/* Has the request done and fills the answer but its head; the descriptor, if rc is 0,
 * goes to *ret_fd. Waits for PROFILE_REQUEST_OPEN_MS at most. */
void profile_worker_ask(struct profile_worker *w, const struct profile_request *r,
			struct profile_reply *a, int *ret_fd);
void profile_worker_end(struct profile_worker *w);

#endif
