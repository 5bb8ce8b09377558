/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_PROFILES_H
#define CEEMS_COURIER_PROFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "courier/courier.h"
#include "lib/err.h"
#include "lib/http/profile_push.h"
#include "lib/records/spool.h"

/*
 * From the spool of finished profiles to the profile store, by way of the aggregator or
 * directly. The newest goes first: after an outage people see the present at once, and
 * what became too old for the store meanwhile is dropped and counted.
 */

/* ---- courier/profile_queue.c: which profile is next --------------------------------
 * The store would count a profile twice that it gets twice. So each one that is done is
 * noted in a file beside the spool until all before it are done too, and the spool's
 * own cursor can pass them. */

#define PROFILE_QUEUE_MAX 65536u
#define PROFILE_DONE_NAME "done"

struct profile_entry {
	struct spool_record where; /* without data */
	uint64_t not_before_ns;    /* boot time */
	bool done;
};

struct profile_queue {
	const char *folder; /* borrowed */
	struct spool_reader *reader;
	int done_fd;
	struct profile_entry *entries; /* by number, ascending */
	size_t count, room, open;      /* open: those that are not done */
	uint64_t overflowed;           /* not looked at, since there were too many */
	uint64_t gone;                 /* the spool had no room for them any more */
};

/* Reads what came since the last call. A folder that is not there yet is an empty one:
 * 0. Else negative errno. */
int profile_queue_fill(struct profile_queue *q, struct err *err);
/* The newest one that may be sent at now_ns; its bytes are borrowed until the next
 * call. 1: *ret, and its index for the functions below; 0: none; negative errno. */
int profile_queue_next(struct profile_queue *q, uint64_t now_ns,
		       struct spool_record *ret, size_t *ret_index, struct err *err);
/* The profile is done with: 0 or negative errno, when it may be sent again after a
 * restart. */
int profile_queue_done(struct profile_queue *q, size_t index, struct err *err);
/* Not before this time. */
void profile_queue_postpone(struct profile_queue *q, size_t index,
			    uint64_t not_before_ns);
/* Lets the spool forget those at its beginning that are done. */
int profile_queue_ack(struct profile_queue *q, struct err *err);
void profile_queue_close(struct profile_queue *q);

/* ---- courier/profile_send.c: one POST -------------------------------------------- */

struct profile_sender;

/* -EINVAL: inconsistent options. c outlives it. */
int profile_sender_new(struct courier *c, struct profile_sender **ret, struct err *err);
void profile_sender_free(struct profile_sender *s); /* NULL-safe */
/* Sends a record of the spool, which profile_record_decode() has taken apart. 0: *ret
 * is the answer; else nobody answers. */
int profile_sender_do(struct profile_sender *s, const struct spool_record *record,
		      const struct profile_record *profile, struct profile_answer *ret,
		      struct err *err);
/* For messages: "http://host:port" */
const char *profile_sender_url(const struct profile_sender *s);

#endif
