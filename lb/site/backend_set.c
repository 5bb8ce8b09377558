/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The choice of a server. Servers that hold the same time are a tier and share its
 * load; tiers are tried in the order of the file. There is no lock: a choice is made on
 * the current state, and claimed by counting it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lb/site/backend_impl.h"
#include "lib/cleanup.h"
#include "lib/rfc3339.h"

#define SLOW_START_TENTHS 1 /* initial share of a server that came back */
#define WEIGHT_ONE 256u
#define EVER_MS 253402300799000ll /* the end of the year 9999, as no end is read */

struct tier {
	uint64_t retention_ms;
	int64_t from_ms, to_ms;
	_Alignas(64) atomic_uint cursor;
	size_t count;
	struct backend_server *servers[BACKENDS_MAX];
};

struct backend_set {
	enum backend_strategy strategy;
	size_t count, tier_count;
	struct backend_server *servers[BACKENDS_MAX]; /* held, in the file's order */
	struct tier *tiers[BACKENDS_MAX];
};

static struct tier *tier_of(struct backend_set *set, const struct backend_params *p)
{
	for (size_t i = 0; i < set->tier_count; i++) {
		struct tier *t = set->tiers[i];

		if (t->retention_ms == p->retention_ms && t->from_ms == p->from_ms &&
		    t->to_ms == p->to_ms)
			return t;
	}
	struct tier *t = aligned_alloc(_Alignof(struct tier), sizeof(*t));
	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->retention_ms = p->retention_ms;
	t->from_ms = p->from_ms;
	t->to_ms = p->to_ms;
	set->tiers[set->tier_count++] = t;
	return t;
}

int backend_set_new(enum backend_strategy strategy, struct backend *const *servers,
		    size_t count, struct backend_set **ret, struct err *err)
{
	struct backend_set *set = calloc(1, sizeof(*set));

	for (size_t i = 0; set && i < count; i++)
		set->servers[set->count++] = backend_server(servers[i]);
	for (size_t i = 0; set && i < count; i++) {
		struct backend_server *s = set->servers[i];
		struct tier *t = tier_of(set, &s->p);

		if (!t) {
			backend_set_free(set);
			return err_set(err, -ENOMEM, "out of memory");
		}
		t->servers[t->count++] = s;
	}
	if (!set) {
		for (size_t i = 0; i < count; i++)
			backend_unref(servers[i]);
		return err_set(err, -ENOMEM, "out of memory");
	}
	set->strategy = strategy;
	*ret = set;
	return 0;
}

void backend_set_free(struct backend_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->tier_count; i++)
		free(set->tiers[i]);
	for (size_t i = 0; i < set->count; i++)
		backend_unref(&set->servers[i]->pub);
	free(set);
}

size_t backend_set_count(const struct backend_set *set)
{
	return set->count;
}

struct backend_server *backend_set_at(const struct backend_set *set, size_t i)
{
	return set->servers[i];
}

/* Not known yet: nobody says that it is Prometheus. */
#define DIALECT_UNKNOWN ((enum promql_dialect)(PROMQL_2 | PROMQL_OTHER))

static enum promql_dialect server_dialect(const struct backend_server *s)
{
	int seen = atomic_load_explicit(&s->seen_dialect, memory_order_relaxed);

	return seen < 0 ? DIALECT_UNKNOWN : (enum promql_dialect)seen;
}

enum promql_dialect backend_set_dialect(const struct backend_set *set)
{
	enum promql_dialect all = DIALECT_UNKNOWN, well = DIALECT_UNKNOWN;
	bool some = false;

	for (size_t i = 0; i < set->count; i++) {
		struct backend_server *s = set->servers[i];
		enum promql_dialect d = server_dialect(s);

		all = i ? promql_older(all, d) : d;
		if (atomic_load_explicit(&s->down, memory_order_relaxed))
			continue;
		well = some ? promql_older(well, d) : d;
		some = true;
	}
	return some ? well : all;
}

/* ---- time ------------------------------------------------------------------------ */

/* The earliest time that a tier holds. */
static int64_t begin_of(const struct tier *t, int64_t now_ms)
{
	int64_t from = t->from_ms;

	if (t->retention_ms && now_ms - (int64_t)t->retention_ms > from)
		from = now_ms - (int64_t)t->retention_ms;
	return from;
}

static bool tier_holds_range(const struct tier *t, int64_t from_ms, int64_t to_ms,
			     int64_t now_ms)
{
	return from_ms >= begin_of(t, now_ms) && to_ms <= t->to_ms;
}

/* For a request without a time: the tier that holds most. */
static const struct tier *find_longest_tier(const struct backend_set *set,
					    int64_t now_ms)
{
	const struct tier *best = set->tiers[0];

	for (size_t i = 1; i < set->tier_count; i++) {
		const struct tier *t = set->tiers[i];
		bool open = t->to_ms == INT64_MAX, best_open = best->to_ms == INT64_MAX;

		if (open != best_open ? open
				      : begin_of(t, now_ms) < begin_of(best, now_ms))
			best = t;
	}
	return best;
}

static bool tier_fits_range(const struct backend_set *set, const struct tier *t,
			    int64_t from_ms, int64_t to_ms, int64_t now_ms)
{
	if (from_ms <= 0 && to_ms >= EVER_MS)
		return tier_holds_range(t, from_ms, to_ms, now_ms) ||
		       t == find_longest_tier(set, now_ms);
	return tier_holds_range(t, from_ms, to_ms, now_ms);
}

static void print_time(int64_t ms, char ret[RFC3339_BYTES])
{
	rfc3339_print(ms > 0 ? (uint64_t)ms / 1000 : 0, ret);
}

static int say_nobody_holds(const struct backend_set *set, int64_t from_ms,
			    int64_t to_ms, int64_t now_ms, struct err *err)
{
	char from[RFC3339_BYTES], to[RFC3339_BYTES], begin[RFC3339_BYTES];
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < set->tier_count; i++) {
		int64_t b = begin_of(set->tiers[i], now_ms);
		first = b < first ? b : first;
	}
	print_time(from_ms, from);
	print_time(to_ms, to);
	print_time(first, begin);
	return err_set(err, -ERANGE,
		       "no server holds all of %s to %s: the oldest data begin at %s; "
		       "ask for a shorter time",
		       from, to, begin);
}

/* ---- choice ---------------------------------------------------------------------- */

/* 26 to 256: a server that came back is not overwhelmed by all waiting requests. */
static unsigned server_weight(const struct backend_server *s, int64_t boot_ms)
{
	int64_t since = atomic_load_explicit(&s->since_ms, memory_order_relaxed);
	uint32_t all = s->p.care.slow_start_ms;

	if (!since || !all || boot_ms - since >= all)
		return WEIGHT_ONE;
	unsigned first = WEIGHT_ONE * SLOW_START_TENTHS / 10 + 1;
	int64_t been = boot_ms > since ? boot_ms - since : 0;
	return first + (unsigned)((int64_t)(WEIGHT_ONE - first) * been / all);
}

struct choice {
	enum backend_strategy strategy;
	const struct backend_need *need;
	int64_t boot_ms;
	bool ejected_too;
	bool full;  /* one was skipped because it is at its limit */
	bool other; /* or because it may read more than was proved */
};

static bool may_choose_server(struct choice *c, const struct backend_server *s)
{
	if (&s->pub == c->need->not_this ||
	    atomic_load_explicit(&s->down, memory_order_relaxed))
		return false;
	if ((unsigned)server_dialect(s) & ~(unsigned)c->need->dialect & PROMQL_OTHER) {
		c->other = true;
		return false;
	}
	return c->ejected_too ||
	       atomic_load_explicit(&s->until_ms, memory_order_relaxed) <= c->boot_ms;
}

/* Counts one more request, unless that exceeds the limit. */
static bool take_server(struct backend_server *s)
{
	unsigned max = s->p.max_requests;
	unsigned n = atomic_fetch_add_explicit(&s->in_flight, 1, memory_order_acquire);

	if (!max || n < max)
		return true;
	atomic_fetch_sub_explicit(&s->in_flight, 1, memory_order_relaxed);
	return false;
}

/* A pseudo-random number of 0-255, new for each turn */
static unsigned roll_dice(unsigned turn)
{
	return (turn * 2654435761u) >> 24;
}

static size_t in_turn(const struct choice *c, struct backend_server *const *list,
		      size_t n, unsigned turn)
{
	size_t first = turn % n;

	for (size_t k = 0; k < n; k++) {
		size_t i = (first + k) % n;

		if (roll_dice(turn + (unsigned)k) < server_weight(list[i], c->boot_ms))
			return i;
	}
	return first;
}

static size_t least_busy(const struct choice *c, struct backend_server *const *list,
			 size_t n, unsigned turn)
{
	uint64_t least = UINT64_MAX;
	size_t best = 0;

	for (size_t k = 0; k < n; k++) {
		size_t i = (turn + k) % n;
		uint64_t busy = atomic_load_explicit(&list[i]->in_flight,
						     memory_order_relaxed) +
				1ull;

		busy = busy * WEIGHT_ONE * WEIGHT_ONE /
		       server_weight(list[i], c->boot_ms);
		if (busy < least) {
			least = busy;
			best = i;
		}
	}
	return best;
}

static struct backend_server *choose_server(struct choice *c, struct tier *t)
{
	struct backend_server *list[BACKENDS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (may_choose_server(c, t->servers[i]))
			list[n++] = t->servers[i];
	}
	if (!n)
		return NULL;
	unsigned turn = atomic_fetch_add_explicit(&t->cursor, 1, memory_order_relaxed);
	while (n) {
		size_t i = c->strategy == STRATEGY_LEAST_CONNECTION
				   ? least_busy(c, list, n, turn)
				   : in_turn(c, list, n, turn);
		if (take_server(list[i]))
			return list[i];
		c->full = true;
		list[i] = list[--n];
	}
	return NULL;
}

int backend_pick_at(struct backend_set *set, const struct backend_need *need,
		    int64_t boot_ms, struct backend **ret, struct err *err)
{
	struct choice c = {.strategy = set->strategy, .need = need, .boot_ms = boot_ms};
	bool held = false;

	/* Servers that failed recently are used only if there are no others: passive
	 * signs alone never cause an outage. */
	for (int pass = 0; pass < 2; pass++) {
		c.ejected_too = pass;
		for (size_t i = 0; i < set->tier_count; i++) {
			struct tier *t = set->tiers[i];

			if (!tier_fits_range(set, t, need->from_ms, need->to_ms,
					     need->now_ms))
				continue;
			held = true;
			struct backend_server *s = choose_server(&c, t);
			if (s) {
				*ret = backend_ref(&s->pub);
				return 0;
			}
		}
		if (!held)
			return say_nobody_holds(set, need->from_ms, need->to_ms,
						need->now_ms, err);
	}
	if (c.full)
		return err_set(err, -EBUSY,
			       "the servers behind this one are at their limit of "
			       "requests: try again");
	if (c.other)
		return err_set(err, -EBUSY,
			       "the servers behind this one have changed since the "
			       "request came: try again");
	return err_set(err, -EHOSTUNREACH, "no server behind this one answers");
}

int backend_pick(struct backend_set *set, const struct backend_need *need,
		 struct backend **ret, struct err *err)
{
	return backend_pick_at(set, need, backend_boot_ms(), ret, err);
}
