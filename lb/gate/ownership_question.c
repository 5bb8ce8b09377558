/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions: made by the serving threads, asked by the pool, shared by all who need the
 * same answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/gate/ownership_impl.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/siphash.h"

/* A question that has been running for longer is not joined: its answer would be older
 * than that of a new one. */
#define JOIN_MS 1000u

struct ownership_question {
	struct thread_pool_job job;
	struct ownership_cache *o;
	atomic_uint refs;
	/* protected by o->mutex until it is answered */
	struct ownership_question *next;
	struct ownership_waiter *waiters;
	bool begun;
	bool sorted;    /* begun; its ids are sorted and final */
	bool held;      /* it has waited */
	bool waits;     /* for the user's running one */
	bool joins;     /* ids may be added until it is begun: it is about units */
	bool role_only; /* somebody needs the role, whatever the units */
	size_t prefix;  /* of the key: user and cluster */
	uint64_t made_ms, boot_ms;
	int64_t as_of_ms;

	struct ownership_ask ask;
	struct buf key, text; /* text: ids, a line each */
	struct str *ids;      /* pointing into text, no duplicates, sorted */
	size_t lines;         /* of text */
	bool skipped;         /* all ids have been answered meanwhile */
	struct site *site;
	uint64_t generation;
	struct ownership_rules rules;
	/* the answer; not read before wake() */
	int rc;
	struct err err;
	struct ownership_answer answer;
};

static void clock_of(const struct ownership_cache *o, int64_t *now_ms,
		     uint64_t *boot_ms)
{
	if (o->params.clock) {
		o->params.clock(o->params.arg, now_ms, boot_ms);
		return;
	}
	*now_ms = (int64_t)(clock_realtime_ns() / NSEC_PER_MSEC);
	*boot_ms = clock_boottime_ns() / NSEC_PER_MSEC;
}

void ownership_question_unref(struct ownership_question *q)
{
	if (!q || atomic_fetch_sub(&q->refs, 1) > 1)
		return;
	ownership_answer_done(&q->answer);
	buf_done(&q->key);
	buf_done(&q->text);
	free(q->ids);
	if (q->site)
		site_unref(q->site);
	free(q);
}

static int compare_ids(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	uint32_t n = x->len < y->len ? x->len : y->len;
	int d = memcmp(x->p, y->p, n);

	return d ? d : (x->len > y->len) - (x->len < y->len);
}

/* Users wait in turn, not their questions; they cannot choose their names. */
static uint64_t key_of_user(const char *login)
{
	static const uint64_t key[2] = {0x6f776e65645f7175, 0x657374696f6e5f6c};

	return siphash13(key, login, strlen(login));
}

/* Same user and cluster. */
static bool is_of_same(const struct ownership_question *a,
		       const struct ownership_question *q)
{
	return a->joins && q->joins && a->prefix == q->prefix &&
	       a->generation == q->generation &&
	       memcmp(a->key.data, q->key.data, q->prefix) == 0;
}

/* ---- asking ---------------------------------------------------------------------- */

static int ask_aggregator(struct ownership_question *q, void **mine,
			  const atomic_bool *stop)
{
	struct ownership_cache *o = q->o;
	auto_buf struct buf body = {.max = OWNERSHIP_ANSWER_BYTES_MAX};
	int rc;

	if (atomic_load(stop))
		return err_set(&q->err, -EHOSTDOWN, "the load balancer is stopping");
	rc = o->params.ask
		     ? o->params.ask(o->params.arg, &q->ask, &body, &q->err)
		     : ownership_link_ask((struct ownership_link **)mine, &q->site->api,
					  q->generation, o->params.user_agent, stop,
					  &q->ask, &body, &q->err);
	if (!rc && buf_error(&body))
		rc = err_set(&q->err, buf_error(&body),
			     "not enough memory for the answer");
	return rc ? rc
		  : ownership_answer_read(&body, q->ask.ids, q->ask.count,
					  q->ask.latest ? q->ask.login : NULL,
					  &q->answer, &q->err);
}

static void note_question(struct ownership_cache *o, const struct ownership_question *q,
			  uint64_t ns)
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
		log_warn("ownership: %s: units whose owner is not cached are refused",
			 q->err.text);
	if (over)
		log_info("ownership: the aggregator answers again");
}

/* Ids were added in any order. */
static int sort_ids(struct ownership_question *q)
{
	struct str *ids = calloc(q->lines + 1, sizeof(*ids));
	char *at = q->text.data;
	size_t used = 0;

	if (!ids)
		return err_set(&q->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < q->lines; i++) {
		size_t len = strcspn(at, "\n");

		ids[i] = (struct str){at, (uint32_t)len};
		at += len + 1;
	}
	qsort(ids, q->lines, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < q->lines; i++)
		if (!used || compare_ids(&ids[used - 1], &ids[i]) != 0)
			ids[used++] = ids[i];
	free(q->ids);
	q->ids = ids;
	q->ask.ids = ids;
	q->ask.count = used;
	return 0;
}

/* Drops ids that another question has answered while this one waited. */
static void drop_known(struct ownership_question *q)
{
	size_t left = 0;

	for (size_t i = 0; i < q->ask.count; i++)
		if (!ownership_is_known(q->o, &q->ask, q->ids[i], q->made_ms,
					q->boot_ms))
			q->ids[left++] = q->ids[i];
	q->skipped = q->ask.count && !left && !q->role_only;
	q->ask.count = left;
}

/* From here on nothing can be added. */
static void begin_question(struct ownership_question *q)
{
	struct ownership_cache *o = q->o;
	bool current;

	pthread_mutex_lock(&o->mutex);
	q->begun = true;
	clock_of(o, &q->as_of_ms, &q->boot_ms);
	current = q->generation == o->generation;
	pthread_mutex_unlock(&o->mutex);
	if (!q->joins)
		return;
	if (q->lines != q->ask.count)
		q->rc = sort_ids(q);
	if (!q->rc && q->held && current)
		drop_known(q);
	pthread_mutex_lock(&o->mutex);
	q->sorted = !q->rc;
	if (current && !q->skipped)
		q->ask.latest =
			ownership_ahead_count(o, &q->ask, q->boot_ms, &q->rules);
	pthread_mutex_unlock(&o->mutex);
}

static struct ownership_waiter *unlist_question(struct ownership_question *q)
{
	struct ownership_waiter *w = q->waiters;

	for (struct ownership_question **at = &q->o->asking; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	q->waiters = NULL;
	return w;
}

static void wake_waiters(struct ownership_waiter *w)
{
	while (w) {
		struct ownership_waiter *next = w->next;

		w->wake(w->arg);
		w = next;
	}
}

/* Mutex held. The question that waited for q; it may be asked now. *ret_failed: it
 * cannot be asked and must be dropped; those waiting for it, in *ret, must be woken. */
static struct ownership_question *let_next_go(struct ownership_question *q,
					      struct ownership_waiter **ret)
{
	struct ownership_question *a = q->o->asking;

	while (a && !(a->waits && is_of_same(a, q)))
		a = a->next;
	if (!a)
		return NULL;
	a->waits = false;
	if (thread_pool_submit(a->o->pool, &a->job, key_of_user(a->ask.login)))
		return NULL;
	a->rc = err_set(&a->err, -EBUSY, "too many questions wait");
	*ret = unlist_question(a);
	return a;
}

static bool ask_by_thread(struct thread_pool_job *job, void **mine,
			  const atomic_bool *stop)
{
	struct ownership_question *q = (struct ownership_question *)job, *failed;
	struct ownership_waiter *w, *others = NULL;
	struct ownership_cache *o = q->o;
	uint64_t begin = clock_boottime_ns();

	begin_question(q);
	if (!q->rc && !q->skipped) {
		q->rc = ask_aggregator(q, mine, stop);
		note_question(o, q, clock_boottime_ns() - begin);
	}
	pthread_mutex_lock(&o->mutex);
	if (!q->rc && !q->skipped && q->generation == o->generation) {
		ownership_remember(o, &q->ask, &q->answer, q->as_of_ms, q->boot_ms,
				   &q->rules);
		ownership_ahead_note(o, &q->ask, &q->answer, q->boot_ms, &q->rules);
	}
	w = unlist_question(q);
	failed = let_next_go(q, &others);
	pthread_mutex_unlock(&o->mutex);
	wake_waiters(w);
	wake_waiters(others);
	ownership_question_unref(failed);
	ownership_question_unref(q);
	return false;
}

/* ---- making a question ----------------------------------------------------------- */

static const struct str *find_question_id(const struct ownership_question *q,
					  struct str id)
{
	return q->ask.count
		       ? bsearch(&id, q->ids, q->ask.count, sizeof(id), compare_ids)
		       : NULL;
}

/* Copies the ids, without duplicates and sorted. */
static int take_ids(struct ownership_question *q, const struct access_claim *claims,
		    size_t count, enum access_answer which)
{
	size_t n = 0, used = 0, at = 0;

	q->ids = calloc(count + 1, sizeof(*q->ids));
	if (!q->ids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (claims[i].answer == which)
			q->ids[n++] = claims[i].id;
	qsort(q->ids, n, sizeof(*q->ids), compare_ids);
	for (size_t i = 0; i < n; i++)
		if (!used || compare_ids(&q->ids[used - 1], &q->ids[i]) != 0)
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
	q->ask.count = q->lines = used;
	q->role_only = !used;
	return 0;
}

static struct ownership_question *new_question(struct ownership_cache *o,
					       const struct ownership_who *who,
					       enum ownership_kind kind)
{
	struct ownership_question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->o = o;
	q->job.run = ask_by_thread;
	atomic_init(&q->refs, 1);
	q->rules = who->rules;
	ownership_key(&q->key, kind, who->login, who->cluster,
		      who->has_uid ? &who->uid : NULL, who->named);
	q->prefix = q->key.len;
	q->joins = kind == KIND_UNITS;
	q->made_ms = who->boot_ms;
	q->ask.has_uid = who->has_uid;
	q->ask.uid = who->uid;
	q->ask.named = who->named;
	return q;
}

/* Login and cluster are stored in the key. */
static void name_ask(struct ownership_question *q)
{
	q->ask.login = q->key.data + 1;
	q->ask.cluster = q->ask.login + strlen(q->ask.login) + 1;
}

static bool is_young(const struct ownership_question *a, uint64_t boot_ms)
{
	return !a->begun || boot_ms < a->boot_ms + JOIN_MS;
}

/* Whether a's answer contains all that q needs. */
static bool covers_question(const struct ownership_question *a,
			    const struct ownership_question *q)
{
	if (!a->joins)
		return a->key.len == q->key.len &&
		       memcmp(a->key.data, q->key.data, q->key.len) == 0;
	if (!a->sorted || a->skipped)
		return false;
	for (size_t i = 0; i < q->ask.count; i++)
		if (!find_question_id(a, q->ids[i]))
			return false;
	return true;
}

/* Adds q's ids to one that has not begun. False: they do not fit. */
static bool add_ids(struct ownership_question *a, const struct ownership_question *q)
{
	const char *text = q->text.data, *there;

	a->role_only = a->role_only || q->role_only;
	if (!q->lines)
		return true;
	there = a->lines ? memmem(a->text.data, a->text.len, text, q->text.len) : NULL;
	if (there && (there == a->text.data || there[-1] == '\n'))
		return true;
	if (a->lines + q->lines > OWNERSHIP_IDS_MAX)
		return false;
	buf_put(&a->text, text, q->text.len);
	if (buf_error(&a->text))
		return false; /* and a will fail */
	a->lines += q->lines;
	return true;
}

/* A question that will answer q, or can be extended to. */
static struct ownership_question *find_other(const struct ownership_question *q,
					     uint64_t boot_ms)
{
	for (struct ownership_question *a = q->o->asking; a; a = a->next) {
		if (a->joins != q->joins || a->generation != q->generation ||
		    !is_young(a, boot_ms) || (q->joins && !is_of_same(a, q)))
			continue;
		if (covers_question(a, q) || (a->joins && !a->begun && add_ids(a, q)))
			return a;
	}
	return NULL;
}

/* This user has a running question: later ones are merged meanwhile. */
static bool is_to_wait(const struct ownership_question *q, uint64_t boot_ms)
{
	bool busy = false;

	for (struct ownership_question *a = q->o->asking; a; a = a->next) {
		if (!is_of_same(a, q))
			continue;
		if (a->waits)
			return false; /* full */
		busy = busy || (a->begun && is_young(a, boot_ms));
	}
	return busy;
}

/* Mutex held. */
static int enlist_question(struct ownership_question *q, uint64_t boot_ms,
			   struct err *err)
{
	struct ownership_cache *o = q->o;

	if (!o->params.ask && (!o->site || !o->site->api.url_count))
		return err_set(err, -EHOSTDOWN,
			       "no aggregator is configured that could say whose units "
			       "these are");
	q->site = o->site ? site_ref(o->site) : NULL;
	q->waits = q->held = is_to_wait(q, boot_ms);
	if (!q->waits &&
	    !thread_pool_submit(o->pool, &q->job, key_of_user(q->ask.login)))
		return err_set(err, -EBUSY, "too many questions wait");
	q->next = o->asking;
	o->asking = q;
	atomic_fetch_add(&q->refs, 1);
	return 0;
}

/* Takes over q, or joins another; w NULL: nobody waits for it. */
static int submit_question(struct ownership_question *q,
			   const struct ownership_who *who, struct ownership_waiter *w,
			   struct ownership_question **ret, struct err *err)
{
	struct ownership_question *at = q, *other;
	struct ownership_cache *o = q->o;
	int rc = buf_error(&q->key);

	if (rc) {
		ownership_question_unref(q);
		return err_set(err, rc, "out of memory");
	}
	name_ask(q);
	pthread_mutex_lock(&o->mutex);
	q->generation = o->generation;
	other = find_other(q, who->boot_ms);
	if (other) {
		at = other;
		atomic_fetch_add(&other->refs, 1);
		atomic_fetch_add(&o->joined, w ? 1 : 0);
	} else {
		rc = enlist_question(q, who->boot_ms, err);
	}
	if (!rc && w) {
		w->next = at->waiters;
		at->waiters = w;
	}
	pthread_mutex_unlock(&o->mutex);
	if (other || rc)
		ownership_question_unref(q);
	if (!rc)
		*ret = at;
	return rc;
}

int ownership_ask_units(struct ownership_cache *o, const struct ownership_who *who,
			const struct access_claim *claims, size_t count,
			struct ownership_waiter *w, struct ownership_question **ret,
			struct err *err)
{
	struct ownership_question *q = new_question(o, who, KIND_UNITS);

	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	if (take_ids(q, claims, count, ACCESS_UNASKED)) {
		ownership_question_unref(q);
		return err_set(err, -ENOMEM, "out of memory");
	}
	return submit_question(q, who, w, ret, err);
}

void ownership_ask_again(struct ownership_cache *o, const struct ownership_who *who,
			 const struct access_claim *claims, size_t count,
			 enum access_answer which)
{
	struct ownership_question *q = new_question(o, who, KIND_UNITS);

	if (q && take_ids(q, claims, count, which)) {
		ownership_question_unref(q);
		q = NULL;
	}
	/* on failure it is asked when it is needed */
	if (q && submit_question(q, who, NULL, &q, NULL) == 0)
		ownership_question_unref(q);
}

int ownership_ask_list(struct ownership_cache *o, const struct ownership_who *who,
		       int64_t from_ms, int64_t to_ms, uint32_t most,
		       struct ownership_waiter *w, struct ownership_question **ret,
		       struct err *err)
{
	struct ownership_question *q = new_question(o, who, KIND_LIST);

	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	ownership_round(&from_ms, &to_ms);
	q->ask.own = true;
	q->ask.from_ms = from_ms;
	q->ask.to_ms = to_ms;
	q->ask.most = most;
	buf_put(&q->key, &from_ms, sizeof(from_ms));
	buf_put(&q->key, &to_ms, sizeof(to_ms));
	buf_put(&q->key, &most, sizeof(most));
	return submit_question(q, who, w, ret, err);
}

/* ---- the answer ------------------------------------------------------------------ */

/* Applies as of the time of the question. */
static struct ownership_answer_time
fresh_answer_time(const struct ownership_question *q)
{
	return (struct ownership_answer_time){
		.age_ms = 0, .as_of_ms = q->as_of_ms, .now_ms = q->as_of_ms};
}

int ownership_answered(const struct ownership_question *q, struct access_claim *claims,
		       size_t count, enum ownership_role *ret_role, struct err *err)
{
	const struct ownership_answer_time t = fresh_answer_time(q);
	int left = 0;

	if (q->rc)
		return err_set(err, q->rc, "%s", q->err.text);
	if (!q->skipped)
		*ret_role = q->answer.role;
	for (size_t i = 0; i < count; i++) {
		const struct str *id;
		const struct ownership_unit *u;

		if (claims[i].answer != ACCESS_UNASKED)
			continue;
		id = find_question_id(q, claims[i].id);
		if (!id) {
			left = 1;
			continue;
		}
		u = &q->answer.units[id - q->ids];
		claims[i].answer = ownership_judge(&q->rules, u->runs, u->count, &t,
						   claims[i].from_ms, claims[i].to_ms);
	}
	return left;
}

int ownership_answered_list(const struct ownership_question *q, int64_t from_ms,
			    int64_t to_ms, int64_t around_ms, struct buf *ret,
			    size_t *ret_count, struct err *err)
{
	const struct ownership_answer_time t = fresh_answer_time(q);
	int rc;

	if (q->rc)
		return err_set(err, q->rc, "%s", q->err.text);
	rc = ownership_pick(&q->rules, q->answer.units, q->answer.count, &t, from_ms,
			    to_ms, around_ms, ret, ret_count);
	return rc > 0 ? 0 : err_set(err, -ENOMEM, "out of memory");
}
