/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the collectors for a scrape, and adds the exporter's own metrics. Concurrent
 * scrapes share collections, and never see an incomplete one. */
#include "daemon/web/scrape.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/web/gzip_lines.h"
#include "daemon/web/self.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"

#define LINGER_GAPS 3u
/* A scraper that was absent for a day is no reason to keep ended units for three. */
#define LINGER_MOST_MS 3600000u

#define REOPEN_NS (60 * NSEC_PER_SEC)

static const struct prom_family duration_family = {
	"ceems_scrape_collector_duration_seconds", PROM_GAUGE,
	"How long a collector took in this scrape"};
static const struct prom_family success_family = {
	"ceems_scrape_collector_success", PROM_GAUGE, "Whether a collector succeeded"};

/* A collector and its state. Used only by the thread that collects. */
struct runner {
	const struct collector *c;
	void *state;
	bool is_open;
	bool absent; /* the last open said -ENODEV */
	uint64_t reopen_ns;
	struct log_repeat repeat;
	struct buf duration_labels, success_labels;
};

struct scrape_result {
	struct scrape *owner;
	unsigned refs; /* under owner->mutex */
	struct prom *prom;
	pthread_mutex_t mutex; /* for the bodies */
	struct body {
		struct buf plain, gzip;
		bool rendered, compressed;
	} bodies[2]; /* by enum prom_format */
};

struct scrape {
	struct scrape_params params;
	struct runner *runners;
	size_t count;
	struct self *self;

	pthread_mutex_t
		mutex; /* protects everything below; never held while collecting */
	pthread_cond_t done;
	bool running;
	uint64_t started, finished; /* numbers of collections, from 1 */
	unsigned waiting;
	struct scrape_result *last; /* kept while anybody waits for it */
	int last_rc;
	struct kept {
		struct prom *prom;
		struct buf gzip[2];
	} kept; /* memory of a finished result, for reuse */
	uint64_t start_ns, longest_gap_ns;
	void (*put_own)(void *arg, struct prom *out);
	void *own_arg;

	atomic_uint in_flight;
	atomic_ullong requests[3]; /* 200, 500, 503 */
};

static const unsigned request_codes[3] = {200, 500, 503};

static void open_runner(struct scrape *s, struct runner *r, uint64_t now_ns)
{
	struct err err = {""};
	bool was_absent = r->absent;
	int rc = r->c->open(s->params.env, &r->state, &err);

	r->is_open = rc == 0;
	r->absent = rc == -ENODEV;
	r->reopen_ns = now_ns + REOPEN_NS;
	if (rc == 0 && (was_absent || log_repeat_over(&r->repeat)))
		log_info("collector %s: on", r->c->name);
	else if (r->absent && !was_absent)
		log_info("collector %s: nothing to read here (%s), no series",
			 r->c->name, err_text(&err));
	else if (rc < 0 && !r->absent && log_repeat_due(&r->repeat, now_ns))
		log_warn("collector %s: %s, off until it can be opened", r->c->name,
			 err_text(&err));
}

/* Runs one collector: all of its samples, or none. Returns whether it succeeded. */
static bool run_collector(struct scrape *s, struct runner *r, struct prom *out)
{
	uint64_t now_ns = s->params.env->boottime_ns();

	if (!r->is_open && now_ns >= r->reopen_ns)
		open_runner(s, r, now_ns);
	if (!r->is_open)
		return false;

	struct err err = {""};
	struct prom_mark mark = prom_mark(out);
	int rc = r->c->collect(r->state, out, &err);
	if (rc == 0 && prom_error(out)) {
		rc = prom_error(out);
		err_set(&err, rc, "samples do not fit: %s", strerror(-rc));
	}
	if (rc < 0) {
		prom_rollback(out, mark);
		if (log_repeat_due(&r->repeat, now_ns))
			log_warn("collector %s: %s, no samples in this scrape",
				 r->c->name, err.text[0] ? err.text : strerror(-rc));
		return false;
	}
	if (log_repeat_over(&r->repeat))
		log_info("collector %s: works again", r->c->name);
	return true;
}

static void put_http(struct scrape *s, struct prom *out)
{
	static const struct prom_family in_flight = {
		"promhttp_metric_handler_requests_in_flight", PROM_GAUGE,
		"Current number of scrapes being served."};
	static const struct prom_family total = {
		"promhttp_metric_handler_requests_total", PROM_COUNTER,
		"Total number of scrapes by HTTP status code."};
	static const char *const codes[3] = {"200", "500", "503"};

	prom_family(out, &in_flight);
	prom_put_u64(out, NULL, 0, atomic_load(&s->in_flight));
	prom_family(out, &total);
	for (size_t i = 0; i < 3; i++)
		prom_put_u64(out, &(struct prom_label){"code", codes[i]}, 1,
			     atomic_load(&s->requests[i]));
}

static void put_own(struct scrape *s, struct prom *out)
{
	pthread_mutex_lock(&s->mutex);
	void (*put)(void *arg, struct prom *out) = s->put_own;
	void *arg = s->own_arg;
	pthread_mutex_unlock(&s->mutex);
	if (put)
		put(arg, out);
}

static void collect_all(struct scrape *s, struct prom *out)
{
	if (s->params.lock)
		pthread_mutex_lock(s->params.lock);
	if (s->params.prepare)
		s->params.prepare(s->params.arg);
	for (size_t i = 0; i < s->count; i++) {
		struct runner *r = &s->runners[i];
		uint64_t start_ns = clock_boottime_ns();
		bool good = run_collector(s, r, out);
		if (r->absent)
			continue;
		prom_family(out, &duration_family);
		prom_put_block_scaled(out, &r->duration_labels,
				      clock_boottime_ns() - start_ns, 9);
		prom_family(out, &success_family);
		prom_put_block_u64(out, &r->success_labels, good);
	}
	if (s->params.lock)
		pthread_mutex_unlock(s->params.lock);
	self_put_build_info(out);
	self_put_sandbox(s->params.env, out);
	if (s->params.exporter_metrics) {
		self_put_process(s->self, out);
		put_http(s, out);
		put_own(s, out);
	}
}

static void result_free(struct scrape_result *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < 2; i++) {
		buf_done(&r->bodies[i].plain);
		buf_done(&r->bodies[i].gzip);
	}
	pthread_mutex_destroy(&r->mutex);
	prom_free(r->prom);
	free(r);
}

static void kept_done(struct kept *k)
{
	for (size_t i = 0; i < 2; i++)
		buf_done(&k->gzip[i]);
	prom_free(k->prom);
}

static struct scrape_result *result_new(struct scrape *s, struct kept *k)
{
	struct scrape_result *r = calloc(1, sizeof(*r));

	if (r)
		r->prom = k->prom ? k->prom : prom_new(s->params.max_bytes);
	if (!r || !r->prom) {
		free(r);
		kept_done(k);
		return NULL;
	}
	pthread_mutex_init(&r->mutex, NULL);
	r->owner = s;
	r->refs = 1;
	for (size_t i = 0; i < 2; i++) {
		buf_init(&r->bodies[i].plain, s->params.max_bytes);
		r->bodies[i].gzip = k->gzip[i];
		r->bodies[i].gzip.max = s->params.max_bytes;
	}
	prom_reset(r->prom);
	return r;
}

/* Drops a reference, mutex held. Returns what must be freed. */
static struct scrape_result *unref_locked(struct scrape *s, struct scrape_result *r)
{
	if (!r || --r->refs)
		return NULL;
	if (s->kept.prom)
		return r;
	s->kept.prom = steal_ptr(&r->prom);
	for (size_t i = 0; i < 2; i++) {
		s->kept.gzip[i] = r->bodies[i].gzip;
		r->bodies[i].gzip = (struct buf)BUF_INIT;
	}
	return r;
}

struct scrape_result *scrape_result_ref(struct scrape_result *r)
{
	pthread_mutex_lock(&r->owner->mutex);
	r->refs++;
	pthread_mutex_unlock(&r->owner->mutex);
	return r;
}

void scrape_result_unref(struct scrape_result *r)
{
	if (!r)
		return;
	struct scrape *s = r->owner;
	pthread_mutex_lock(&s->mutex);
	r = unref_locked(s, r);
	pthread_mutex_unlock(&s->mutex);
	result_free(r);
}

/* Called with the mutex, which is released while collecting. */
static void run_locked(struct scrape *s)
{
	uint64_t now_ns = s->params.env->boottime_ns();

	if (s->started && now_ns - s->start_ns > s->longest_gap_ns)
		s->longest_gap_ns = now_ns - s->start_ns;
	s->start_ns = now_ns;
	s->running = true;
	s->started++;
	struct kept kept = s->kept;
	s->kept = (struct kept){0};
	pthread_mutex_unlock(&s->mutex);

	struct scrape_result *r = result_new(s, &kept);
	if (r)
		collect_all(s, r->prom);

	pthread_mutex_lock(&s->mutex);
	struct scrape_result *old = unref_locked(s, s->last);
	s->last = r;
	s->last_rc = r ? prom_error(r->prom) : -ENOMEM;
	s->finished = s->started;
	s->running = false;
	pthread_cond_broadcast(&s->done);
	result_free(old);
}

int scrape_get(struct scrape *s, struct scrape_result **ret, struct err *err)
{
	pthread_mutex_lock(&s->mutex);
	uint64_t arrived = s->started;
	s->waiting++;
	while (s->finished <= arrived) {
		if (s->running)
			pthread_cond_wait(&s->done, &s->mutex);
		else
			run_locked(s);
	}
	s->waiting--;
	int rc = s->last_rc;
	struct scrape_result *r = rc == 0 ? s->last : NULL;
	if (r)
		r->refs++;
	/* Nobody else can need it: later requests need a later collection. */
	struct scrape_result *old = NULL;
	if (!s->waiting) {
		old = unref_locked(s, s->last);
		s->last = NULL;
	}
	pthread_mutex_unlock(&s->mutex);
	result_free(old);
	if (rc < 0)
		return err_set(err, rc, "scrape: %s", strerror(-rc));
	*ret = r;
	return 0;
}

static void compress_piece(void *arg, const char *text, size_t len)
{
	gzip_lines_put(arg, text, len);
}

/* Without the text as a whole, which may be large */
static int compress_body(struct prom *prom, enum prom_format format, struct buf *out)
{
	struct gzip_lines *z = gzip_lines_new(out);

	if (!z)
		return -ENOMEM;
	int rc = prom_render_pieces(prom, format, compress_piece, z);
	int end = gzip_lines_end(z);
	gzip_lines_free(z);
	return rc < 0 ? rc : end;
}

int scrape_result_body(struct scrape_result *r, enum prom_format format, bool gzip,
		       const struct buf **ret)
{
	struct body *b = &r->bodies[format];
	int rc = 0;

	pthread_mutex_lock(&r->mutex);
	if (!gzip && !b->rendered) {
		buf_reset(&b->plain);
		buf_puts(&b->plain, "");
		rc = prom_render(r->prom, format, &b->plain);
		b->rendered = rc == 0;
	}
	if (gzip && !b->compressed) {
		buf_reset(&b->gzip);
		rc = compress_body(r->prom, format, &b->gzip);
		b->compressed = rc == 0;
	}
	pthread_mutex_unlock(&r->mutex);
	if (rc == 0)
		*ret = gzip ? &b->gzip : &b->plain;
	return rc;
}

struct prom *scrape_result_prom(struct scrape_result *r)
{
	return r->prom;
}

uint64_t scrape_longest_gap_ms(struct scrape *s)
{
	pthread_mutex_lock(&s->mutex);
	uint64_t ms = s->longest_gap_ns / NSEC_PER_MSEC;
	pthread_mutex_unlock(&s->mutex);
	return ms;
}

uint64_t scrape_linger_ms(struct scrape *s, uint64_t at_least_ms)
{
	uint64_t ms = LINGER_GAPS * scrape_longest_gap_ms(s);

	if (ms > LINGER_MOST_MS)
		ms = LINGER_MOST_MS;
	return ms > at_least_ms ? ms : at_least_ms;
}

uint64_t scrape_count(struct scrape *s)
{
	pthread_mutex_lock(&s->mutex);
	uint64_t n = s->finished;
	pthread_mutex_unlock(&s->mutex);
	return n;
}

void scrape_add_own(struct scrape *s, void (*put)(void *arg, struct prom *out),
		    void *arg)
{
	pthread_mutex_lock(&s->mutex);
	s->put_own = put;
	s->own_arg = arg;
	pthread_mutex_unlock(&s->mutex);
}

uint32_t scrape_http_begin(struct scrape *s)
{
	return atomic_fetch_add(&s->in_flight, 1) + 1;
}

void scrape_http_end(struct scrape *s, unsigned status)
{
	atomic_fetch_sub(&s->in_flight, 1);
	for (size_t i = 0; i < 3; i++) {
		if (request_codes[i] == status)
			atomic_fetch_add(&s->requests[i], 1);
	}
}

int scrape_new(const struct scrape_params *params, struct scrape **ret, struct err *err)
{
	struct scrape *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "scrape: out of memory");
	s->params = *params;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->done, NULL);
	s->runners = calloc(params->count + 1, sizeof(*s->runners));
	int rc = s->runners ? self_new(params->env, &s->self) : -ENOMEM;
	if (rc < 0) {
		scrape_free(s);
		return err_set(err, rc, "scrape: %s", strerror(-rc));
	}
	for (; s->count < params->count; s->count++) {
		struct runner *r = &s->runners[s->count];
		r->c = params->collectors[s->count];
		struct prom_label l[2] = {{"collector", r->c->name},
					  {"subcollector", ""}};
		prom_render_labels(&r->duration_labels, l, 2);
		prom_render_labels(&r->success_labels, l, 1);
		open_runner(s, r, params->env->boottime_ns());
	}
	*ret = s;
	return 0;
}

void scrape_free(struct scrape *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->runners && i < s->count; i++) {
		struct runner *r = &s->runners[i];
		if (r->is_open)
			r->c->close(r->state);
		buf_done(&r->duration_labels);
		buf_done(&r->success_labels);
	}
	free(s->runners);
	result_free(s->last);
	kept_done(&s->kept);
	self_free(s->self);
	pthread_cond_destroy(&s->done);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}
