/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_PROFILE_WORKER_H
#define CEEMS_OPENER_PROFILE_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/records/profile_request.h"
#include "lib/records/record.h"
#include "lib/time_share.h"

/* A process that opens what belongs to users: each of its calls may wait for ever for a
 * file server, so it has a deadline and is left behind. A user, by whatever uids and
 * in however many jobs, or a job, virtual machine or pod, with WORKERS_STUCK_EACH of
 * them is refused until one has ended, so that nobody's file server keeps others from
 * their names. */
#define WORKERS_STUCK_MAX 16u
#define WORKERS_STUCK_EACH 2u
/* Of requests but those of DRM, of which ceemsd shares its own rounds out: a file
 * server may answer late. */
#define WORKERS_BURST_NS UINT64_C(5000000000)

struct worker_owner {
	uint32_t uid;                 /* as struct profile_reply has it */
	char unit[RECORD_CGROUP_MAX]; /* its control group, of a job all steps' */
};

struct profile_worker {
	int procfd;       /* borrowed */
	bool any_process; /* also one of no unit */
	int fd;           /* -1: there is none */
	pid_t pid;
	/* killed, but in a call of the kernel that cannot be interrupted */
	struct worker_stuck {
		pid_t pid; /* 0: none */
		struct worker_owner owner;
	} stuck[WORKERS_STUCK_MAX];
	struct time_share time; /* with WORKERS_BURST_NS */
};

/* -EBUSY: too many of the user's files, of the unit's or of all do not open, or his
 * took more than his share of the time.
 * Has the request done and fills the answer but its head; the descriptor, if rc is 0,
 * goes to *ret_fd. Waits for PROFILE_REQUEST_OPEN_MS at most. */
void profile_worker_ask(struct profile_worker *w, const struct profile_request *r,
			struct profile_reply *a, int *ret_fd);
void profile_worker_end(struct profile_worker *w);

#endif
