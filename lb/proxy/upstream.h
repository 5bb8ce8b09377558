/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_UPSTREAM_H
#define CEEMS_LB_PROXY_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lb/gate/call.h"
#include "lb/proxy/answer.h"
#include "lb/proxy/resolve.h"
#include "lb/site/backend.h"
#include "lib/err.h"
#include "lib/loop.h"

/*
 * Calls to backends on one thread's loop: connections that are kept alive between
 * calls, over TLS where the backend says so, one call at a time in each. Short answers
 * are taken whole, which saves their pieces the way through all of us. Longer ones are
 * pulled: nothing is read from a backend that nobody takes, so a slow client slows its
 * own backend connection and costs no memory.
 */

struct upstreams;
struct upstream;

/* What one thread's calls did. Read from any thread. */
struct upstream_counts {
	uint64_t connects, reused, stale; /* stale: kept alive, but gone when used */
	uint64_t bytes;                   /* of answers' bodies */
	uint32_t open, idle;              /* connections now */
};

int upstreams_new(struct loop *loop, struct resolver *resolver, const char *user_agent,
		  struct upstreams **ret, struct err *err);
/* No call may be under way; the loop runs no longer. Accepts NULL. */
void upstreams_free(struct upstreams *u);
void upstreams_counts(struct upstreams *u, struct upstream_counts *ret);

/* Sends a call to b, which is held; what call points to stays until upstream_end().
 * event(arg) is called on the loop whenever upstream_state() may say something else,
 * and when there is more to read; never from within a function of this header. HEAD is
 * not asked of backends: a client that did simply does not read. -ENOMEM. */
int upstream_start(struct upstreams *u, struct backend *b, const struct call *call,
		   void (*event)(void *arg), void *arg, struct upstream **ret);

enum upstream_state {
	UPSTREAM_WAITS,   /* for a name, a connection, the head of the answer */
	UPSTREAM_ANSWERS, /* upstream_head() is there, upstream_read() may be called */
	UPSTREAM_FAILED,  /* before or within the answer */
};
enum upstream_state upstream_state(const struct upstream *x);
const struct answer_head *upstream_head(const struct upstream *x);
/* From upstream_start() to the first byte of the answer, or to now. */
uint32_t upstream_first_byte_ms(const struct upstream *x);

/* Of UPSTREAM_FAILED: -ECONNREFUSED and the like: no connection; -ECONNRESET: cut;
 * -ETIMEDOUT; -ECANCELED: nobody took the answer in time; -EBADMSG: not HTTP as it must
 * be; -EFBIG: a head too long; -EKEYREJECTED: TLS or certificate; -EHOSTUNREACH: no
 * such name. why: static text. */
int upstream_error(const struct upstream *x, const char **ret_why);

/* Bytes of the body; 0: it is over; -EAGAIN: event() follows; else as
 * upstream_error(). */
ssize_t upstream_read(struct upstream *x, void *buf, size_t max);
/* The whole body, when all of it is there, as memory for upstream_taken_free(), on the
 * thread of the loop and before upstreams_free(); NULL: no. */
void *upstream_take(struct upstream *x, size_t *ret_len);
void upstream_taken_free(void *data);

/* Once. Where the answer is not over its connection is closed. */
void upstream_end(struct upstream *x);

#endif
