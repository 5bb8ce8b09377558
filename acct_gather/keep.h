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
 * made as Slurm did: below the group that Slurm has made for its node, under Slurm's
 * own lock.
 */

enum { KEEP_USER, KEEP_JOB, KEEP_STEP, KEEP_LEVELS };

struct keep {
	char mount[128];              /* of cpuacct; "": nothing is kept */
	char step[RECORD_CGROUP_MAX]; /* .../uid_U/job_J/step_extern, from "/" */
	size_t end[KEEP_LEVELS];      /* where the path of each level ends in it */
	pid_t owner;                  /* a process that it forks removes nothing */
};

/* Makes the group. cgroup: "/sys/fs/cgroup"; slurm: Slurm's group of this node
 * ("/slurm" or "/slurm_NODE"), which is never made here. Waits for the lock for half a
 * second at most. 0, or with nothing left behind: -ENODEV no cpuacct of v1, -ENOENT no
 * such group of Slurm's, -EBUSY the lock is held, -EINVAL no path, or what mkdir said.
 */
int keep_make(struct keep *k, const char *cgroup, const char *slurm, uid_t uid,
	      uint32_t job, struct err *err);

/* Removes it, and the job's and the user's group when nothing else is in them; the
 * user's stays where the lock is not had within two seconds (another job of hers may be
 * about to use it; Slurm removes it with that one). Idempotent. */
void keep_remove(struct keep *k);

#endif
