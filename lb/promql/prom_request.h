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
 * A request to Prometheus' HTTP API (prometheus.io, "HTTP API") in canonical form: the
 * call, the times, and the queries as trees. What is sent on is composed from it, never
 * copied, so that it contains nothing that was not parsed here.
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
	/* The time range of the request, in milliseconds since the epoch: the times at
	 * which a query is evaluated, or the span for series and labels */
	int64_t start_ms, end_ms;
	bool has_time, has_start, has_end; /* which were given and are sent on */
	bool of_now; /* no time was given: the time of parsing is used */
};

struct prom_request {
	struct steps steps; /* budget for parsing and proving */
	enum prom_call call;
	char path[PROM_LABEL_MAX + 32]; /* the path to send */
	struct prom_times when;
	struct promql *queries[PROM_MATCHES_MAX]; /* owned */
	size_t query_count;
	/* Checked and normalised; "": missing */
	char step[32], timeout[32], limit[24];
	int64_t step_ms; /* 0: missing */
	bool stats;
	bool other; /* for a server that is not Prometheus: PROMQL_OTHER */
};

/* Whether a path of this API is a call known here; others are for roles that the site
 * names. */
bool prom_request_knows(const char *path);

/* path: as target_path() makes it. query: the target's part behind "?", NULL: none.
 * body: of a POST with a form; NULL: none. Parameters that the call does not have are
 * dropped. Errors, with texts for the client: -EINVAL: malformed (400); -EACCES: not
 * answered here (403); -E2BIG; -ENOMEM. */
int prom_request_read(const char *path, const char *query, const void *body,
		      size_t body_len, enum promql_dialect dialect, int64_t now_ms,
		      struct prom_request **ret, struct err *err)
	__attribute__((warn_unused_result));
void prom_request_free(struct prom_request *r); /* accepts NULL */

/* Adds all queries to a plan, with their time range. For series and labels requests
 * without match[], first makes one selector per family of the policy, which the plan
 * narrows if it may, or refuses. */
int prom_request_prove(struct prom_request *r, const struct access_policy *policy,
		       struct access_plan *plan, struct err *err)
	__attribute__((warn_unused_result));

/* The form to POST, from the trees as they are now. Label values and buildinfo have no
 * POST: with prom_request_is_get() the form goes behind "?". Returns the offset of the
 * times (prom_times_text()) in it. Errors are the buffer's. */
size_t prom_request_form(const struct prom_request *r, struct buf *out);
bool prom_request_is_get(const struct prom_request *r);
/* Each time is preceded by "&". */
#define PROM_TIMES_BYTES 128
void prom_times_text(const struct prom_times *t, char ret[PROM_TIMES_BYTES]);

/* The times of a form with plain names, parsed as by prom_request_read(). Everything
 * else, and which times were given, is appended to key unchanged. False:
 * prom_request_read() is needed to understand or refuse it. */
bool prom_times_split(const char *path, const char *form, size_t len, int64_t now_ms,
		      struct buf *key, struct prom_times *ret);

#endif
