/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_FILTER_H
#define CEEMS_LB_PROXY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lb/site/backend.h"
#include "lib/buf.h"
#include "lib/err.h"

/*
 * Takes labels out of answers of Prometheus' API (filter_labels), as they stream by:
 * from the labels of query, query_range, query_exemplars and series, from the names of
 * labels, and messages that name one are replaced. Every other byte stays as it is:
 * histograms, statistics, whatever later releases add. Memory is bounded: a name and a
 * piece of the answer. One thread at a time.
 */

enum filter_need {
	FILTER_NONE,   /* pass the answer on */
	FILTER_ANSWER, /* through filter_new() */
	FILTER_EMPTY,  /* values of such a label: 200 with filter_empty, ask nobody */
};
extern const char filter_empty[]; /* JSON */

/* target: of a call (path and query, before the backend's own path); it need not end
 * with NUL. */
enum filter_need filter_need(const struct backend *b, const char *target, size_t len);

struct filter;

/* b is held by the caller as long as the filter lives. encoding: the answer's
 * Content-Encoding, NULL: none; -EOPNOTSUPP: neither gzip nor deflate (zlib): the
 * answer cannot be passed on. What comes out has none. */
int filter_new(const struct backend *b, const char *target, size_t len,
	       const char *encoding, struct filter **ret, struct err *err);
void filter_free(struct filter *f); /* accepts NULL */

#define FILTER_OUT_BYTES 65536u

/* Appends to out what may be sent on, until out holds FILTER_OUT_BYTES or a little
 * more: then empty it, and call again with what was not taken. Returns how much of data
 * was taken; once all was, call with len 0 until filter_pending() is false. -EBADMSG:
 * not JSON, or not that encoding; -EFBIG: a name too long, or too deep; -ENOMEM. After
 * an error nothing more may be sent: the answer is to be cut. */
ssize_t filter_put(struct filter *f, const void *data, size_t len, struct buf *out,
		   struct err *err) __attribute__((warn_unused_result));
bool filter_pending(const struct filter *f);
/* The answer is over: 0, or -EBADMSG when it was cut. */
int filter_end(struct filter *f, struct err *err) __attribute__((warn_unused_result));

/* A stream that is pulled, through a filter: read is asked for the answer's bytes, with
 * results as read(2), -EAGAIN for later. */
struct filtered;

int filtered_new(const struct backend *b, const char *target, size_t len,
		 const char *encoding,
		 ssize_t (*read)(void *arg, void *buf, size_t max), void *arg,
		 struct filtered **ret, struct err *err);
void filtered_free(struct filtered *f); /* accepts NULL */
/* As read; -EBADMSG and the like: the answer is to be cut. */
ssize_t filtered_read(struct filtered *f, void *buf, size_t max);

#endif
