/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries by chance, from users by chance, while units begin, end, change hands and
 * their numbers are used again: what the gate sends on is evaluated against the world
 * as it is, and what it remembers is compared with a gate that remembers nothing. */
#include "lb/gate/gate.h"

#include "lb/gate/gate_impl.h"
#include "lb/promql/form.h"
#include "test/promql_random.h"
#include "test/unit/gate_lab.h"
#include "test/unit/promql_world.h"

#define QUERIES 100000u
#define RUNS 400u
#define IDS 8u
#define OWNERSHIP_MS 60000
#define UNKNOWN_MS 5000
#define LOOKBACK_MS (5 * LAB_MINUTE_MS)

static const char *const ids[IDS] = {"1", "2", "3", "4", "5", "6", "a.b-c", "8"};
static const char *const people[] = {"ann", "bob", "eve"};

/* The history: what ended is there for good, each id has one run at a time. */
struct history {
	struct lab_run runs[RUNS];
	int64_t changed_ms[IDS]; /* when the id last began, or ended */
	size_t count;
};

static unsigned index_of(const char *id)
{
	for (unsigned i = 0; i < IDS; i++)
		if (!strcmp(ids[i], id))
			return i;
	return 0;
}

static struct lab_run *running(struct history *h, const char *id)
{
	for (size_t i = h->count; i; i--)
		if (!strcmp(h->runs[i - 1].id, id) && h->runs[i - 1].to_ms == INT64_MAX)
			return &h->runs[i - 1];
	return NULL;
}

/* Something happens to one id. */
static void live(struct history *h, struct promql_random *r, int64_t now_ms)
{
	const char *id = ids[random_below(r, IDS)];
	struct lab_run *run = running(h, id);

	h->changed_ms[index_of(id)] = now_ms;
	if (run) {
		run->to_ms = now_ms;
		return;
	}
	if (h->count == RUNS) { /* the first half is forgotten by all */
		memmove(h->runs, h->runs + RUNS / 2, RUNS / 2 * sizeof(*h->runs));
		h->count = RUNS / 2;
	}
	h->runs[h->count++] = (struct lab_run){id, "alpha", people[random_below(r, 2)],
					       now_ms, INT64_MAX};
}

struct reads {
	struct world world;
	const char *user, *leak;
	const struct history *h;
	int64_t now_ms;
	unsigned own, late;
};

/* How old an answer may be that does not know of a run of somebody else: that of a unit
 * that ran on holds longer. */
static int64_t hold_ms(const struct reads *w, const char *id)
{
	for (size_t i = 0; i < w->h->count; i++) {
		const struct lab_run *r = &w->h->runs[i];

		if (!strcmp(r->id, id) && !strcmp(r->owner, w->user) &&
		    r->to_ms > w->now_ms - OWNERSHIP_MS)
			return OWNERSHIP_MS;
	}
	return UNKNOWN_MS;
}

static bool selects(const struct promql_node *n, const char *metric, const char *label,
		    const char *id)
{
	bool hit = !n->name.len || str_eq(n->name, metric);

	for (const struct promql_matcher *m = n->matchers; m && hit; m = m->next) {
		const char *v = "";

		if (str_eq(m->name, "__name__"))
			v = metric;
		else if (str_eq(m->name, label))
			v = id;
		else if (str_eq(m->name, "cluster"))
			v = "alpha";
		hit = world_match(m, v);
	}
	return hit;
}

static void read_series(struct world *world, const struct promql_node *n,
			int64_t from_ms, int64_t to_ms)
{
	struct reads *w = (struct reads *)world;

	for (size_t i = 0; i < w->h->count; i++) {
		const struct lab_run *r = &w->h->runs[i];

		if (r->from_ms > to_ms || r->to_ms < from_ms)
			continue;
		if (!selects(n, "ceems_x", "uuid", r->id) &&
		    !selects(n, "ceems_y", "uuid", r->id) &&
		    !selects(n, "DCGM_z", "hpc_job", r->id))
			continue;
		if (!strcmp(r->owner, w->user))
			w->own++;
		else if (r->from_ms > w->now_ms - hold_ms(w, r->id))
			w->late++;
		else
			w->leak = r->id;
	}
}

static void any_selector(void *arg, struct promql_random *r, struct buf *out)
{
	static const char *const names[] = {"ceems_x", "ceems_x", "ceems_y",
					    "DCGM_z",  "up",      "node_load1"};
	const char *name = names[random_below(r, 6)];
	const char *label = !strcmp(name, "DCGM_z") ? "hpc_job" : "uuid";
	const char *id = ids[random_below(r, IDS)], *other = ids[random_below(r, IDS)];

	(void)arg;
	buf_puts(out, name);
	switch (random_below(r, 12)) {
	case 0:
		break;
	case 1:
		buf_printf(out, "{%s=~\"%s.*\"}", label, id);
		break;
	case 2:
		buf_printf(out, "{%s!=\"%s\"}", label, id);
		break;
	case 3:
	case 4:
		buf_printf(out, "{%s=~\"%s|%s\"}", label, id, other);
		break;
	default:
		buf_printf(out, "{%s=\"%s\"}", label, id);
	}
}

/* What was sent, as a tree; NULL: it reads nothing. */
static struct promql *sent_query(const char *text)
{
	const char *body = strchr(text, ' ');
	auto_form struct form f = {0};
	struct promql *q = NULL;
	struct str v;

	if (!body || form_read(body + 1, strlen(body + 1), &f, NULL) ||
	    form_get(&f, "query", &v, NULL) != 1 ||
	    promql_parse(v.p, v.len, PROMQL_2, NULL, &q, NULL))
		return NULL;
	return q;
}

static unsigned ask(struct lab *l, const char *user, const char *expr, int64_t start_ms,
		    int64_t end_ms, struct lab_asked *a)
{
	static char form[32768];
	size_t n;

	lab_form(expr, form, sizeof(form) - 200);
	n = strlen(form);
	snprintf(form + n, sizeof(form) - n, "&start=%.3f&end=%.3f&step=600",
		 (double)start_ms / 1000, (double)end_ms / 1000);
	return lab_get(l, user, "/api/v1/query_range", form, a);
}

static void sent_reads(struct reads *w, const char *text)
{
	struct promql *q = sent_query(text);

	if (!q)
		fail_msg("not a query: %s", text);
	for (int64_t t = w->world.start_ms; t <= w->world.end_ms; t += 600000)
		world_evaluate(&w->world, promql_root(q), t);
	promql_free(q);
}

static bool changed_within(const struct history *h, int64_t now_ms, int64_t ms)
{
	for (unsigned i = 0; i < IDS; i++)
		if (h->changed_ms[i] > now_ms - ms)
			return true;
	return false;
}

static void set_history(struct lab *l, const struct history *h)
{
	pthread_mutex_lock(&l->mutex);
	l->runs = h->runs;
	l->run_count = h->count;
	pthread_mutex_unlock(&l->mutex);
}

static void what_is_remembered_is_what_would_be_decided_now(void **state)
{
	static struct history h;
	struct promql_random r = {
		.state = 20261122, .clean = true, .selector = any_selector};
	auto_buf struct buf text = BUF_INIT;
	struct lab l, fresh;
	unsigned asked = 0, allowed = 0, own = 0, late = 0, hits = 0;

	(void)state;
	lab_open(&l, h.runs, 0);
	lab_open(&fresh, h.runs, 0);
	while (asked < QUERIES) {
		struct reads w = {
			.world = {.read = read_series, .lookback_ms = LOOKBACK_MS},
			.user = people[random_below(&r, 3)],
			.h = &h};
		static struct lab_asked a, b;
		unsigned status, again;

		if (!random_below(&r, 8)) {
			int64_t ms = random_below(&r, 30) ? random_below(&r, 4000)
							  : random_below(&r, 3600000);

			lab_wait_ms(&l, ms);
			lab_wait_ms(&fresh, ms);
		}
		if (!random_below(&r, 20)) {
			/* both read it in their threads */
			pthread_mutex_lock(&l.mutex);
			pthread_mutex_lock(&fresh.mutex);
			live(&h, &r, l.now_ms);
			pthread_mutex_unlock(&fresh.mutex);
			pthread_mutex_unlock(&l.mutex);
			set_history(&l, &h);
			set_history(&fresh, &h);
		}
		/* the same text comes again and again */
		if (!text.len || random_below(&r, 3))
			promql_random(&r, &text);
		if (text.len > 2000)
			continue;
		w.now_ms = l.now_ms;
		w.world.end_ms = l.now_ms - (int64_t)random_below(&r, 3) * 1800000;
		w.world.start_ms =
			w.world.end_ms - (int64_t)random_below(&r, 3) * 1200000;
		status = ask(&l, w.user, text.data, w.world.start_ms, w.world.end_ms,
			     &a);
		if (status == 400)
			continue;
		asked++;
		hits += !a.waits;
		if (!status) {
			allowed++;
			sent_reads(&w, a.text);
			own += w.own;
		}
		/* but for runs that began within the time that an answer holds */
		if (w.leak)
			fail_msg("%s may read %s: %s", w.user, w.leak, text.data);
		late += w.late;
		if (random_below(&r, 4))
			continue;
		gate_set_site(fresh.gate, &fresh.site); /* which forgets all */
		again = ask(&fresh, w.user, text.data, w.world.start_ms, w.world.end_ms,
			    &b);
		if (!status && again && !changed_within(&h, l.now_ms, OWNERSHIP_MS))
			fail_msg("wider than a fresh one: %s", text.data);
		if (status && !again && !changed_within(&h, l.now_ms, UNKNOWN_MS + 1))
			fail_msg("still refused: %s %s", text.data, a.text);
		if (!again) {
			w.late = 0;
			sent_reads(&w, b.text);
			if (w.leak || w.late)
				fail_msg("fresh, %s: %s", w.user, text.data);
		}
	}
	print_message("%u allowed, %u series of their own, %u by memory, %u within the "
		      "time of an answer\n",
		      allowed, own, hits, late);
	assert_true(allowed > 3000 && own > 1000 && hits > QUERIES / 4);
	lab_close(&l);
	lab_close(&fresh);
}

/* ---- the same question at other times -------------------------------------------- */

#define PROOFS 60000u

static int64_t any_time(struct promql_random *r, const struct lab *l)
{
	switch (random_below(r, 12)) {
	case 0: /* round the ends of what may be evaluated, and of what is a time */
		return 4600000000000ll - (int64_t)random_below(r, 3600000);
	case 1:
		return 4600000000000ll + (int64_t)random_below(r, 3600000);
	case 2:
		return (int64_t)random_below(r, 1000000000);
	default:
		return l->now_ms - (int64_t)random_below(r, 7200000) + 600000;
	}
}

static void put_ms(struct buf *out, const char *name, int64_t ms)
{
	/* some with a fraction, some as whole seconds */
	if (ms % 3)
		buf_printf(out, "&%s=%lld", name, (long long)(ms / 1000));
	else
		buf_printf(out, "&%s=%lld.%03d", name, (long long)(ms / 1000),
			   (int)(ms % 1000));
}

static const struct {
	const char *path, *name;
	bool selectors; /* takes match[] */
} times_calls[] = {
	{"/api/v1/query_range", "query", false},
	{"/api/v1/query_range", "query", false},
	{"/api/v1/query", "query", false},
	{"/api/v1/query_exemplars", "query", false},
	{"/api/v1/series", "match[]", true},
	{"/api/v1/labels", "match%5B%5D", true},
	{"/api/v1/label/uuid/values", "match[]", true},
};
#define TIMES_CALLS (sizeof(times_calls) / sizeof(times_calls[0]))

/* The call's form but for its times. */
static void put_question(size_t call, const char *expr, struct buf *out)
{
	static char form[32768];

	lab_form(expr, form, sizeof(form));
	buf_reset(out);
	buf_printf(out, "%s=%s", times_calls[call].name, strchr(form, '=') + 1);
	if (call < 2)
		buf_puts(out, "&step=60");
}

static void put_any_times(size_t call, struct promql_random *r, const struct lab *l,
			  struct buf *out)
{
	int64_t start = any_time(r, l), end = start + (int64_t)random_below(r, 4000000);

	if (random_below(r, 20) == 0)
		end = start - 1000; /* refused */
	if (!strcmp(times_calls[call].path, "/api/v1/query")) {
		if (random_below(r, 3))
			put_ms(out, "time", start);
		return;
	}
	if (call < 2 || random_below(r, 4))
		put_ms(out, "start", start);
	if (call < 2 || random_below(r, 4))
		put_ms(out, "end", end);
}

/* Asked as it is, then with a parameter that no call has: that one was never asked
 * before, and is proved anew by what is known of the units at the same time. */
static void a_proof_of_another_time_is_the_proof_of_this_one(void **state)
{
	static struct history h;
	struct promql_random r = {
		.state = 20261123, .clean = true, .selector = any_selector};
	auto_buf struct buf text = BUF_INIT, form = BUF_INIT;
	struct lab l;
	unsigned asked = 0, allowed = 0, refused = 0, proofs = 0;
	uint64_t hits = 0;
	size_t question;

	(void)state;
	lab_open(&l, h.runs, 0);
	while (asked < PROOFS) {
		static struct lab_asked a, b;
		size_t call = random_below(&r, TIMES_CALLS);

		promql_random(&r, &text);
		if (times_calls[call].selectors) {
			buf_reset(&text);
			any_selector(NULL, &r, &text);
		}
		if (text.len > 2000)
			continue;
		put_question(call, text.data, &form);
		question = form.len;
		for (unsigned times = 2 + random_below(&r, 4); times; times--) {
			const char *user = people[random_below(&r, 3)];
			unsigned status, again;
			uint64_t before;

			lab_wait_ms(&l, random_below(&r, 4) ? random_below(&r, 40)
							    : random_below(&r, 90000));
			if (!random_below(&r, 10)) {
				pthread_mutex_lock(&l.mutex);
				live(&h, &r, l.now_ms);
				pthread_mutex_unlock(&l.mutex);
				set_history(&l, &h);
			}
			if (!random_below(&r, 500))
				gate_set_site(l.gate, &l.site); /* as SIGHUP does */
			buf_truncate(&form, question);
			put_any_times(call, &r, &l, &form);
			before = atomic_load(&l.gate->decision_hits);
			status = lab_get(&l, user, times_calls[call].path, form.data,
					 &a);
			hits += atomic_load(&l.gate->decision_hits) - before;
			buf_printf(&form, "&once=%u", ++asked);
			before = atomic_load(&l.gate->decision_hits);
			again = lab_get(&l, user, times_calls[call].path, form.data,
					&b);
			assert_true(atomic_load(&l.gate->decision_hits) == before);
			if (status != again || strcmp(a.text, b.text) != 0 ||
			    (!status && (a.from_ms != b.from_ms || a.to_ms != b.to_ms)))
				fail_msg("%s %s: %s: %u %s, proved anew %u %s",
					 times_calls[call].path, form.data, user,
					 status, a.text, again, b.text);
			allowed += !status;
			refused += status == 403;
			proofs++;
		}
	}
	print_message("%u allowed, %u refused, %llu of %u by a proof of another time\n",
		      allowed, refused, (unsigned long long)hits, proofs);
	assert_true(allowed > PROOFS / 10 && refused > PROOFS / 10 &&
		    hits > allowed / 3);
	lab_close(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_remembered_is_what_would_be_decided_now),
		cmocka_unit_test(a_proof_of_another_time_is_the_proof_of_this_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
