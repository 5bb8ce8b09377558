/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions: made by those who serve, asked by the crew, shared by all who want to know
 * the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/owned_impl.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/siphash.h"

/* A question that has been under way for longer is not joined any more: its answer
 * would be older than one that is asked for now. */
#define JOIN_MS 1000u

struct owned_question {
	struct crew_job job;
	struct owned *o;
	atomic_uint refs;
	/* until it is answered: under o->mutex */
	struct owned_question *next;
	struct owned_waiter *waiters;
	bool begun;
	uint64_t boot_ms;
	int64_t as_of_ms;

	struct owned_ask ask;
	struct buf key, text; /* text: of login, cluster, ids */
	struct str *ids;
	struct site *site;
	uint64_t generation;
	struct owned_rules rules;
	/* the answer; nobody reads before wake() */
	int rc;
	struct err err;
	struct owned_answer answer;
};

static void clock_of(const struct owned *o, int64_t *now_ms, uint64_t *boot_ms)
{
	if (o->params.clock) {
		o->params.clock(o->params.arg, now_ms, boot_ms);
		return;
	}
	*now_ms = (int64_t)(clock_realtime_ns() / NSEC_PER_MSEC);
	*boot_ms = clock_boottime_ns() / NSEC_PER_MSEC;
}

void owned_question_drop(struct owned_question *q)
{
	if (!q || atomic_fetch_sub(&q->refs, 1) > 1)
		return;
	owned_answer_done(&q->answer);
	buf_done(&q->key);
	buf_done(&q->text);
	free(q->ids);
	if (q->site)
		site_drop(q->site);
	free(q);
}

/* ---- asking ---------------------------------------------------------------------- */

static int ask(struct owned_question *q, void **mine, const atomic_bool *stop)
{
	struct owned *o = q->o;
	auto_buf struct buf body = {.max = OWNED_ANSWER_BYTES_MAX};
	int rc;

	if (atomic_load(stop))
		return err_set(&q->err, -EHOSTDOWN, "the load balancer is stopping");
	rc = o->params.ask ? o->params.ask(o->params.arg, &q->ask, &body, &q->err)
			   : owned_link_ask((struct owned_link **)mine, &q->site->api,
					    q->generation, o->params.user_agent, stop,
					    &q->ask, &body, &q->err);
	if (!rc && buf_error(&body))
		rc = err_set(&q->err, buf_error(&body), "no memory for the answer");
	return rc ? rc
		  : owned_answer_read(&body, q->ask.ids, q->ask.count,
				      q->ask.latest ? q->ask.login : NULL, &q->answer,
				      &q->err);
}

static void note(struct owned *o, const struct owned_question *q, uint64_t ns)
{
	bool due = false, over = false;

	atomic_fetch_add(&o->questions, 1);
	atomic_fetch_add(&o->units_asked, q->ask.count);
	atomic_fetch_add(&o->ask_ns, ns);
	pthread_mutex_lock(&o->mutex);
	if (q->rc)
		due = log_repeat_due(&o->failures, clock_boottime_ns());
	else
		over = log_repeat_over(&o->failures);
	pthread_mutex_unlock(&o->mutex);
	if (q->rc)
		atomic_fetch_add(&o->failed, 1);
	if (due)
		log_warn("ownership: %s, what is not remembered is refused",
			 q->err.text);
	if (over)
		log_info("ownership: the aggregator answers again");
}

static bool ask_by_thread(struct crew_job *job, void **mine, const atomic_bool *stop)
{
	struct owned_question *q = (struct owned_question *)job;
	struct owned *o = q->o;
	struct owned_waiter *w;
	uint64_t begin = clock_boottime_ns();

	pthread_mutex_lock(&o->mutex);
	q->begun = true;
	clock_of(o, &q->as_of_ms, &q->boot_ms);
	pthread_mutex_unlock(&o->mutex);
	q->rc = ask(q, mine, stop);
	note(o, q, clock_boottime_ns() - begin);

	pthread_mutex_lock(&o->mutex);
	for (struct owned_question **at = &o->asking; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	if (!q->rc && q->generation == o->generation)
		owned_remember(o, &q->ask, &q->answer, q->as_of_ms, q->boot_ms,
			       &q->rules);
	w = q->waiters;
	q->waiters = NULL;
	pthread_mutex_unlock(&o->mutex);
	while (w) {
		struct owned_waiter *next = w->next;

		w->wake(w->arg);
		w = next;
	}
	owned_question_drop(q);
	return false;
}

/* ---- making a question ----------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	uint32_t n = x->len < y->len ? x->len : y->len;
	int d = memcmp(x->p, y->p, n);

	return d ? d : (x->len > y->len) - (x->len < y->len);
}

static const struct str *find(const struct owned_question *q, struct str id)
{
	return q->ask.count ? bsearch(&id, q->ids, q->ask.count, sizeof(id), compare)
			    : NULL;
}

/* Each id once, in one order; copied. */
static int take_ids(struct owned_question *q, const struct access_claim *claims,
		    size_t count)
{
	size_t n = 0, used = 0, at = 0;

	q->ids = calloc(count + 1, sizeof(*q->ids));
	if (!q->ids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (claims[i].answer == ACCESS_UNASKED)
			q->ids[n++] = claims[i].id;
	qsort(q->ids, n, sizeof(*q->ids), compare);
	for (size_t i = 0; i < n; i++)
		if (!used || compare(&q->ids[used - 1], &q->ids[i]) != 0)
			q->ids[used++] = q->ids[i];
	for (size_t i = 0; i < used; i++) {
		buf_put(&q->text, q->ids[i].p, q->ids[i].len);
		buf_putc(&q->text, '\n');
	}
	if (buf_error(&q->text))
		return buf_error(&q->text);
	for (size_t i = 0; i < used; i++) {
		q->ids[i].p = q->text.data + at;
		at += q->ids[i].len + 1;
	}
	q->ask.ids = q->ids;
	q->ask.count = used;
	buf_put(&q->key, q->text.data ? q->text.data : "", q->text.len);
	return 0;
}

static struct owned_question *new_question(struct owned *o, const struct owned_who *who,
					   enum owned_kind kind)
{
	struct owned_question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->o = o;
	q->job.run = ask_by_thread;
	atomic_init(&q->refs, 1);
	q->rules = who->rules;
	owned_key(&q->key, kind, who->login, who->cluster,
		  who->has_uid ? &who->uid : NULL, who->named);
	q->ask.has_uid = who->has_uid;
	q->ask.uid = who->uid;
	q->ask.named = who->named;
	return q;
}

/* Login and cluster live in the key. */
static void name_ask(struct owned_question *q)
{
	q->ask.login = q->key.data + 1;
	q->ask.cluster = q->ask.login + strlen(q->ask.login) + 1;
}

static struct owned_question *same(const struct owned *o,
				   const struct owned_question *q, uint64_t boot_ms)
{
	for (struct owned_question *a = o->asking; a; a = a->next)
		if (a->key.len == q->key.len && a->generation == o->generation &&
		    (!a->begun || boot_ms - a->boot_ms < JOIN_MS) &&
		    memcmp(a->key.data, q->key.data, q->key.len) == 0)
			return a;
	return NULL;
}

/* Users wait in turn, not their questions; they do not choose their names. */
static uint64_t key_of_user(const char *login)
{
	static const uint64_t key[2] = {0x6f776e65645f7175, 0x657374696f6e5f6c};

	return siphash13(key, login, strlen(login));
}

/* Takes q, or joins one that is the same. */
static int submit(struct owned_question *q, const struct owned_who *who,
		  struct owned_waiter *w, struct owned_question **ret, struct err *err)
{
	struct owned *o = q->o;
	struct owned_question *other;
	int rc = buf_error(&q->key);

	if (rc) {
		owned_question_drop(q);
		return err_set(err, rc, "out of memory");
	}
	name_ask(q);
	pthread_mutex_lock(&o->mutex);
	other = same(o, q, who->boot_ms);
	if (other) {
		atomic_fetch_add(&other->refs, 1);
		w->next = other->waiters;
		other->waiters = w;
		atomic_fetch_add(&o->joined, 1);
	} else if (!o->params.ask && (!o->site || !o->site->api.url_count)) {
		rc = err_set(err, -EHOSTDOWN,
			     "there is no aggregator to ask whose units these are");
	} else {
		q->generation = o->generation;
		q->site = o->site ? site_hold(o->site) : NULL;
		w->next = NULL;
		q->waiters = w;
		q->next = o->asking;
		o->asking = q;
		atomic_fetch_add(&q->refs, 1);
		if (!crew_submit(o->crew, &q->job, key_of_user(who->login))) {
			o->asking = q->next;
			atomic_fetch_sub(&q->refs, 1);
			rc = err_set(err, -EBUSY, "too many questions wait");
		}
	}
	pthread_mutex_unlock(&o->mutex);
	if (other || rc)
		owned_question_drop(q);
	if (!rc)
		*ret = other ? other : q;
	return rc;
}

int owned_ask_units(struct owned *o, const struct owned_who *who,
		    const struct access_claim *claims, size_t count,
		    struct owned_waiter *w, struct owned_question **ret,
		    struct err *err)
{
	struct owned_question *q = new_question(o, who, KIND_UNITS);

	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	if (take_ids(q, claims, count)) {
		owned_question_drop(q);
		return err_set(err, -ENOMEM, "out of memory");
	}
	return submit(q, who, w, ret, err);
}

int owned_ask_list(struct owned *o, const struct owned_who *who, int64_t from_ms,
		   int64_t to_ms, uint32_t most, struct owned_waiter *w,
		   struct owned_question **ret, struct err *err)
{
	struct owned_question *q = new_question(o, who, KIND_LIST);

	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	owned_round(&from_ms, &to_ms);
	q->ask.own = true;
	q->ask.from_ms = from_ms;
	q->ask.to_ms = to_ms;
	q->ask.most = most;
	buf_put(&q->key, &from_ms, sizeof(from_ms));
	buf_put(&q->key, &to_ms, sizeof(to_ms));
	buf_put(&q->key, &most, sizeof(most));
	return submit(q, who, w, ret, err);
}

/* ---- the answer ------------------------------------------------------------------ */

/* As of when it was asked for: it was asked for this. */
static struct owned_answer_time fresh(const struct owned_question *q)
{
	return (struct owned_answer_time){
		.age_ms = 0, .as_of_ms = q->as_of_ms, .now_ms = q->as_of_ms};
}

int owned_answered(const struct owned_question *q, struct access_claim *claims,
		   size_t count, enum owned_role *ret_role, struct err *err)
{
	const struct owned_answer_time t = fresh(q);

	if (q->rc)
		return err_set(err, q->rc, "%s", q->err.text);
	*ret_role = q->answer.role;
	for (size_t i = 0; i < count; i++) {
		const struct str *id;
		const struct owned_unit *u;

		if (claims[i].answer != ACCESS_UNASKED || !(id = find(q, claims[i].id)))
			continue;
		u = &q->answer.units[id - q->ids];
		claims[i].answer = owned_judge(&q->rules, u->runs, u->count, &t,
					       claims[i].from_ms, claims[i].to_ms);
	}
	return 0;
}

int owned_answered_list(const struct owned_question *q, int64_t from_ms, int64_t to_ms,
			int64_t around_ms, struct buf *ret, size_t *ret_count,
			struct err *err)
{
	const struct owned_answer_time t = fresh(q);
	int rc;

	if (q->rc)
		return err_set(err, q->rc, "%s", q->err.text);
	rc = owned_pick(&q->rules, q->answer.units, q->answer.count, &t, from_ms, to_ms,
			around_ms, ret, ret_count);
	return rc > 0 ? 0 : err_set(err, -ENOMEM, "out of memory");
}
