/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_ACCESS_H
#define CEEMS_LB_PROMQL_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/promql.h"
#include "lib/err.h"

/*
 * The only place where access to series is decided, by a proof over a query's tree:
 *
 *   every selector must name its units one by one (equality, or an alternation of
 *   literals, on the label that the metric's family keeps the unit in), and each run
 *   of each of these units that lived in the time that the selector touches must be
 *   the caller's; or all metrics that it names are on the list of those that tell
 *   nothing of anybody.
 *
 * What is not proved is refused. No function, join or relabelling can read a series
 * that no selector of the query selects, so only selectors matter.
 *
 * There are three steps, so that ownership can be asked for once per request:
 * access_plan_add() for each query or match[], answering access_claims(), then
 * access_decide(). Afterwards each query has the cluster's matcher on every selector
 * and may be sent. A plan is used by one thread.
 */

/* The label in which a family of metrics has the unit's id. The first match counts. */
struct access_family {
	const char *metric; /* a name, or a prefix with "*" at its end */
	const char *label;  /* NULL: these metrics contain nobody's data */
	bool operators; /* or data of all units of a node: closed, whatever the selector
			   names */
};

struct access_policy {
	const struct access_family *families; /* borrowed */
	size_t family_count;
	/* Matcher to add to each selector. NULL: the backend has one cluster only. */
	const char *cluster_label, *cluster;
	/* Labels hidden from answers (filter_labels): they must not be copied into
	 * other labels either. Borrowed. */
	const char *const *hidden;
	size_t hidden_count;
	int64_t lookback_ms; /* lookback of instant selectors: the server's */
	/* Instead of refusing a selector that names no unit, add a matcher for all the
	 * caller's units in its time range, at most so many. 0: refuse. */
	uint32_t inject_max;
	/* The same for access_plan_add_family(); 0: refuse */
	uint32_t narrow_max;
	/* For a role that may read everything: nothing needs proof, but the cluster's
	 * matcher is added. */
	bool open;
};

/* Limit of units that one request may ask about. */
#define ACCESS_CLAIMS_MAX 10000u

/* How the time range of a selector follows from the times at which its query is
 * evaluated: milliseconds relative to the query's start, its end, or the epoch,
 * including offset, @, ranges and enclosing subqueries. A proof for one time is valid
 * for another with the ranges recomputed from this. */
enum access_base { ACCESS_EPOCH, ACCESS_START, ACCESS_END };
struct access_time_range {
	enum access_base from, to;
	int64_t from_ms, to_ms;
};
bool access_same_time_range(const struct access_time_range *a,
			    const struct access_time_range *b);
void access_time_range_at(const struct access_time_range *time_range, int64_t start_ms,
			  int64_t end_ms, int64_t *ret_from_ms, int64_t *ret_to_ms);

enum access_answer {
	ACCESS_UNASKED = 0,
	ACCESS_OWN,     /* known, and each run of it in that time is the caller's */
	ACCESS_FOREIGN, /* some run in that time is not the caller's */
	ACCESS_UNKNOWN, /* no such unit is known (yet) */
	ACCESS_NO_ID,   /* not a possible id */
};

/* [from, to] in milliseconds since the epoch; strings as in struct str */
struct access_claim {
	struct str id;
	int64_t from_ms, to_ms;
	enum access_answer answer;           /* to be filled in */
	struct access_time_range time_range; /* where from_ms and to_ms come from */
};

/* A selector to be narrowed to the caller's units */
struct access_unconstrained {
	struct access_unconstrained *next;
	struct promql *query;
	struct promql_node *selector;
	const char *label;
	uint32_t units_max;
	/* Units that ran in [from, to] and were nobody else's within around_ms of it */
	int64_t from_ms, to_ms, around_ms;
	size_t *filled; /* bytes put into all unconstrained selectors of the request */
};

struct access_plan;

/* policy is borrowed and outlives the plan. */
int access_plan_new(const struct access_policy *policy, struct access_plan **ret);
void access_plan_free(struct access_plan *p); /* accepts NULL; queries stay */

/* The queries to be added are for a server that is not Prometheus (PROMQL_OTHER), and
 * are evaluated each step_ms, of a range or, is_range false, once. What such a server
 * reads more is proved too. VictoriaMetrics (v1.138, app/vmselect/promql) rounds the
 * range of a query to whole steps, takes the step for the lookback where it is longer,
 * and fetches 5 minutes before each range, from which functions take a sample; labels
 * and series of more than 40 days it has of all time; Thanos has a longer lookback for
 * long steps (pkg/api/query: dynamic lookback). */
void access_plan_widen(struct access_plan *p, bool is_range, int64_t step_ms);

/* Adds a query that is evaluated from start_ms to end_ms (equal for an instant query).
 * The query is borrowed until the plan is freed. -EACCES: it cannot be proved for
 * anybody; err says what to change (also if it has duration expressions and
 * promql_fix_durations() was not called); -E2BIG: it names too many units; -ERANGE:
 * times out of range; -ENOMEM. */
int access_plan_add(struct access_plan *p, struct promql *query, int64_t start_ms,
		    int64_t end_ms, struct err *err)
	__attribute__((warn_unused_result));

/* The same where each selector is evaluated by itself in [from_ms, to_ms], ignoring
 * offset, @ and subqueries: match[], exemplars (Prometheus, web/api/v1/api.go:
 * queryExemplars() extracts the selectors). around_ms: extends the claims on both
 * sides, since labels are answered from whole blocks. */
int access_plan_add_selectors(struct access_plan *p, struct promql *query,
			      int64_t from_ms, int64_t to_ms, int64_t around_ms,
			      struct err *err) __attribute__((warn_unused_result));

/* Adds a selector of all metrics of policy->families[i], as access_family_selector()
 * writes it: for labels and series requests without a selector. It becomes a
 * unconstrained selector, or needs nothing if the metrics contain nobody's data.
 * -ENODATA: it would match metrics of another family; leave it out. */
int access_plan_add_family(struct access_plan *p, struct promql *query, size_t i,
			   int64_t from_ms, int64_t to_ms, int64_t around_ms,
			   struct err *err) __attribute__((warn_unused_result));
void access_family_selector(const struct access_family *f, struct buf *out);

/* The time range of all queries in the plan; false: they read nothing. */
bool access_span(const struct access_plan *p, int64_t *ret_from_ms, int64_t *ret_to_ms);

/* Where that range comes from, for queries that were all added with one time. */
#define ACCESS_TIME_RANGES_MAX 32u
struct access_time_ranges {
	struct access_time_range at[ACCESS_TIME_RANGES_MAX];
	size_t count; /* if larger, at[] is incomplete */
	/* Largest difference between a time at which a part is evaluated and the
	 * query's start or end; -1: nothing is evaluated */
	int64_t far_ms;
};
const struct access_time_ranges *access_time_ranges(const struct access_plan *p);
/* Whether queries added with this far_ms could be added for this time too. */
bool access_time_ranges_hold(int64_t far_ms, int64_t start_ms, int64_t end_ms);

/* The same for a selector of profiles, which have a type instead of a metric name.
 * Families are by type ("process_cpu:*"); type "": any, and all families must have the
 * unit in the same label. It reads exactly [from_ms, to_ms], as there is no lookback.
 * narrow: a request for labels or series that names nothing; narrow_max applies instead
 * of inject_max. */
int access_plan_add_profiles(struct access_plan *p, struct promql *selector,
			     struct str type, bool narrow, int64_t from_ms,
			     int64_t to_ms, struct err *err)
	__attribute__((warn_unused_result));

/* The claims to be answered in place; each (id, time) once. */
struct access_claim *access_claims(struct access_plan *p, size_t *ret_count);
/* Selectors to narrow (inject_max) by access_fill(); NULL: none */
struct access_unconstrained *access_unconstrained_first(struct access_plan *p);
/* Narrows a unconstrained selector to these units; none: it selects nothing. -E2BIG:
 * more than units_max, or more than ACCESS_FILL_MAX bytes in all unconstrained
 * selectors of the request. */
#define ACCESS_FILL_MAX ((size_t)1 << 20)
int access_fill(struct access_unconstrained *unconstrained, const struct str *ids,
		size_t count, struct err *err) __attribute__((warn_unused_result));

/* 0: all claims are the caller's, and the queries, now narrowed to the cluster, may be
 * sent. -EACCES: err says which unit is not, and why; nothing may be sent. An
 * unanswered claim or unconstrained selector is refused. */
int access_decide(struct access_plan *p, struct err *err)
	__attribute__((warn_unused_result));

#endif
