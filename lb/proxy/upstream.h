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
 * Calls to backends on one thread's loop, over connections that are kept alive and
 * carry one call at a time, with TLS if the backend is configured so. Short answers are
 * read whole, which is cheaper than passing on pieces. Longer ones are pulled: only
 * what the client takes is read from the backend, so a slow client slows down its own
 * backend connection and costs no memory.
 */

struct upstreams;
struct upstream;

/* Counters of one thread's calls. Read from any thread. */
struct upstream_counts {
	uint64_t connects, reused, stale; /* stale: kept alive, but closed when used */
	uint64_t bytes;                   /* of answers' bodies */
	uint32_t open, idle;              /* connections now */
};

int upstreams_new(struct loop *loop, struct resolver *resolver, const char *user_agent,
		  struct upstreams **ret, struct err *err);
/* No call may be running; the loop has ended. Accepts NULL. */
void upstreams_free(struct upstreams *u);
void upstreams_counts(struct upstreams *u, struct upstream_counts *ret);

/* Sends a call to b, which is held; what call points to stays until upstream_end().
 * event(arg) is called on the loop whenever upstream_state() may have changed, and when
 * there is more to read; never from within a function of this header. HEAD is never
 * sent to backends: for a client's HEAD the body is just not read. -ENOMEM. */
int upstream_start(struct upstreams *u, struct backend *b, const struct call *call,
		   void (*event)(void *arg), void *arg, struct upstream **ret);

enum upstream_state {
	UPSTREAM_WAITS,   /* for a name, a connection, or the answer's head */
	UPSTREAM_ANSWERS, /* the head is in upstream_head(), upstream_read() may be
			     called */
	UPSTREAM_FAILED,  /* before or within the answer */
};
enum upstream_state upstream_state(const struct upstream *x);
const struct answer_head *upstream_head(const struct upstream *x);
/* Time from upstream_start() to the first byte of the answer, or until now. */
uint32_t upstream_first_byte_ms(const struct upstream *x);

/* For UPSTREAM_FAILED: -ECONNREFUSED and the like: no connection; -ECONNRESET: closed
 * early; -ETIMEDOUT; -ECANCELED: the client did not take the answer in time; -EBADMSG:
 * malformed HTTP; -EFBIG: head too long; -EKEYREJECTED: TLS or certificate;
 * -EHOSTUNREACH: no such name. why: static text. */
int upstream_error(const struct upstream *x, const char **ret_why);

/* Bytes of the body; 0: end; -EAGAIN: event() will follow; else as upstream_error(). */
ssize_t upstream_read(struct upstream *x, void *buf, size_t max);
/* The whole body, if it has all been read: memory for upstream_taken_free(), on the
 * loop's thread and before upstreams_free(). NULL: not all of it. */
void *upstream_take(struct upstream *x, size_t *ret_len);
void upstream_taken_free(void *data);

/* Call once. Closes the connection if the answer has not ended. */
void upstream_end(struct upstream *x);

#endif
