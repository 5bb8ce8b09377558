/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_GPUS_QUESTION_H
#define CEEMS_DAEMON_GPUS_GPUS_QUESTION_H

#include <pthread.h>
#include <stdbool.h>

#include "daemon/env.h"
#include "daemon/gpus/gpus.h"

/* Which devices slurmd and the driver's files say that there are, asked on a thread of
 * its own: without its slurmctld a slurmd -G may take until its deadline, a driver that
 * resets a device may hang in its files, and scrapes hold the daemon's lock. */
struct gpus_question {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t change;
	bool answered; /* under mutex; then the members below are the asker's again */
	const struct env *env;
	const char *slurmd, *node;
	int rc;
	struct err err;
	struct gpus gpus;
};

/* slurmd: its path; NULL: only the driver's files. node: its -N, or "". All are
 * borrowed until the end. NULL: no memory, no thread. */
struct gpus_question *gpus_question_new(const struct env *env, const char *slurmd,
					const char *node);
/* Whether the answer has come, after waiting at most wait_ms. */
bool gpus_question_wait(struct gpus_question *q, unsigned wait_ms);
/* Frees it, NULL too. -ETIMEDOUT: its thread still runs, and uses all of this. */
int gpus_question_done(struct gpus_question *q, unsigned wait_ms);

#endif
