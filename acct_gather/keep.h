/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_ACCT_GATHER_KEEP_H
#define CEEMS_ACCT_GATHER_KEEP_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/records/record.h"

/*
 * The extern step's group in cpuacct of cgroup v1. Up to 24.11 Slurm makes it, and with
 * it the job's own group lives as long as the job; since 25.05 the job's group goes
 * with each last step, and its counter begins again at 0 with the next one. Here it is
 * made as Slurm did: below Slurm's group for the node, under Slurm's own lock.
 */

enum { KEEP_USER, KEEP_JOB, KEEP_STEP, KEEP_LEVELS };

struct keep {
	char mount[128];              /* of cpuacct; "": nothing is kept */
	char step[RECORD_CGROUP_MAX]; /* .../uid_U/job_J/step_extern, from "/" */
	size_t end[KEEP_LEVELS];      /* where the path of each level ends in it */
	pid_t owner;                  /* a forked child removes nothing */
};

/* Makes the group. cgroup: "/sys/fs/cgroup"; slurm: Slurm's group of this node
 * ("/slurm" or "/slurm_NODE"), which is never made here. Waits at most half a second
 * for the lock. 0, or with nothing left behind: -ENODEV: no cpuacct of v1; -ENOENT:
 * Slurm has no such group; -EBUSY: the lock is held; -EINVAL: not a path; or mkdir's
 * error. */
int keep_make(struct keep *k, const char *cgroup, const char *slurm, uid_t uid,
	      uint32_t job, struct err *err);

/* Removes it, and the job's and the user's group if nothing else is in them; the user's
 * stays if the lock is not free within two seconds (another job of the user may be
 * about to use it; Slurm removes it with that one). Idempotent. */
void keep_remove(struct keep *k);

#endif
