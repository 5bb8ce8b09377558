/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BMCs. One mutex protects tables and queues and is held briefly; it is not held
 * while talking to a BMC. */
#include "redfish_proxy/target.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/signals.h"
#include "redfish_proxy/bmc.h"
#include "redfish_proxy/session.h"

#define IDLE_NS (120 * NSEC_PER_SEC) /* how long an idle connection is kept */
#define BACKOFF_SHIFT_MAX 4          /* 16 times limits.error_cache */
#define STACK_BYTES (1u << 20)
#define LOGOUT_MS 1000u
#define LOGOUT_ALL_NS (3 * NSEC_PER_SEC)
#define SWEEP_MAX 1024
#define QUEUE UINT64_MAX /* not refused */

struct targets {
	const struct config *config;
	struct cache *cache;
	struct metrics *metrics;
	pthread_mutex_t mutex;
	pthread_cond_t more;
	pthread_t *threads;
	size_t thread_count;
	bool stopping;
	atomic_bool abort; /* ends running requests within a second */
	struct bmc **table;
	size_t mask, max, known;
	struct bmc *run_first, **run_last;
	struct bmc_session *leaving; /* to be signed out */
	size_t queued;
	struct bmc list; /* its head; least recently used first */
};

static uint64_t hash_bmc_url(const char *url)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; *url; url++)
		h = (h ^ (unsigned char)*url) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static void unlink_bmc(struct bmc *b)
{
	b->prev->next = b->next;
	b->next->prev = b->prev;
}

static void link_last(struct targets *t, struct bmc *b)
{
	b->next = &t->list;
	b->prev = t->list.prev;
	b->prev->next = b;
	t->list.prev = b;
}

static bool is_idle(const struct bmc *b)
{
	return !b->first && !b->running && !b->runnable;
}

/* Hands its sessions to a thread for signing out. */
static void leave_bmc(struct targets *t, struct bmc *b)
{
	while (b->idle) {
		struct bmc_session *s = b->idle;
		b->idle = s->next;
		s->next = t->leaving;
		t->leaving = s;
		pthread_cond_signal(&t->more);
	}
}

static void forget_bmc(struct targets *t, struct bmc *b)
{
	struct bmc **p = &t->table[hash_bmc_url(b->url) & t->mask];

	while (*p != b)
		p = &(*p)->chain;
	*p = b->chain;
	unlink_bmc(b);
	leave_bmc(t, b);
	t->known--;
	bmc_free(b);
}

/* Makes room for one more by dropping the least recently used one without work. */
static bool make_bmc_room(struct targets *t)
{
	struct bmc *b = t->list.next;

	if (t->known < t->max)
		return true;
	for (int i = 0; i < SWEEP_MAX && b != &t->list; i++, b = b->next) {
		if (is_idle(b)) {
			forget_bmc(t, b);
			return true;
		}
	}
	return false;
}

/* NULL: no memory, or too many. */
static struct bmc *get_bmc(struct targets *t, const char *url,
			   const struct config_target *conf, uint64_t now_ns)
{
	struct bmc **head = &t->table[hash_bmc_url(url) & t->mask], *b;

	for (b = *head; b; b = b->chain) {
		if (strcmp(b->url, url) == 0) {
			unlink_bmc(b);
			link_last(t, b);
			b->used_ns = now_ns;
			return b;
		}
	}
	if (!make_bmc_room(t))
		return NULL;
	b = bmc_new(url, t->config, conf, &t->abort, now_ns);
	if (!b)
		return NULL;
	b->chain = *head;
	*head = b;
	link_last(t, b);
	t->known++;
	return b;
}

static void make_runnable(struct targets *t, struct bmc *b)
{
	if (b->runnable || !b->first || b->running >= t->config->limits.concurrency)
		return;
	b->runnable = true;
	b->run_next = NULL;
	*t->run_last = b;
	t->run_last = &b->run_next;
	pthread_cond_signal(&t->more);
}

static void fill_waiting_asks(struct targets *t, struct cache_entry *e,
			      struct reply *reply, uint64_t until_ns)
{
	/* an answer that needs no memory */
	static struct reply none = {.refs = 1, .status = 503, .type = REPLY_TEXT};

	cache_fill(t->cache, e, reply ? reply : &none, reply ? until_ns : 0);
	reply_unref(reply);
}

/* Mutex held. Returns a reply if the request goes no further. */
static struct reply *refuse_for_bmc(struct targets *t, struct bmc *b, uint64_t now_ns,
				    uint64_t *ret_until)
{
	const struct config_limits *l = &t->config->limits;

	*ret_until = 0; /* also if there is no memory for the reply */
	if (!b || t->stopping || b->queued >= l->queue) {
		atomic_fetch_add(&t->metrics->limited[b ? LIMIT_QUEUE : LIMIT_TABLES],
				 1);
		return reply_new(503, REPLY_TEXT,
				 "too many requests wait for this BMC\n");
	}
	if (now_ns < b->down_until_ns) {
		*ret_until = b->down_until_ns;
		return reply_new(b->down_status, REPLY_TEXT, b->down_text);
	}
	if (!bmc_take_token(b, l, now_ns)) {
		atomic_fetch_add(&t->metrics->limited[LIMIT_RATE], 1);
		return reply_new(429, REPLY_TEXT,
				 "too many requests a second for this BMC\n");
	}
	*ret_until = QUEUE;
	return NULL;
}

void targets_submit(struct targets *t, const char *url,
		    const struct config_target *conf, struct cache_entry *entry)
{
	struct bmc_job *j = calloc(1, sizeof(*j));
	uint64_t now_ns = clock_boottime_ns(), until = 0;

	pthread_mutex_lock(&t->mutex);
	struct bmc *b = j ? get_bmc(t, url, conf, now_ns) : NULL;
	struct reply *reply = refuse_for_bmc(t, b, now_ns, &until);
	bool queue = b && until == QUEUE;
	if (queue) {
		j->entry = entry;
		*b->last = j;
		b->last = &j->next;
		b->queued++;
		t->queued++;
		make_runnable(t, b);
	}
	pthread_mutex_unlock(&t->mutex);
	if (queue)
		return;
	free(j);
	fill_waiting_asks(t, entry, reply, until);
}

/* Mutex held. Records a failure of the BMC, as opposed to one path. */
static void note_down(struct targets *t, struct bmc *b, const struct bmc_answer *a)
{
	uint64_t pause_ms = t->config->limits.error_cache_ms;
	uint64_t now_ns = clock_boottime_ns();

	if (atomic_load(&t->abort))
		return;
	if (!a->down) {
		if (b->failures && log_repeat_over(&b->log))
			log_info("%s: answers again", b->url);
		b->failures = 0;
		b->down_until_ns = 0;
		return;
	}
	pause_ms <<= b->failures < BACKOFF_SHIFT_MAX ? b->failures : BACKOFF_SHIFT_MAX;
	b->failures++;
	b->down_until_ns = now_ns + pause_ms * NSEC_PER_MSEC;
	b->down_status = a->status;
	b->down_text = a->text;
	if (log_repeat_due(&b->log, now_ns))
		log_warn("%s; next attempt in %llu ms", err_text(&a->err),
			 (unsigned long long)pause_ms);
}

static void count_bmc_answer(struct metrics *m, const struct bmc_answer *a)
{
	atomic_fetch_add(&m->bmc[a->result], 1);
	atomic_fetch_add(&m->bmc_ns, a->took_ns);
	atomic_fetch_add(&m->logins, a->logins);
	if (a->result == RESULT_LOGIN)
		atomic_fetch_add(&m->login_failures, 1);
}

/* Mutex held, but released meanwhile. */
static void run_one(struct targets *t, struct bmc *b)
{
	const struct config_limits *l = &t->config->limits;
	struct bmc_job *j = b->first;
	struct bmc_session *s = b->idle;
	struct bmc_answer a = {0};

	b->first = j->next;
	if (!b->first)
		b->last = &b->first;
	b->queued--;
	t->queued--;
	b->running++;
	if (s)
		b->idle = s->next;
	make_runnable(t, b);
	pthread_mutex_unlock(&t->mutex);

	bmc_ask(b, &s, cache_entry_path(j->entry), &a);
	count_bmc_answer(t->metrics, &a);

	pthread_mutex_lock(&t->mutex);
	if (s) {
		s->next = b->idle;
		b->idle = s;
	}
	b->running--;
	b->used_ns = clock_boottime_ns();
	note_down(t, b, &a);
	uint64_t keep_ms = a.result == RESULT_OK && a.status == 200 ? l->cache_ms
								    : l->error_cache_ms;
	uint64_t until = keep_ms ? b->used_ns + keep_ms * NSEC_PER_MSEC : 0;
	if (atomic_load(&t->abort))
		until = 0;
	make_runnable(t, b);
	pthread_mutex_unlock(&t->mutex);
	fill_waiting_asks(t, j->entry, a.reply, until);
	free(j);
	pthread_mutex_lock(&t->mutex);
}

/* Mutex held: answers waiting requests that we end. */
static void drain_bmc(struct targets *t, struct bmc *b)
{
	while (b->first) {
		struct bmc_job *j = b->first;
		b->first = j->next;
		b->queued--;
		t->queued--;
		pthread_mutex_unlock(&t->mutex);
		fill_waiting_asks(t, j->entry,
				  reply_new(503, REPLY_TEXT, "shutting down\n"), 0);
		free(j);
		pthread_mutex_lock(&t->mutex);
	}
	b->last = &b->first;
}

static void *target_thread_main(void *arg)
{
	struct targets *t = arg;

	pthread_mutex_lock(&t->mutex);
	for (;;) {
		if (t->run_first) {
			struct bmc *b = t->run_first;
			t->run_first = b->run_next;
			if (!t->run_first)
				t->run_last = &t->run_first;
			b->runnable = false;
			if (t->stopping)
				drain_bmc(t, b);
			else
				run_one(t, b);
		} else if (t->stopping) {
			break;
		} else if (t->leaving) {
			struct bmc_session *s = t->leaving;
			t->leaving = s->next;
			pthread_mutex_unlock(&t->mutex);
			bmc_session_free(s, LOGOUT_MS);
			pthread_mutex_lock(&t->mutex);
		} else {
			pthread_cond_wait(&t->more, &t->mutex);
		}
	}
	pthread_mutex_unlock(&t->mutex);
	return NULL;
}

/* Starts n threads of f; fewer if the system has no more, -errno if none. */
static int start_threads(struct targets *t, size_t n, void *(*f)(void *))
{
	pthread_attr_t attr;
	sigset_t old;
	int rc = 0;

	pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	signals_block(&old);
	for (t->thread_count = 0; t->thread_count < n; t->thread_count++) {
		rc = -pthread_create(&t->threads[t->thread_count], &attr, f, t);
		if (rc < 0)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return t->thread_count ? 0 : rc;
}

static void join_threads(struct targets *t)
{
	for (size_t i = 0; i < t->thread_count; i++)
		pthread_join(t->threads[i], NULL);
	t->thread_count = 0;
}

int targets_new(const struct config *config, struct cache *cache,
		struct metrics *metrics, struct targets **ret, struct err *err)
{
	struct targets *t = calloc(1, sizeof(*t));
	size_t n = 64;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->config = config;
	t->cache = cache;
	t->metrics = metrics;
	t->max = config->limits.targets + config->target_count;
	while (n < t->max)
		n *= 2;
	t->mask = n - 1;
	t->table = calloc(n, sizeof(struct bmc *));
	t->threads = calloc(config->limits.workers, sizeof(*t->threads));
	t->list.prev = t->list.next = &t->list;
	t->run_last = &t->run_first;
	pthread_mutex_init(&t->mutex, NULL);
	pthread_cond_init(&t->more, NULL);
	int rc = t->table && t->threads ? 0 : -ENOMEM;
	if (rc == 0)
		rc = start_threads(t, config->limits.workers, target_thread_main);
	if (rc < 0) {
		targets_free(t);
		return err_set(err, rc, "start threads: %s", strerror(-rc));
	}
	*ret = t;
	return 0;
}

static void *sign_out(void *arg)
{
	struct targets *t = arg;
	uint64_t end_ns = clock_boottime_ns() + LOGOUT_ALL_NS;

	pthread_mutex_lock(&t->mutex);
	while (t->leaving) {
		struct bmc_session *s = t->leaving;
		t->leaving = s->next;
		pthread_mutex_unlock(&t->mutex);
		bmc_session_free(s, clock_boottime_ns() < end_ns ? LOGOUT_MS : 0);
		pthread_mutex_lock(&t->mutex);
	}
	pthread_mutex_unlock(&t->mutex);
	return NULL;
}

void targets_stop(struct targets *t)
{
	pthread_mutex_lock(&t->mutex);
	t->stopping = true;
	atomic_store(&t->abort, true);
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->mutex);
	join_threads(t);
}

void targets_free(struct targets *t)
{
	if (!t)
		return;
	targets_stop(t);
	atomic_store(&t->abort, false);
	while (t->table && t->list.next != &t->list)
		forget_bmc(t, t->list.next);
	if (t->leaving && start_threads(t, t->config->limits.workers, sign_out) < 0)
		sign_out(t);
	join_threads(t);
	free(t->threads);
	free(t->table);
	pthread_cond_destroy(&t->more);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

void targets_sweep(struct targets *t, uint64_t now_ns)
{
	pthread_mutex_lock(&t->mutex);
	struct bmc *b = t->list.next;
	for (int i = 0; i < SWEEP_MAX && b != &t->list; i++) {
		struct bmc *next = b->next;
		if (b->used_ns + IDLE_NS > now_ns)
			break; /* and so are all later ones */
		if (is_idle(b) && now_ns >= b->down_until_ns)
			forget_bmc(t, b);
		b = next;
	}
	pthread_mutex_unlock(&t->mutex);
}

void targets_count(struct targets *t, size_t *ret_known, size_t *ret_down,
		   size_t *ret_queued)
{
	uint64_t now_ns = clock_boottime_ns();

	pthread_mutex_lock(&t->mutex);
	*ret_down = 0;
	for (const struct bmc *b = t->list.next; b != &t->list; b = b->next)
		*ret_down += now_ns < b->down_until_ns;
	*ret_known = t->known;
	*ret_queued = t->queued;
	pthread_mutex_unlock(&t->mutex);
}
