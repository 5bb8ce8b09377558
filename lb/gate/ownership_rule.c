/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only the rule: no clock, no memory, nothing but its arguments. */
#include "lb/gate/ownership_rule.h"

static int64_t subtract_saturated_ms(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_sub_overflow(a, b, &r) ? INT64_MIN : r;
}

static int64_t add_saturated_ms(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

static bool foreign_meets(const struct ownership_rules *rules,
			  const struct ownership_run *r, int64_t from_ms, int64_t to_ms)
{
	return subtract_saturated_ms(r->from_ms, rules->skew_ms) <= to_ms &&
	       add_saturated_ms(r->to_ms,
				add_saturated_ms(rules->skew_ms, rules->linger_ms)) >=
		       from_ms;
}

enum access_answer ownership_judge(const struct ownership_rules *rules,
				   const struct ownership_run *runs, size_t count,
				   const struct ownership_answer_time *t,
				   int64_t from_ms, int64_t to_ms)
{
	bool old = t->age_ms >= rules->unknown_ms;
	bool own = false, open = false, foreign = false;

	if (t->age_ms >= rules->ownership_ms && t->age_ms > 0)
		return ACCESS_UNASKED;
	for (size_t i = 0; i < count; i++) {
		const struct ownership_run *r = &runs[i];

		if (r->own) {
			own = true;
			open = open || r->to_ms == INT64_MAX;
		} else if (foreign_meets(rules, r, from_ms, to_ms)) {
			foreign = true;
		}
	}
	if (foreign || !own) {
		if (old && t->age_ms > 0)
			return ACCESS_UNASKED;
		return count ? ACCESS_FOREIGN : ACCESS_UNKNOWN;
	}
	/* nothing in the future is read */
	if (to_ms > t->now_ms)
		to_ms = t->now_ms;
	if (!open && old && t->age_ms > 0 && to_ms > t->as_of_ms)
		return ACCESS_UNASKED;
	return ACCESS_OWN;
}

size_t ownership_fold(struct ownership_run *runs, size_t count)
{
	struct ownership_run all = {
		.from_ms = INT64_MAX, .to_ms = INT64_MIN, .own = true};
	bool own = false;

	if (count <= OWNERSHIP_RUNS_MAX)
		return count;
	for (size_t i = 0; i < count; i++) {
		if (runs[i].from_ms < all.from_ms)
			all.from_ms = runs[i].from_ms;
		if (runs[i].to_ms > all.to_ms)
			all.to_ms = runs[i].to_ms;
		all.own = all.own && runs[i].own;
		own = own || runs[i].own;
	}
	runs[0] = all;
	if (all.own || !own)
		return 1;
	/* outside of that time it stays one of the caller's */
	runs[1] = (struct ownership_run){all.from_ms, all.from_ms, true};
	return 2;
}

bool ownership_meets(const struct ownership_run *runs, size_t count, int64_t from_ms,
		     int64_t to_ms)
{
	for (size_t i = 0; i < count; i++)
		if (runs[i].own && runs[i].from_ms <= to_ms && runs[i].to_ms >= from_ms)
			return true;
	return false;
}
