/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_PROM_REQUEST_H
#define CEEMS_LB_PROMQL_PROM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/access.h"
#include "lb/promql/promql.h"
#include "lib/buf.h"
#include "lib/err.h"

/*
 * A request to Prometheus' HTTP API (prometheus.io, "HTTP API") as one canonical thing:
 * which call, which time, which queries as trees. What is sent on is made anew from it,
 * never copied, so that there is nothing in it that was not read here.
 */

enum prom_call {
	PROM_QUERY,
	PROM_QUERY_RANGE,
	PROM_QUERY_EXEMPLARS,
	PROM_SERIES,
	PROM_LABELS,
	PROM_LABEL_VALUES,
	PROM_FORMAT_QUERY,
	PROM_PARSE_QUERY,
	PROM_BUILDINFO,
	PROM_CALLS,
};

#define PROM_MATCHES_MAX 64u       /* match[] of one request */
#define PROM_BODY_MAX (128u << 10) /* bytes of a form, in the URL or in the body */
#define PROM_LABEL_MAX 128u

struct prom_times {
	/* What the request can touch, in milliseconds since the epoch: the times at
	 * which a query is evaluated, or the span of series and labels */
	int64_t start_ms, end_ms;
	bool has_time, has_start, has_end; /* are sent on */
	bool of_now; /* no time was given: it is asked for the time when it was read */
};

struct prom_request {
	struct steps steps; /* that reading and proving may take */
	enum prom_call call;
	char path[PROM_LABEL_MAX + 32]; /* what is sent on, exactly */
	struct prom_times when;
	struct promql *queries[PROM_MATCHES_MAX]; /* owned */
	size_t query_count;
	/* Checked and put into one form; "" when it was not there */
	char step[32], timeout[32], limit[24];
	int64_t step_ms; /* 0: not there */
	bool stats;
};

/* Whether a path of this API is a call that this file knows; what it knows not is for
 * roles that the site names. */
bool prom_request_knows(const char *path);

/* path: as target_path() makes it. query: the target's part behind "?", NULL: none.
 * body: of a POST with a form; NULL: none. Parameters that the call does not have are
 * dropped. Errors are told to whoever asks: -EINVAL what makes no sense (400), -EACCES
 * what is not answered here (403), -E2BIG, -ENOMEM. */
int prom_request_read(const char *path, const char *query, const void *body,
		      size_t body_len, enum promql_dialect dialect, int64_t now_ms,
		      struct prom_request **ret, struct err *err)
	__attribute__((warn_unused_result));
void prom_request_free(struct prom_request *r); /* accepts NULL */

/* Adds all queries to a plan, with the time that they touch. For series and labels
 * without match[] one selector for each family of the policy is made first, which a
 * plan that may fill gaps narrows and one that may not refuses. */
int prom_request_prove(struct prom_request *r, const struct access_policy *policy,
		       struct access_plan *plan, struct err *err)
	__attribute__((warn_unused_result));

/* The form to be POSTed, from what the trees are now. Label values and buildinfo have
 * no POST: prom_request_is_get(), and the form goes behind "?". Returns where in it
 * stands what prom_times_text() says. Errors are the buffer's.
 */
size_t prom_request_form(const struct prom_request *r, struct buf *out);
bool prom_request_is_get(const struct prom_request *r);
/* Each time behind an "&". */
#define PROM_TIMES_BYTES 128
void prom_times_text(const struct prom_times *t, char ret[PROM_TIMES_BYTES]);

/* The times of a form whose names are plain, read as prom_request_read() reads them.
 * All else of it is appended to key as it came, with which times there were. False:
 * there is something about it that only prom_request_read() understands, or refuses. */
bool prom_times_split(const char *path, const char *form, size_t len, int64_t now_ms,
		      struct buf *key, struct prom_times *ret);

#endif
