/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_OWNERSHIP_RULE_H
#define CEEMS_LB_GATE_OWNERSHIP_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/access.h"

/*
 * How an answer about a unit is applied (doc/lb.md, "Who may read what"). An answer
 * lists all runs of the id in the cluster that the aggregator knew when it was asked:
 *
 * 1. A run of somebody else that meets the time that is read, its end put off by the
 *    linger and both ends by the clocks' skew: it is refused.
 * 2. No run is the caller's: it is refused. No run at all: it is not known yet.
 * 3. What refuses holds for unknown_ms, what opens for ownership_ms.
 * 4. An answer whose last run is over says nothing of what began after it: where the
 *    time that is read goes on beyond it, it holds for unknown_ms only. One of the
 *    caller's runs that is not over keeps the number taken, so it holds for
 * ownership_ms.
 */

struct ownership_run {
	int64_t from_ms, to_ms; /* since the epoch; INT64_MAX: it is not over */
	bool own;               /* the caller may see it */
};
/* More runs of one id than this are merged into one, which is the caller's only if all
 * of them are. */
#define OWNERSHIP_RUNS_MAX 32u

struct ownership_rules {
	int64_t ownership_ms, unknown_ms; /* unknown_ms <= ownership_ms */
	int64_t linger_ms, skew_ms;
};

/* Bound on the clock differences of nodes, controllers and Prometheus. */
#define OWNERSHIP_SKEW_MS 60000

struct ownership_answer_time {
	int64_t age_ms;   /* since the question, by a clock that does not step */
	int64_t as_of_ms; /* time of the question, since the epoch */
	int64_t now_ms;   /* the same for now */
};

/* ACCESS_UNASKED: ask again. */
enum access_answer ownership_judge(const struct ownership_rules *rules,
				   const struct ownership_run *runs, size_t count,
				   const struct ownership_answer_time *t,
				   int64_t from_ms, int64_t to_ms);

/* Merges the runs if there are more than OWNERSHIP_RUNS_MAX; never grants more than
 * they did. Returns how many there are now. */
size_t ownership_fold(struct ownership_run *runs, size_t count);

/* Whether one of the caller's runs overlaps the time range. */
bool ownership_meets(const struct ownership_run *runs, size_t count, int64_t from_ms,
		     int64_t to_ms);

#endif
