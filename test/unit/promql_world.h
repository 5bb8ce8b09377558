/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_PROMQL_WORLD_H
#define CEEMS_TEST_PROMQL_WORLD_H

#include <regex.h>
#include <stdio.h>

#include "lb/promql/promql.h"

/* What a query reads, worked out in another way than by the proof: it is evaluated at a
 * time, subqueries at each of their steps, and each selector says which time it reads.
 */
struct world {
	int64_t start_ms, end_ms; /* of the query */
	int64_t lookback_ms;
	void (*read)(struct world *w, const struct promql_node *selector,
		     int64_t from_ms, int64_t to_ms);
};

static inline bool world_match(const struct promql_matcher *m, const char *value)
{
	char text[256];
	regex_t re;
	bool hit;

	if (m->match <= MATCH_NOT_EQUAL)
		return str_eq(m->value, value) == (m->match == MATCH_EQUAL);
	snprintf(text, sizeof(text), "^(%.*s)$", (int)m->value.len, m->value.p);
	if (regcomp(&re, text, REG_EXTENDED | REG_NOSUB))
		return true; /* not one for this engine: takes everything */
	hit = regexec(&re, value, 0, NULL, 0) == 0;
	regfree(&re);
	return hit == (m->match == MATCH_REGEX);
}

static inline void world_evaluate(struct world *w, const struct promql_node *n,
				  int64_t t);

static inline int64_t world_moved(const struct world *w, const struct promql_node *n,
				  int64_t t)
{
	if (n->at == AT_TIME)
		t = (int64_t)(n->at_s * 1000);
	if (n->at == AT_START)
		t = w->start_ms;
	if (n->at == AT_END)
		t = w->end_ms;
	return t - n->offset_ns / 1000000;
}

static inline void world_subquery(struct world *w, const struct promql_node *n,
				  int64_t t)
{
	int64_t step = n->step_ns ? n->step_ns / 1000000 : 60000;
	int64_t range = n->range_ns / 1000000, s;

	if (range / step > 12) /* not each of a thousand */
		step = range / 12;
	t = world_moved(w, n, t);
	for (s = t - range; s <= t; s += step)
		world_evaluate(w, n->expr, s);
	world_evaluate(w, n->expr, t);
}

/* so much before t, and what its modifier adds */
static inline void world_read(struct world *w, const struct promql_node *n, int64_t t,
			      int64_t range_ms)
{
	t = world_moved(w, n, t);
	w->read(w, n, t - range_ms - (n->extent == EXTENT_PLAIN ? 0 : w->lookback_ms),
		t + (n->extent == EXTENT_SMOOTHED ? w->lookback_ms : 0));
}

static inline void world_evaluate(struct world *w, const struct promql_node *n,
				  int64_t t)
{
	if (n->kind == PROMQL_SELECTOR) {
		world_read(w, n, t, n->extent == EXTENT_PLAIN ? w->lookback_ms : 0);
		return;
	}
	if (n->kind == PROMQL_RANGE) {
		world_read(w, n->expr, t, n->range_ns / 1000000);
		return;
	}
	if (n->kind == PROMQL_SUBQUERY) {
		world_subquery(w, n, t);
		return;
	}
	if (n->param)
		world_evaluate(w, n->param, t);
	for (const struct promql_node *e = n->expr; e; e = e->next)
		world_evaluate(w, e, t);
	if (n->right)
		world_evaluate(w, n->right, t);
}

#endif
