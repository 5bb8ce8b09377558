/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_ADMISSION_CLAIMS_H
#define CEEMS_CONTRIB_K8S_ADMISSION_CLAIMS_H

#include <stdint.h>

#include "lib/err.h"
#include "lib/records/claim.h"

/*
 * Claims on their way to the spool, from which ceems-courier sends them. Bounded: no
 * review waits for a disk. What does not fit is counted and lost; the pod then is its
 * namespace's.
 */

#define CLAIMS_QUEUE_MAX 20000u

struct claims;

struct claims_stats {
	uint64_t written; /* durable */
	uint64_t lost;    /* the queue or the spool was full */
	uint32_t queued;
};

/* Starts the thread, which opens the spool and tries again while it cannot. spool is
 * copied; max_bytes of it, 0: its default. */
int claims_new(const char *spool, uint64_t max_bytes, struct claims **ret,
	       struct err *err);
/* Any thread; never waits. */
void claims_put(struct claims *c, const struct claim *claim);
void claims_read_stats(struct claims *c, struct claims_stats *ret);
/* Writes what is queued, if the spool takes it, and frees. Accepts NULL. */
void claims_free(struct claims *c);

#endif
