/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_PROFILE_WORKER_H
#define CEEMS_OPENER_PROFILE_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/records/profile_request.h"
#include "lib/records/record.h"

/* A process that opens what belongs to users: each of its calls may wait for ever for a
 * file server, so it has a deadline and is left behind. A user, by whatever uids and
 * in however many jobs, or a job, virtual machine or pod, with WORKERS_STUCK_EACH of
 * them is refused until one has ended, so that nobody's file server keeps others from
 * their names. */
#define WORKERS_STUCK_MAX 16u
#define WORKERS_STUCK_EACH 2u
/* Requests are done one after the other, so a file server that answers late takes time
 * from others: in the long run no user gets more than one part in WORKERS_SHARE of it,
 * after WORKERS_BURST_NS. Not of requests of DRM: ceemsd shares its own rounds out. */
#define WORKERS_SHARE 2u
#define WORKERS_BURST_NS UINT64_C(5000000000)
#define WORKERS_SHARES 64u /* users remembered: those who took most */

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
	/* until when a user has had his share of the time, by CLOCK_BOOTTIME */
	struct worker_share {
		uint32_t uid;
		uint64_t until_ns;
	} shares[WORKERS_SHARES];
};

/* -EBUSY: too many of the user's files, of the unit's or of all do not open, or his
 * took more than his share of the time.
 * Has the request done and fills the answer but its head; the descriptor, if rc is 0,
 * goes to *ret_fd. Waits for PROFILE_REQUEST_OPEN_MS at most. */
void profile_worker_ask(struct profile_worker *w, const struct profile_request *r,
			struct profile_reply *a, int *ret_fd);
void profile_worker_end(struct profile_worker *w);

#endif
