/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_JOBCOMP_WRITER_H
#define CEEMS_JOBCOMP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Our only thread in slurmctld: it moves records from the queue to the spool. A record
 * is in its file some milliseconds after writer_put(), and durable some 300 ms later.
 * While the spool is not available (another slurmctld still holds it, no space, no
 * permission, no folder) records wait in the bounded queue, and the thread retries;
 * records without room in the queue are refused, counted, logged at growing intervals,
 * and noted in the spool as soon as that is available.
 */

struct writer_log { /* called by any thread; lines without a newline */
	void (*error)(const char *text);
	void (*info)(const char *text);
};

struct writer_options {
	const char *spool;  /* copied */
	uint64_t max_bytes; /* of the spool */
	uint32_t queue_count;
	uint64_t queue_bytes;   /* both 0: default */
	uint32_t sync_after_ms; /* 0: 300 */
};

struct writer;

/* Starts the thread, which opens the spool itself: failing to do so is not an error
 * here. The thread blocks all signals. */
int writer_start(const struct writer_options *o, const struct writer_log *log,
		 struct writer **ret, struct err *err);

/* Queues a record. Never waits for a disk or a name service. Any thread. flags: enum
 * queue_flag. 0, -ENOBUFS or -ENOMEM (counted). */
int writer_put(struct writer *w, const void *record, size_t len, uint32_t uid,
	       uint32_t gid, uint32_t flags);
/* Counts a record that could not be made. */
void writer_count_lost(struct writer *w);

/* Writes what is queued, for up to wait_ms, and ends the thread. True: it ended and w
 * is freed; false: it hangs in a disk or a name service, and w stays with it. NULL is
 * allowed. */
bool writer_stop(struct writer *w, uint32_t wait_ms);

struct writer_stats {
	uint64_t durable, lost;
	uint32_t queued;
};
void writer_stats(struct writer *w, struct writer_stats *ret);

#endif
