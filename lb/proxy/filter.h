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
 * Removes labels from streamed answers of Prometheus' API (filter_labels): from the
 * labels of query, query_range, query_exemplars and series, and from label names;
 * messages that mention one are replaced. All other bytes stay unchanged: histograms,
 * statistics, whatever later releases add. Memory is bounded: a name and a piece of the
 * answer. One thread at a time.
 */

enum filter_need {
	FILTER_NONE,   /* pass the answer on */
	FILTER_ANSWER, /* pass it through filter_new() */
	FILTER_EMPTY,  /* values of a filtered label: 200 with filter_empty, no backend
			  needed */
};
extern const char filter_empty[]; /* JSON */

/* target: of a call (path and query, before the backend's own path); it need not end
 * with NUL. */
enum filter_need filter_need(const struct backend *b, const char *target, size_t len);

struct filter;

/* b must be held while the filter exists. encoding: the answer's Content-Encoding,
 * NULL: none; -EOPNOTSUPP: neither gzip nor deflate (zlib), so the answer cannot be
 * passed on. The output is not encoded. */
int filter_new(const struct backend *b, const char *target, size_t len,
	       const char *encoding, struct filter **ret, struct err *err);
void filter_free(struct filter *f); /* accepts NULL */

#define FILTER_OUT_BYTES 65536u

/* Appends what may be sent to out, until out holds about FILTER_OUT_BYTES: then empty
 * it, and call again with the rest of the data. Returns how much of data was consumed;
 * after all of it, call with len 0 until filter_pending() is false. -EBADMSG: not JSON,
 * or not in that encoding; -EFBIG: a name is too long, or nesting too deep; -ENOMEM.
 * After an error nothing more may be sent: cut the answer off. */
ssize_t filter_put(struct filter *f, const void *data, size_t len, struct buf *out,
		   struct err *err) __attribute__((warn_unused_result));
bool filter_pending(const struct filter *f);
/* The answer has ended: 0, or -EBADMSG: it was truncated. */
int filter_end(struct filter *f, struct err *err) __attribute__((warn_unused_result));

/* A filtered stream to pull from: it calls read for the answer's bytes, with results as
 * read(2), -EAGAIN for later. */
struct filtered;

int filtered_new(const struct backend *b, const char *target, size_t len,
		 const char *encoding,
		 ssize_t (*read)(void *arg, void *buf, size_t max), void *arg,
		 struct filtered **ret, struct err *err);
void filtered_free(struct filtered *f); /* accepts NULL */
/* As read; -EBADMSG and the like: cut the answer off. */
ssize_t filtered_read(struct filtered *f, void *buf, size_t max);

#endif
