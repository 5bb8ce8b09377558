/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proof; read access.h first. Anything unknown is refused. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/access.h"
#include "lb/promql/access_metrics.h"
#include "lb/promql/claim_set.h"

struct access_plan {
	const struct access_policy *policy;
	struct claim_set claims;
	struct access_unconstrained *unconstrained;
	size_t filled;
	int64_t from_ms, to_ms; /* the range it reads; from > to: none */
	struct access_time_ranges time_ranges;
	bool is_wide, is_rounded; /* access_plan_widen() */
	int64_t step_ms;
	struct query {
		struct query *next;
		struct promql *q;
	} * queries;
};

struct walk {
	struct access_plan *p;
	struct promql *q;
	int64_t start_ms, end_ms; /* of the evaluation */
	int64_t around_ms;        /* extends the claims on both sides */
	int64_t step_ms;          /* of the part that is being walked */
	struct err *err;
};

/* The times of the query itself */
static const struct access_time_range whole = {.from = ACCESS_START, .to = ACCESS_END};

int access_plan_new(const struct access_policy *policy, struct access_plan **ret)
{
	struct access_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->policy = policy;
	p->from_ms = INT64_MAX;
	p->to_ms = INT64_MIN;
	p->time_ranges.far_ms = -1;
	*ret = p;
	return 0;
}

void access_plan_free(struct access_plan *p)
{
	if (!p)
		return;
	while (p->unconstrained) {
		struct access_unconstrained *g = p->unconstrained;

		p->unconstrained = g->next;
		free(g);
	}
	while (p->queries) {
		struct query *q = p->queries;

		p->queries = q->next;
		free(q);
	}
	claim_set_done(&p->claims);
	free(p);
}

/* ---- claims ---------------------------------------------------------------------- */

static int claim_unit(struct walk *w, struct str id,
		      const struct access_time_range *time_range)
{
	struct access_claim c = {.id = id, .time_range = *time_range};
	int rc;

	access_time_range_at(time_range, w->start_ms, w->end_ms, &c.from_ms, &c.to_ms);
	rc = claim_set_add(&w->p->claims, &c);
	if (rc == -E2BIG)
		return err_set(w->err, rc, "the query names more than %u units",
			       ACCESS_CLAIMS_MAX);
	return rc ? err_set(w->err, rc, "out of memory") : 0;
}

/* ---- which units a selector names ------------------------------------------------ */

struct naming {
	struct walk *w;
	struct access_time_range time_range;
	bool dry; /* only checks whether it is possible */
};

#define CLAIM_STEPS 8 /* hashing, and adding to a list */
#define WALK_STEPS                                                                     \
	4 /* of a part, each time: some are walked twice, parts of these too */

static int one_unit(void *arg, struct str id)
{
	struct naming *n = arg;
	const char *copy;
	int rc;

	if (!id.len)
		return -EINVAL; /* series without the label: of no unit, or of all */
	rc = steps_take(promql_steps(n->w->q), CLAIM_STEPS + id.len, n->w->err);
	if (rc || n->dry)
		return rc;
	copy = promql_keep(n->w->q, id.p, id.len);
	if (!copy)
		return err_set(n->w->err, -ENOMEM, "out of memory");
	return claim_unit(n->w, (struct str){copy, id.len}, &n->time_range);
}

static int refuse_node(struct walk *w, const struct promql_node *n, const char *what,
		       const char *label)
{
	struct str s = n->name;

	if (!s.len)
		s = (struct str){"{...}", 5};
	return err_set(w->err, -EACCES, "%.*s: %s%s%s%s",
		       s.len < 100 ? (int)s.len : 100, s.p, what, label ? ": add " : "",
		       label ?: "", label ? "=\"...\"" : "");
}

static int note_unconstrained(struct walk *w, struct promql_node *n, const char *label,
			      uint32_t units_max, int64_t from_ms, int64_t to_ms)
{
	struct access_unconstrained *g = calloc(1, sizeof(*g));

	if (!g)
		return err_set(w->err, -ENOMEM, "out of memory");
	*g = (struct access_unconstrained){.next = w->p->unconstrained,
					   .query = w->q,
					   .selector = n,
					   .label = label,
					   .units_max = units_max,
					   .from_ms = from_ms,
					   .to_ms = to_ms,
					   .around_ms = w->around_ms,
					   .filled = &w->p->filled};
	w->p->unconstrained = g;
	return 0;
}

void access_time_range_at(const struct access_time_range *time_range, int64_t start_ms,
			  int64_t end_ms, int64_t *ret_from_ms, int64_t *ret_to_ms)
{
	const int64_t bases[] = {
		[ACCESS_EPOCH] = 0, [ACCESS_START] = start_ms, [ACCESS_END] = end_ms};

	*ret_from_ms = bases[time_range->from] + time_range->from_ms;
	*ret_to_ms = bases[time_range->to] + time_range->to_ms;
}

bool access_same_time_range(const struct access_time_range *a,
			    const struct access_time_range *b)
{
	return a->from == b->from && a->to == b->to && a->from_ms == b->from_ms &&
	       a->to_ms == b->to_ms;
}

static void keep_time_range(struct access_time_ranges *r,
			    const struct access_time_range *time_range)
{
	for (size_t i = 0; i < r->count && i < ACCESS_TIME_RANGES_MAX; i++)
		if (access_same_time_range(&r->at[i], time_range))
			return;
	if (r->count < ACCESS_TIME_RANGES_MAX)
		r->at[r->count] = *time_range;
	if (r->count <= ACCESS_TIME_RANGES_MAX)
		r->count++;
}

const struct access_time_ranges *access_time_ranges(const struct access_plan *p)
{
	return &p->time_ranges;
}

static void widen_plan_range(struct walk *w, const struct access_time_range *time_range,
			     int64_t *ret_from_ms, int64_t *ret_to_ms)
{
	struct access_plan *p = w->p;

	access_time_range_at(time_range, w->start_ms, w->end_ms, ret_from_ms,
			     ret_to_ms);
	if (*ret_from_ms < p->from_ms)
		p->from_ms = *ret_from_ms;
	if (*ret_to_ms > p->to_ms)
		p->to_ms = *ret_to_ms;
	keep_time_range(&p->time_ranges, time_range);
}

bool access_span(const struct access_plan *p, int64_t *ret_from_ms, int64_t *ret_to_ms)
{
	if (p->from_ms > p->to_ms)
		return false;
	*ret_from_ms = p->from_ms;
	*ret_to_ms = p->to_ms;
	return true;
}

/* Proves a selector of these metrics; units_max: limit for narrowing it if it names no
 * unit */
static int prove_selector(struct walk *w, struct promql_node *n,
			  struct access_metrics m, uint32_t units_max,
			  struct access_time_range time_range)
{
	struct naming naming = {.w = w, .time_range = time_range};
	int64_t from_ms, to_ms;

	widen_plan_range(w, &time_range, &from_ms, &to_ms);
	naming.time_range.from_ms -= w->around_ms;
	naming.time_range.to_ms += w->around_ms;
	if (w->p->policy->open)
		return 0;
	if (m.rc == -E2BIG)
		return steps_take(promql_steps(w->q), 0, w->err);
	if (m.rc)
		return err_set(w->err, m.rc, "out of memory");
	if (!m.known)
		return refuse_node(
			w, n,
			m.count ? "this metric may not be read here"
				: "this names no metric: write its name before "
				  "the braces",
			NULL);
	if (m.operators)
		return refuse_node(
			w, n,
			"this metric is of a whole node or service, not of a "
			"unit: operators may read it",
			NULL);
	if (m.harmless)
		return 0;
	if (m.differ)
		return refuse_node(w, n,
				   "these metrics keep their units in different labels",
				   NULL);
	for (const struct promql_matcher *t = n->matchers; t; t = t->next) {
		int rc;

		if (!str_eq(t->name, m.label))
			continue;
		naming.dry = true;
		rc = access_values(t, one_unit, &naming);
		if (rc == -ENOMEM)
			return err_set(w->err, rc, "out of memory");
		if (rc == -E2BIG)
			return rc;
		if (rc < 0)
			continue;
		naming.dry = false;
		rc = access_values(t, one_unit, &naming);
		return rc < 0 ? rc : 0;
	}
	if (units_max)
		return note_unconstrained(w, n, m.label, units_max, from_ms, to_ms);
	return refuse_node(w, n, "this query selects units without naming them",
			   m.label);
}

/* ---- the time range of a selector ------------------------------------------------ */

#define TIME_MAX_MS ((int64_t)1 << 53)

static int64_t bound_time_ms(double ms)
{
	return ms > (double)TIME_MAX_MS    ? TIME_MAX_MS
	       : ms < -(double)TIME_MAX_MS ? -TIME_MAX_MS
					   : (int64_t)ms;
}

/* Evaluation times are limited to 1824 to 2115. Prometheus' engine computes time
 * differences as nanoseconds in 64 bits, which overflow at 292 years: beyond, @ and
 * offset would mean different times here and there. */
#define EVALUATED_MAX_MS 4600000000000ll

bool access_time_ranges_hold(int64_t far_ms, int64_t start_ms, int64_t end_ms)
{
	return far_ms < 0 ||
	       (far_ms <= EVALUATED_MAX_MS && start_ms >= far_ms - EVALUATED_MAX_MS &&
		end_ms <= EVALUATED_MAX_MS - far_ms);
}

static void keep_far(struct access_time_ranges *r, enum access_base base, int64_t ms)
{
	ms = ms < 0 ? -ms : ms;
	if (base != ACCESS_EPOCH && ms > r->far_ms)
		r->far_ms = ms;
}

static int check_evaluated(struct walk *w, const struct access_time_range *t)
{
	int64_t lo, hi;

	access_time_range_at(t, w->start_ms, w->end_ms, &lo, &hi);
	if (lo < -EVALUATED_MAX_MS || hi > EVALUATED_MAX_MS)
		return err_set(w->err, -ERANGE,
			       "the query is evaluated further than a century from "
			       "now");
	keep_far(&w->p->time_ranges, t->from, t->from_ms);
	keep_far(&w->p->time_ranges, t->to, t->to_ms);
	return 0;
}

/* Nanoseconds as milliseconds, rounded down */
static int64_t ms_of(int64_t ns)
{
	return ns / 1000000 - (ns % 1000000 < 0);
}

/* The same, rounded up */
static int64_t ms_above(int64_t ns)
{
	return ns / 1000000 + (ns % 1000000 > 0);
}

/* A duration that is still an expression: the proof needs numbers. */
static int check_fixed(struct walk *w, const struct promql_node *n)
{
	if (!n->range_expr && !n->step_expr && !n->offset_expr)
		return 0;
	return err_set(w->err, -EACCES,
		       "this query has a duration that was not worked out");
}

/* Evaluation times of n (a selector or subquery), after its @ and offset. Sums stay
 * small: they are checked at each step. */
static int shift_range(struct walk *w, const struct promql_node *n,
		       struct access_time_range *t)
{
	int rc = check_fixed(w, n);

	if (rc)
		return rc;
	if (n->at == AT_TIME) {
		t->from = t->to = ACCESS_EPOCH;
		t->from_ms = t->to_ms = bound_time_ms(n->at_s * 1000);
	} else if (n->at == AT_START || n->at == AT_END) {
		t->from = t->to = n->at == AT_START ? ACCESS_START : ACCESS_END;
		t->from_ms = t->to_ms = 0;
	}
	rc = check_evaluated(w, t);
	t->from_ms -= ms_above(n->offset_ns) + 1;
	t->to_ms -= ms_of(n->offset_ns) - 1;
	return rc ? rc : check_evaluated(w, t);
}

static int walk_node(struct walk *w, struct promql_node *n, struct access_time_range t);

/* Some selectors read beyond their range: "anchored" takes the sample before it,
 * "smoothed" those on both sides (promql/engine.go: getTimeRangesForSelector(),
 * matrixSelector()). */
static int extend_time_range(struct walk *w, const struct promql_node *n,
			     struct access_time_range *t)
{
	switch (n->extent) {
	case EXTENT_PLAIN:
		return 0;
	case EXTENT_ANCHORED:
		t->from_ms -= w->p->policy->lookback_ms;
		return 0;
	case EXTENT_SMOOTHED:
		t->from_ms -= w->p->policy->lookback_ms;
		t->to_ms += w->p->policy->lookback_ms;
		return 0;
	}
	return err_set(w->err, -EACCES, "this query has a modifier that is not known");
}

#define INSTANT_STEP_MS 300000 /* VictoriaMetrics' step of an instant query */
#define SILENCE_MS 300000      /* what it fetches before each range */
#define SUBQUERY_STEP_MS 60000 /* others' step of a subquery without one */

void access_plan_widen(struct access_plan *p, bool is_range, int64_t step_ms)
{
	p->is_wide = true;
	p->is_rounded = is_range;
	p->step_ms = is_range ? step_ms : INSTANT_STEP_MS;
}

static int64_t silence_ms(const struct walk *w)
{
	int64_t lookback_ms = w->p->policy->lookback_ms;

	return lookback_ms > SILENCE_MS ? lookback_ms : SILENCE_MS;
}

/* How long before its time a selector of reach_ms is read */
static int64_t wide_reach(const struct walk *w, int64_t reach_ms)
{
	if (!w->p->is_wide)
		return reach_ms;
	return (reach_ms > w->step_ms ? reach_ms : w->step_ms) + silence_ms(w);
}

static int walk_selector(struct walk *w, struct promql_node *n, int64_t reach_ms,
			 struct access_time_range t)
{
	const struct access_policy *policy = w->p->policy;
	int rc = shift_range(w, n, &t);

	t.from_ms -= wide_reach(w, reach_ms);
	rc = rc ? rc : extend_time_range(w, n, &t);
	return rc ? rc
		  : prove_selector(w, n, access_metrics_of(policy, w->q, n),
				   policy->inject_max, t);
}

/* The selector in timestamp(selector) or start_timestamp(selector); NULL: another
 * call */
static struct promql_node *find_stamped_selector(const struct promql_node *call)
{
	const char *name = promql_function_name(call->function);
	struct promql_node *n = call->expr;

	if (strcmp(name, "timestamp") != 0 && strcmp(name, "start_timestamp") != 0)
		return NULL;
	while (n && n->kind == PROMQL_PAREN)
		n = n->expr;
	return n && n->kind == PROMQL_SELECTOR ? n : NULL;
}

/* With an @, Prometheus' timestamp() ignores the selector's offset when it evaluates
 * (promql/engine.go: rangeEvalTimestampFunctionOverVectorSelector()), but not when it
 * queries its storage: if that returns more than was asked for, both times are read. */
static int walk_stamped(struct walk *w, struct promql_node *n,
			struct access_time_range t)
{
	struct promql_node plain = *n;
	struct access_time_range still = t;
	int rc = shift_range(w, n, &t);

	plain.offset_ns = 0;
	rc = rc ? rc : shift_range(w, &plain, &still);
	/* both start from the @ */
	if (still.from_ms < t.from_ms)
		t.from_ms = still.from_ms;
	if (still.to_ms > t.to_ms)
		t.to_ms = still.to_ms;
	t.from_ms -= wide_reach(w, w->p->policy->lookback_ms);
	rc = rc ? rc : extend_time_range(w, n, &t);
	return rc ? rc
		  : prove_selector(w, n, access_metrics_of(w->p->policy, w->q, n),
				   w->p->policy->inject_max, t);
}

static int walk_subquery(struct walk *w, struct promql_node *n,
			 struct access_time_range t)
{
	int rc = shift_range(w, n, &t);
	int64_t outer_ms = w->step_ms;

	t.from_ms -= ms_above(n->range_ns);
	if (w->p->is_wide) { /* rounded to whole steps, and begins a step before */
		w->step_ms = n->step_ns                    ? ms_above(n->step_ns)
			     : outer_ms > SUBQUERY_STEP_MS ? outer_ms
							   : SUBQUERY_STEP_MS;
		t.from_ms -= 2 * w->step_ms + silence_ms(w);
		t.to_ms += 2 * w->step_ms;
	}
	rc = rc ? rc : walk_node(w, n->expr, t);
	w->step_ms = outer_ms;
	return rc;
}

static bool is_hidden(const struct access_policy *policy, const struct promql_node *n)
{
	while (n->kind == PROMQL_PAREN)
		n = n->expr;
	for (size_t i = 0; i < policy->hidden_count; i++) {
		if (n->kind == PROMQL_STRING_LITERAL &&
		    str_eq(n->string, policy->hidden[i]))
			return true;
	}
	return false;
}

/* label_replace(v, to, how, from, re) and label_join(v, to, how, from...) */
static int check_copies(struct walk *w, const struct promql_node *n)
{
	const char *name = promql_function_name(n->function);
	const struct promql_node *a = n->expr;

	if (!w->p->policy->hidden_count ||
	    (strcmp(name, "label_replace") != 0 && strcmp(name, "label_join") != 0))
		return 0;
	for (size_t i = 0; a; a = a->next, i++) {
		if (i >= 3 && is_hidden(w->p->policy, a))
			return err_set(w->err, -EACCES,
				       "%s: this copies a label that is hidden here",
				       name);
	}
	return 0;
}

static int walk_part(struct walk *w, struct promql_node *n, struct access_time_range t)
{
	int rc = steps_take(promql_steps(w->q), WALK_STEPS, w->err);

	if (rc)
		return rc;
	switch (n->kind) {
	case PROMQL_NUMBER_LITERAL:
	case PROMQL_STRING_LITERAL:
		return 0;
	case PROMQL_SELECTOR:
		return walk_selector(w, n, w->p->policy->lookback_ms, t);
	case PROMQL_RANGE:
		rc = check_fixed(w, n);
		return rc ? rc : walk_selector(w, n->expr, ms_above(n->range_ns), t);
	case PROMQL_SUBQUERY:
		return walk_subquery(w, n, t);
	case PROMQL_PAREN:
	case PROMQL_UNARY:
		return walk_node(w, n->expr, t);
	case PROMQL_BINARY:
		/* filled-in values are numbers, which read nothing */
		if ((n->fill_left && n->fill_left->kind != PROMQL_NUMBER_LITERAL) ||
		    (n->fill_right && n->fill_right->kind != PROMQL_NUMBER_LITERAL))
			break;
		rc = walk_node(w, n->expr, t);
		return rc ? rc : walk_node(w, n->right, t);
	case PROMQL_AGGREGATE:
		rc = n->param ? walk_node(w, n->param, t) : 0;
		return rc ? rc : walk_node(w, n->expr, t);
	case PROMQL_DURATION_CALL:
		break;
	case PROMQL_CALL:
		/* info() joins metrics that its selectors do not name */
		if (!w->p->policy->open &&
		    !strcmp(promql_function_name(n->function), "info"))
			return err_set(w->err, -EACCES,
				       "info() reads metrics that the query does not "
				       "name: join them by name instead");
		if (find_stamped_selector(n) && find_stamped_selector(n)->at != AT_NONE)
			return walk_stamped(w, find_stamped_selector(n), t);
		rc = check_copies(w, n);
		for (struct promql_node *a = n->expr; a && !rc; a = a->next)
			rc = walk_node(w, a, t);
		return rc;
	}
	return err_set(w->err, -EACCES, "this query has a part that is not known");
}

/* What of n, if anything, has an @ */
static struct promql_node *find_pinned(struct promql_node *n)
{
	struct promql_node *pinned = n->kind == PROMQL_RANGE  ? n->expr
				     : n->kind == PROMQL_CALL ? find_stamped_selector(n)
							      : n;

	return pinned && pinned->at != AT_NONE ? pinned : NULL;
}

/* VictoriaMetrics ignores the @ of a whole instant query that is a range or a subquery
 * (app/vmselect/promql/parser.go: IsRollup()), and takes start() and end() for those of
 * the subquery around them. So of such servers all that has an @ is proved with it and
 * without. */
static int walk_node(struct walk *w, struct promql_node *n, struct access_time_range t)
{
	struct promql_node *pinned = w->p->is_wide ? find_pinned(n) : NULL;
	int rc = walk_part(w, n, t);

	if (!pinned || rc)
		return rc;
	enum promql_at at = pinned->at;
	pinned->at = AT_NONE;
	rc = walk_part(w, n, t);
	pinned->at = at;
	return rc;
}

static int keep_query(struct access_plan *p, struct promql *query, struct err *err)
{
	struct query *q = calloc(1, sizeof(*q));

	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	q->q = query;
	q->next = p->queries;
	p->queries = q;
	return 0;
}

int access_plan_add(struct access_plan *p, struct promql *query, int64_t start_ms,
		    int64_t end_ms, struct err *err)
{
	struct walk w = {.p = p,
			 .q = query,
			 .start_ms = start_ms,
			 .end_ms = end_ms,
			 .step_ms = p->step_ms,
			 .err = err};
	struct access_time_range t = whole;
	int rc;

	if (start_ms > end_ms || start_ms < -TIME_MAX_MS || end_ms > TIME_MAX_MS)
		return err_set(err, -ERANGE, "the query's time ends before it begins");
	/* its ranges depend on the times, so they do not just shift with them */
	if (promql_depends_on_times(query))
		p->time_ranges.count = ACCESS_TIME_RANGES_MAX + 1;
	rc = keep_query(p, query, err);
	if (p->is_rounded) {
		t.from_ms -= p->step_ms;
		t.to_ms += p->step_ms;
	}
	return rc ? rc : walk_node(&w, promql_root(query), t);
}

/* VictoriaMetrics (lib/storage: maxDaysForPerDaySearch) answers from its index of days,
 * of more than 40 of them from that of all time. So it depends on the length. */
#define INDEX_MS (39ll * 24 * 3600 * 1000)
#define EVER_MS (200ll * 366 * 24 * 3600 * 1000)

static int64_t index_around_ms(struct access_plan *p, int64_t from_ms, int64_t to_ms,
			       int64_t around_ms)
{
	if (!p->is_wide || !around_ms)
		return around_ms;
	p->time_ranges.count = ACCESS_TIME_RANGES_MAX + 1;
	return to_ms - from_ms > INDEX_MS ? EVER_MS : around_ms;
}

int access_plan_add_selectors(struct access_plan *p, struct promql *query,
			      int64_t from_ms, int64_t to_ms, int64_t around_ms,
			      struct err *err)
{
	struct walk w = {.p = p,
			 .q = query,
			 .start_ms = from_ms,
			 .end_ms = to_ms,
			 .around_ms = index_around_ms(p, from_ms, to_ms, around_ms),
			 .err = err};
	struct access_time_range time_range = whole;
	int rc;

	if (from_ms > to_ms || from_ms < -TIME_MAX_MS || to_ms > TIME_MAX_MS)
		return err_set(err, -ERANGE, "the query's time ends before it begins");
	rc = keep_query(p, query, err);
	time_range.from_ms -= p->policy->lookback_ms;
	for (struct promql_node *n = promql_selectors(query); n && !rc;
	     n = n->next_selector)
		rc = prove_selector(&w, n, access_metrics_of(p->policy, query, n),
				    p->policy->inject_max, time_range);
	return rc;
}

int access_plan_add_profiles(struct access_plan *p, struct promql *selector,
			     struct str type, bool narrow, int64_t from_ms,
			     int64_t to_ms, struct err *err)
{
	const struct access_policy *policy = p->policy;
	struct walk w = {.p = p, .q = selector, .err = err};
	const struct access_time_range fixed = {.from_ms = from_ms, .to_ms = to_ms};
	int rc;

	if (from_ms > to_ms || from_ms < -TIME_MAX_MS || to_ms > TIME_MAX_MS)
		return err_set(err, -ERANGE, "the query's time ends before it begins");
	rc = keep_query(p, selector, err);
	return rc ? rc
		  : prove_selector(
			    &w, promql_root(selector), access_profiles_of(policy, type),
			    narrow ? policy->narrow_max : policy->inject_max, fixed);
}

/* ---- all metrics of a family ----------------------------------------------------- */

static bool is_family_prefix(const struct access_family *f)
{
	size_t n = strlen(f->metric);

	return n && f->metric[n - 1] == '*';
}

void access_family_selector(const struct access_family *f, struct buf *out)
{
	size_t n = strlen(f->metric);

	if (is_family_prefix(f)) {
		buf_puts(out, "{__name__=~\"");
		buf_put(out, f->metric, n - 1);
		buf_puts(out, ".*\"}");
	} else {
		buf_printf(out, "{__name__=\"%s\"}", f->metric);
	}
}

/* Whether a metric of f may belong to an earlier family with another label, or to a
 * closed one while f is not narrowed. */
static bool is_family_overlapped(const struct access_policy *policy, size_t i)
{
	const struct access_family *f = &policy->families[i];
	size_t n = strlen(f->metric) - is_family_prefix(f);

	for (size_t k = 0; k < i; k++) {
		const struct access_family *g = &policy->families[k];
		size_t m = strlen(g->metric) - is_family_prefix(g);
		bool meet = memcmp(f->metric, g->metric, n < m ? n : m) == 0 &&
			    (n < m   ? is_family_prefix(f)
			     : n > m ? is_family_prefix(g)
				     : true);

		if (meet && g->label && (!f->label || strcmp(f->label, g->label) != 0))
			return true;
		if (meet && g->operators && !f->label)
			return true;
	}
	return false;
}

int access_plan_add_family(struct access_plan *p, struct promql *query, size_t i,
			   int64_t from_ms, int64_t to_ms, int64_t around_ms,
			   struct err *err)
{
	const struct access_family *f = &p->policy->families[i];
	struct walk w = {.p = p,
			 .q = query,
			 .start_ms = from_ms,
			 .end_ms = to_ms,
			 .around_ms = index_around_ms(p, from_ms, to_ms, around_ms),
			 .err = err};
	struct promql_node *n = promql_root(query);
	auto_buf struct buf want = BUF_INIT, is = BUF_INIT;
	int rc;

	if (f->operators)
		return -ENODATA;
	access_family_selector(f, &want);
	promql_print(query, &is);
	if (buf_error(&want) || buf_error(&is))
		return err_set(err, -ENOMEM, "out of memory");
	if (is_family_overlapped(p->policy, i) || strcmp(want.data, is.data) != 0)
		return -ENODATA;
	rc = keep_query(p, query, err);
	widen_plan_range(&w, &whole, &from_ms, &to_ms);
	if (rc || !f->label || p->policy->open)
		return rc;
	if (!p->policy->narrow_max)
		return refuse_node(&w, n, "this selects units without naming them",
				   f->label);
	return note_unconstrained(&w, n, f->label, p->policy->narrow_max, from_ms,
				  to_ms);
}

/* ---- the decision ---------------------------------------------------------------- */

struct access_claim *access_claims(struct access_plan *p, size_t *ret_count)
{
	*ret_count = p->claims.count;
	return p->claims.claims;
}

struct access_unconstrained *access_unconstrained_first(struct access_plan *p)
{
	return p->unconstrained;
}

static void put_literal(struct buf *out, struct str s)
{
	for (uint32_t i = 0; i < s.len; i++) {
		if (s.p[i] && strchr("\\.+*?()|[]{}^$", s.p[i]))
			buf_putc(out, '\\');
		buf_putc(out, s.p[i]);
	}
}

#define GAP_BYTES 64u /* work for one gap without any unit */

/* A short text may have thousands of selectors, each of which is given all units. */
static int count_filling(const struct access_unconstrained *unconstrained,
			 const struct str *ids, size_t count, struct err *err)
{
	size_t bytes = GAP_BYTES;

	for (size_t i = 0; i < count; i++)
		bytes += ids[i].len + 1;
	if (bytes > ACCESS_FILL_MAX - *unconstrained->filled)
		return err_set(
			err, -E2BIG,
			"with your units in all of these selectors the query is longer "
			"than %zu KiB: name some units, or use fewer selectors",
			ACCESS_FILL_MAX >> 10);
	*unconstrained->filled += bytes;
	return 0;
}

int access_fill(struct access_unconstrained *unconstrained, const struct str *ids,
		size_t count, struct err *err)
{
	auto_buf struct buf re = BUF_INIT;
	int rc;

	if (count > unconstrained->units_max)
		return err_set(err, -E2BIG,
			       "you have %zu units in that time, more than %u: name "
			       "some, or ask for less time",
			       count, unconstrained->units_max);
	rc = count_filling(unconstrained, ids, count, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_putc(&re, '|');
		put_literal(&re, ids[i]);
	}
	/* no unit has this id: nothing is selected */
	if (!count)
		buf_puts(&re, "-");
	rc = buf_error(&re);
	rc = rc ? rc
		: promql_add_matcher(unconstrained->query, unconstrained->selector,
				     count ? MATCH_REGEX : MATCH_EQUAL,
				     unconstrained->label, re.data, re.len);
	if (rc)
		return err_set(err, rc, "out of memory");
	unconstrained->label = NULL;
	return 0;
}

static int judge_claim(const struct access_claim *c, struct err *err)
{
	int len = c->id.len < 80 ? (int)c->id.len : 80;

	switch (c->answer) {
	case ACCESS_OWN:
		return 0;
	case ACCESS_UNKNOWN:
		return err_set(err, -EACCES,
			       "unit %.*s is not known yet: try again in a few seconds",
			       len, c->id.p);
	case ACCESS_NO_ID:
		return err_set(
			err, -EACCES,
			"no unit is called \"%.*s\": ids have letters, digits and "
			". _ : + - only",
			len, c->id.p);
	case ACCESS_FOREIGN:
		return err_set(err, -EACCES, "unit %.*s is not yours", len, c->id.p);
	case ACCESS_UNASKED:
		break;
	}
	return err_set(err, -EACCES, "the owner of unit %.*s could not be determined",
		       len, c->id.p);
}

int access_decide(struct access_plan *p, struct err *err)
{
	const struct access_policy *policy = p->policy;

	for (size_t i = 0; i < p->claims.count; i++) {
		int rc = judge_claim(&p->claims.claims[i], err);

		if (rc)
			return rc;
	}
	for (const struct access_unconstrained *g = p->unconstrained; g; g = g->next)
		if (g->label)
			return err_set(
				err, -EACCES,
				"the list of your units could not be determined");
	for (struct query *q = p->queries; q && policy->cluster_label; q = q->next)
		for (struct promql_node *n = promql_selectors(q->q); n;
		     n = n->next_selector)
			if (promql_add_matcher(q->q, n, MATCH_EQUAL,
					       policy->cluster_label, policy->cluster,
					       strlen(policy->cluster)))
				return err_set(err, -ENOMEM, "out of memory");
	return 0;
}
