/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_ACCESS_H
#define CEEMS_LB_PROMQL_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/promql.h"
#include "lib/err.h"

/*
 * The one place where access to series is decided, as a proof over a query's tree:
 *
 *   every selector must name its units one by one (equality, or an alternation of
 *   literals, on the label that the metric's family keeps the unit in), and each run
 *   of each of these units that lived in the time that the selector touches must be
 *   the caller's; or all metrics that it names are on the list of those that tell
 *   nothing of anybody.
 *
 * What is not proved is refused. No function, join or relabelling of a query can read
 * a series that none of its selectors selects, so nothing else of the tree matters.
 *
 * In three steps, so that who owns what can be asked at once for all of a request:
 * access_plan_add() for each query or match[], access_claims() to be answered, then
 * access_decide(). Afterwards each query has the cluster's matcher on every selector
 * and is what may be sent on. A plan is used by one thread.
 */

/* Which label a family of metrics keeps the unit's id in. The first one that fits. */
struct access_family {
	const char *metric; /* a name, or a prefix with "*" at its end */
	const char *label;  /* NULL: these metrics tell nothing of anybody */
	bool operators;     /* or of all units of a node: closed, whatever is named */
};

struct access_policy {
	const struct access_family *families; /* borrowed */
	size_t family_count;
	/* Matcher that each selector gets. NULL: the backend has one cluster only. */
	const char *cluster_label, *cluster;
	/* Labels that answers do not show (filter_labels): none is copied into another
	 * one either. Borrowed. */
	const char *const *hidden;
	size_t hidden_count;
	int64_t lookback_ms; /* how far an instant selector looks back: the server's */
	/* Instead of refusing a selector that names no unit: it gets a matcher for all
	 * units of the caller that lived in its time, at most so many. 0: refused. */
	uint32_t inject_max;
	/* The same for access_plan_add_family(); 0: refused */
	uint32_t narrow_max;
	/* For a role that reads all: nothing is to be proved, the cluster's matcher is
	 * added all the same. */
	bool open;
};

/* At most so many units are asked for in one request. */
#define ACCESS_CLAIMS_MAX 10000u

/* The time that a selector reads, as it follows from the times at which its query is
 * evaluated: so many milliseconds from the query's start, its end, or the epoch.
 * Offset,
 * @, ranges and subqueries around it are in it: a proof made for one time holds for
 * another one with what its reaches are then. */
enum access_base { ACCESS_EPOCH, ACCESS_START, ACCESS_END };
struct access_reach {
	enum access_base from, to;
	int64_t from_ms, to_ms;
};
bool access_same_reach(const struct access_reach *a, const struct access_reach *b);
void access_reach_at(const struct access_reach *reach, int64_t start_ms, int64_t end_ms,
		     int64_t *ret_from_ms, int64_t *ret_to_ms);

enum access_answer {
	ACCESS_UNASKED = 0,
	ACCESS_OWN, /* it is known, and each run of it in that time is the caller's */
	ACCESS_FOREIGN, /* some run of it in that time is not */
	ACCESS_UNKNOWN, /* no such unit is known (yet) */
	ACCESS_NO_ID,   /* no unit can have this id */
};

/* [from, to] in milliseconds since the epoch; strings as in struct str */
struct access_claim {
	struct str id;
	int64_t from_ms, to_ms;
	enum access_answer answer; /* to be filled in */
	struct access_reach reach; /* what from_ms and to_ms came from */
};

/* A selector that shall be narrowed to what is the caller's */
struct access_gap {
	struct access_gap *next;
	struct promql *query;
	struct promql_node *selector;
	const char *label;
	uint32_t units_max;
	/* Those that lived in [from, to] and were nobody else's from around_ms before
	 * until around_ms after it */
	int64_t from_ms, to_ms, around_ms;
	size_t *filled; /* bytes that all of the request's gaps were given */
};

struct access_plan;

/* policy is borrowed and outlives the plan. */
int access_plan_new(const struct access_policy *policy, struct access_plan **ret);
void access_plan_free(struct access_plan *p); /* accepts NULL; queries stay */

/* Adds a query that is evaluated at times from start_ms to end_ms (the same for an
 * instant query). The query is borrowed until the plan is freed. -EACCES: it can be
 * proved for nobody, with what to change (and without promql_fix_durations() before
 * where it has durations to be worked out); -E2BIG: names too many units; -ERANGE:
 * touches time that is no time; -ENOMEM. */
int access_plan_add(struct access_plan *p, struct promql *query, int64_t start_ms,
		    int64_t end_ms, struct err *err)
	__attribute__((warn_unused_result));

/* The same for what is asked of each selector alone, in [from_ms, to_ms], whatever
 * offset, @ or subquery stands beside it: match[], exemplars (Prometheus,
 * web/api/v1/api.go: queryExemplars() takes the selectors out of the query).
 * around_ms: as much more is claimed before and behind it, as labels are answered from
 * whole blocks. */
int access_plan_add_selectors(struct access_plan *p, struct promql *query,
			      int64_t from_ms, int64_t to_ms, int64_t around_ms,
			      struct err *err) __attribute__((warn_unused_result));

/* Adds a selector of all metrics of policy->families[i], as access_family_selector()
 * writes it: for labels and series that were asked for without a selector. It becomes a
 * gap, or nothing to do for metrics that tell of nobody. -ENODATA: metrics of another
 * family are among them, leave this one out. */
int access_plan_add_family(struct access_plan *p, struct promql *query, size_t i,
			   int64_t from_ms, int64_t to_ms, int64_t around_ms,
			   struct err *err) __attribute__((warn_unused_result));
void access_family_selector(const struct access_family *f, struct buf *out);

/* The time that all queries of the plan touch; false: they read nothing. */
bool access_span(const struct access_plan *p, int64_t *ret_from_ms, int64_t *ret_to_ms);

/* What that span follows from, for queries that were all added with one time. */
#define ACCESS_REACHES_MAX 32u
struct access_reaches {
	struct access_reach at[ACCESS_REACHES_MAX];
	size_t count; /* more than that: at[] is not all */
	/* Most that a time at which a part is evaluated differs from the query's start
	 * or end; -1: nothing is evaluated */
	int64_t far_ms;
};
const struct access_reaches *access_reaches(const struct access_plan *p);
/* Whether what was added with such a far_ms could be added for this time too. */
bool access_reaches_hold(int64_t far_ms, int64_t start_ms, int64_t end_ms);

/* The same for a selector of profiles, which have a type in place of a metric's name:
 * families are by type ("process_cpu:*"); type "": of any type, then all families must
 * keep the unit in one label. It reads [from_ms, to_ms] and no more, there is no
 * lookback. narrow: it asks for labels or series and names nothing, narrow_max holds in
 * place of inject_max. */
int access_plan_add_profiles(struct access_plan *p, struct promql *selector,
			     struct str type, bool narrow, int64_t from_ms,
			     int64_t to_ms, struct err *err)
	__attribute__((warn_unused_result));

/* What must be known: each (id, time) once. To be answered in place. */
struct access_claim *access_claims(struct access_plan *p, size_t *ret_count);
/* Selectors to be narrowed (inject_max), each with access_fill(); NULL: none */
struct access_gap *access_gaps(struct access_plan *p);
/* Narrows one to these units; none: it selects nothing. -E2BIG: more than units_max, or
 * more than ACCESS_FILL_MAX bytes for all gaps of a request. */
#define ACCESS_FILL_MAX ((size_t)1 << 20)
int access_fill(struct access_gap *gap, const struct str *ids, size_t count,
		struct err *err) __attribute__((warn_unused_result));

/* 0: all claims are the caller's, the queries have been narrowed to the cluster and may
 * be sent. -EACCES: which unit is not, and why; nothing may be sent. A claim or gap
 * that was left unanswered is a refusal. */
int access_decide(struct access_plan *p, struct err *err)
	__attribute__((warn_unused_result));

#endif
