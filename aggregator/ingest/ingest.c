/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way of a request: admitted by its head (ingest_admit()), and by its MUNGE
 * credential before any of its body is read; passed to one of two threads that compare
 * the body with the credential and decode it, then to the writer, and answered after
 * the commit. The bodies on this way are bounded. */
#include "aggregator/ingest/ingest.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aggregator/database.h"
#include "aggregator/ingest/ingest_decode.h"
#include "aggregator/ingest/ingest_host.h"
#include "aggregator/ingest/ingest_metrics.h"
#include "aggregator/ingest/ingest_proof.h"
#include "aggregator/ingest/ingest_writer.h"
#include "aggregator/retention.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/records/batch.h"

#define THREADS 2
#define BODIES_MAX ((size_t)16 << 20) /* of running requests */
#define FULL_NS (60 * NSEC_PER_SEC)
#define REQUESTS_MAX 512u
#define SCRATCH_KEPT ((size_t)256 << 10)

struct push_request {
	struct push_request *next;
	struct ingest *ingest;
	struct web_request *web;
	const void *body;
	size_t len;
	bool packed;
	bool counted; /* in the counts of requests and bodies */
	struct ingest_proof proof;
	char who[SENDER_WHO_BYTES];
	uint64_t realtime_ns, boottime_ns; /* when it arrived */
	struct ingest_ticket ticket;
	unsigned status; /* of the answer */
	struct err why;
};

struct ingest {
	struct app *app;
	struct ingest_senders senders;
	struct ingest_hosts *hosts;
	struct ingest_writer *writer;
	struct ingest_requests counts;
	pthread_mutex_t mutex;
	pthread_cond_t more;
	pthread_t threads[THREADS];
	unsigned thread_count;
	bool stopping;
	struct push_request *first, **last;
	size_t bodies;
	unsigned requests;
	struct log_repeat refusing, wrong_clock; /* protected by mutex */
};

/* ---- answers --------------------------------------------------------------------- */

void ingest_answer_error(struct web_request *r, unsigned status, const char *text)
{
	static const char *const types[] = {"bad_data", "unauthorized", "forbidden",
					    "unavailable"};
	auto_buf struct buf b = BUF_INIT;
	unsigned type = status == 401 ? 1 : status == 403 ? 2 : status >= 500 ? 3 : 0;

	buf_printf(&b, "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":",
		   types[type]);
	buf_put_json(&b, text, strlen(text));
	buf_puts(&b, "}\n");
	if (status == 401)
		web_add_header(r, "WWW-Authenticate", "MUNGE, Bearer");
	if (status == 503)
		web_add_header(r, "Retry-After", "5");
	web_answer(r, status, "application/json", b.data ? b.data : "", b.len);
}

static void answer_success(struct web_request *r, const struct ingest_push *p)
{
	auto_buf struct buf b = BUF_INIT;

	buf_printf(&b,
		   "{\"status\":\"success\",\"data\":[{\"accepted\":%u,"
		   "\"refused\":[",
		   p->accepted);
	for (uint32_t i = 0; i < p->refusal_count; i++) {
		buf_printf(&b, "%s{\"index\":%u,\"reason\":", i ? "," : "",
			   p->refusals[i].index);
		buf_put_json(&b, p->refusals[i].reason, strlen(p->refusals[i].reason));
		buf_putc(&b, '}');
	}
	buf_printf(&b, "],\"refused_count\":%u}]}\n", p->refused);
	if (buf_error(&b))
		ingest_answer_error(r, 503, "out of memory");
	else
		web_answer(r, 200, "application/json", b.data, b.len);
}

/* ---- on the web's thread --------------------------------------------------------- */

unsigned ingest_failure_status(int rc)
{
	switch (rc) {
	case -EACCES:
		return 401;
	case -EPERM:
		return 403;
	case -EINVAL:
	case -EBADMSG:
		return 400;
	case -EFBIG:
		return 413;
	default:
		return 503;
	}
}

static void free_request(struct push_request *q)
{
	if (!q)
		return;
	ingest_proof_done(&q->proof);
	free(q);
}

static void refuse_push(struct ingest *in, struct web_request *r, int rc,
			const struct err *err)
{
	unsigned status = ingest_failure_status(rc);

	ingest_requests_count(&in->counts, status);
	ingest_answer_error(r, status, err->text);
}

static int decode_sender(struct ingest *in, struct web_request *r, struct err *err)
{
	struct push_request *q = calloc(1, sizeof(*q));

	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	*web_state(r) = q;
	q->ingest = in;
	q->web = r;
	return ingest_proof_munge(&in->senders, r, &q->proof, err);
}

static int admit_by_head(struct ingest *in, struct web_request *r, struct err *err)
{
	struct ingest_proof p = {.by_munge = false};
	int rc = ingest_proof_head(&in->senders, r, &p, err);

	if (rc == 0)
		ingest_proof_note(r, &p);
	ingest_proof_done(&p);
	if (rc < 0)
		return rc;
	const char *why = database_unusable(in->app);
	if (!why)
		why = retention_no_clock(in->app);
	pthread_mutex_lock(&in->mutex);
	if (in->requests >= REQUESTS_MAX || in->bodies >= BODIES_MAX)
		why = "too many reports are waiting";
	pthread_mutex_unlock(&in->mutex);
	if (why)
		return err_set(err, -EBUSY, "%s", why);
	return rc == 1 ? decode_sender(in, r, err) : 0;
}

void ingest_admit(void *arg, struct web_request *r)
{
	struct ingest *in = ((struct app *)arg)->ingest;
	struct push_request *q = *web_state(r);
	struct err err = {""};
	int rc;

	if (q && q->proof.decoded) {
		rc = ingest_proof_decoded(&in->senders, r, &q->proof, &err);
	} else {
		rc = admit_by_head(in, r, &err);
	}
	if (rc < 0)
		refuse_push(in, r, rc, &err);
}

static int begin_push(struct ingest *in, struct web_request *r, struct push_request *q,
		      struct err *err)
{
	const char *encoding = web_header(r, "Content-Encoding");

	q->ingest = in;
	q->web = r;
	q->body = web_body(r, &q->len);
	q->packed = encoding && strcasecmp(encoding, BATCH_ENCODING) == 0;
	if (encoding && !q->packed && strcasecmp(encoding, "identity") != 0)
		return err_set(err, -EBADMSG, "Content-Encoding must be %s or absent",
			       BATCH_ENCODING);
	/* MUNGE's has been checked already */
	if (!q->proof.by_munge &&
	    ingest_proof_head(&in->senders, r, &q->proof, err) != 0)
		return err_set(err, -EACCES, "the sender has not proved who it is");
	sender_who(&q->proof.proof, web_header(r, "Authorization"), q->who);
	q->realtime_ns = clock_realtime_ns();
	q->boottime_ns = clock_boottime_ns();
	return 0;
}

static void finish_push(struct ingest *in, struct push_request *q,
			struct web_request *r)
{
	ingest_requests_count(&in->counts, q->status);
	atomic_fetch_add(&in->counts.refused, q->ticket.push.refused);
	if (q->status == 200)
		answer_success(r, &q->ticket.push);
	else
		ingest_answer_error(r, q->status, q->why.text);
}

void ingest_handle(void *arg, struct web_request *r)
{
	struct ingest *in = ((struct app *)arg)->ingest;
	struct push_request *q = *web_state(r);
	struct err err = {""};

	if (q && q->counted) {
		finish_push(in, q, r);
		return;
	}
	if (!q)
		q = *web_state(r) = calloc(1, sizeof(*q));
	int rc = q ? begin_push(in, r, q, &err)
		   : err_set(&err, -ENOMEM, "out of memory");
	if (rc < 0) {
		refuse_push(in, r, rc, &err);
		return;
	}
	pthread_mutex_lock(&in->mutex);
	bool stopping = in->stopping;
	q->counted = true;
	in->bodies += q->len;
	in->requests++;
	if (!stopping) {
		web_sleep(r);
		*in->last = q;
		in->last = &q->next;
		pthread_cond_signal(&in->more);
	}
	pthread_mutex_unlock(&in->mutex);
	if (stopping) {
		q->status = 503;
		finish_push(in, q, r);
	}
}

void ingest_end(void *arg, struct web_request *r, unsigned status)
{
	struct ingest *in = ((struct app *)arg)->ingest;
	struct push_request *q = *web_state(r);

	(void)status;
	if (!q)
		return;
	pthread_mutex_lock(&in->mutex);
	if (q->counted) {
		in->bodies -= q->len;
		in->requests--;
	}
	pthread_mutex_unlock(&in->mutex);
	ingest_push_done(&q->ticket.push);
	free_request(q);
	*web_state(r) = NULL;
}

/* ---- on our own threads ---------------------------------------------------------- */

static void end_push(struct push_request *q, int rc, const struct err *err)
{
	q->status = rc == 0 ? 200 : ingest_failure_status(rc);
	if (rc < 0)
		q->why = *err;
	web_wake(q->web);
}

static void on_push_written(void *arg, int rc, const struct err *err)
{
	/* details for the operator's log are not sent to the network */
	static const struct err away = {"the database cannot store it now"};
	static const struct err refused = {"the database refuses something in it"};

	end_push(arg, rc, rc == -EINVAL ? &refused : &away);
	(void)err;
}

static int read_records(struct push_request *q, struct buf *scratch, struct err *err)
{
	struct ingest *in = q->ingest;
	const struct options *o = &in->app->options;
	uint64_t oldest, newest;

	retention_window(o, q->realtime_ns, &oldest, &newest);
	struct witness_verdict clock = witness_judge(
		&in->app->witnesses, clock_realtime_ns(), clock_boottime_ns());
	const struct ingest_rules rules = {
		.now_ns = q->realtime_ns,
		.sure = clock.state == WITNESS_GOOD,
		.oldest_ns = oldest,
		.may = &q->proof.proof.may,
		.known = ingest_writer_known(in->writer),
	};

	int rc = ingest_proof_body(&q->proof, q->body, q->len, err);
	if (rc < 0)
		return rc;
	return ingest_decode(q->body, q->len, q->packed, &rules, scratch,
			     &q->ticket.push, err);
}

static void say_clock(struct ingest *in, const char *why)
{
	pthread_mutex_lock(&in->mutex);
	if (*why && log_repeat_due(&in->wrong_clock, clock_boottime_ns()))
		log_error("ingest: this host cannot judge reports: %s", why);
	else if (!*why && log_repeat_over(&in->wrong_clock))
		log_info("ingest: this host's clock is right again");
	pthread_mutex_unlock(&in->mutex);
}

/* Whether our clock can be trusted with this push: what we refuse is never sent again.
 * -EBUSY: send it again later. */
static int check_push_clock(struct push_request *q, struct err *err)
{
	struct ingest *in = q->ingest;
	struct witnesses *w = &in->app->witnesses;
	const struct ingest_push *p = &q->ticket.push;
	char why[WITNESS_TEXT_BYTES];

	if (p->has_clock)
		witness_tell(w, q->who, p->clock.realtime_ns, q->boottime_ns);
	struct witness_verdict v =
		witness_judge(w, clock_realtime_ns(), clock_boottime_ns());
	bool wait = witness_text(&v, why);
	say_clock(in, why);
	if (!wait && p->untimely && v.state != WITNESS_GOOD) {
		snprintf(why, sizeof(why),
			 "too old or in the future by the aggregator's clock alone: "
			 "waits until other clocks confirm it");
		wait = true;
	}
	if (!wait)
		return 0;
	atomic_fetch_add(&in->counts.waiting, p->records);
	return err_set(err, -EBUSY, "%s", why);
}

/* Rate limited: a node with a wrong clock repeats it all day. */
static void say_refused(struct ingest *in, const struct push_request *q)
{
	const struct ingest_push *p = &q->ticket.push;

	pthread_mutex_lock(&in->mutex);
	if (p->refusal_count && log_repeat_due(&in->refusing, clock_boottime_ns()))
		log_warn("ingest: %u of %u records of %s refused: %s", p->refused,
			 p->records,
			 p->seen_count ? ingest_push_text(p, p->seen[0].node)
				       : "a push",
			 p->refusals[0].reason);
	pthread_mutex_unlock(&in->mutex);
}

static void serve_push(struct push_request *q, struct buf *scratch)
{
	struct err err = {""};
	int rc = read_records(q, scratch, &err);

	if (rc == 0)
		rc = check_push_clock(q, &err);
	if (rc < 0) {
		ingest_push_done(&q->ticket.push);
		end_push(q, rc, &err);
		return;
	}
	atomic_fetch_add(&q->ingest->counts.moved, q->ticket.push.moved);
	say_refused(q->ingest, q);
	if (!ingest_push_rows(&q->ticket.push) && !q->ticket.push.foreign_count) {
		end_push(q, 0, NULL);
		return;
	}
	q->ticket.done = on_push_written;
	q->ticket.arg = q;
	rc = ingest_writer_submit(q->ingest->writer, &q->ticket);
	if (rc < 0) {
		(void)err_set(&err, rc, "the aggregator is stopping");
		end_push(q, rc, &err);
	}
}

static struct push_request *take_push(struct ingest *in, bool *ret_stopping)
{
	pthread_mutex_lock(&in->mutex);
	while (!in->first && !in->stopping)
		pthread_cond_wait(&in->more, &in->mutex);
	struct push_request *q = in->first;
	if (q) {
		in->first = q->next;
		if (!in->first)
			in->last = &in->first;
	}
	*ret_stopping = in->stopping;
	pthread_mutex_unlock(&in->mutex);
	return q;
}

static void *ingest_thread_main(void *arg)
{
	struct ingest *in = arg;
	struct buf scratch = BUF_INIT;
	struct push_request *q;
	bool stopping;

	while ((q = take_push(in, &stopping))) {
		static const struct err ending = {"the aggregator is stopping"};
		if (stopping)
			end_push(q, -ECANCELED, &ending);
		else
			serve_push(q, &scratch);
		if (scratch.cap > SCRATCH_KEPT)
			buf_done(&scratch);
	}
	buf_done(&scratch);
	return NULL;
}

/* ---- the part -------------------------------------------------------------------- */

static struct sender_params sender_options(const struct options *o)
{
	return (struct sender_params){
		.munge = o->ingest_munge,
		.munge_hosts = (const char *const *)o->munge_hosts.items,
		.munge_host_count = o->munge_hosts.count,
		.munge_unbound = o->munge_unbound,
		.users = (const char *const *)o->ingest_users.items,
		.user_count = o->ingest_users.count,
		.jobs_from = (const char *const *)o->ingest_jobs_from.items,
		.jobs_from_count = o->ingest_jobs_from.count,
		.claims_from = (const char *const *)o->ingest_claims_from.items,
		.claims_from_count = o->ingest_claims_from.count,
		.clusters = (const char *const *)o->ingest_clusters.items,
		.cluster_count = o->ingest_clusters.count,
		.token_file = o->ingest_token_file,
		.names = (const char *const *)o->ingest_client_names.items,
		.name_count = o->ingest_client_names.count,
	};
}

static int check_ingest_options(const struct options *o, struct err *err)
{
	const struct sender_params params = sender_options(o);
	struct sender *s = NULL;
	int rc = sender_new(&params, &s, err);

	sender_free(s);
	return rc;
}

static void close_ingest(struct app *app)
{
	struct ingest *in = app->ingest;

	app->ingest = NULL;
	if (!in)
		return;
	ingest_writer_free(in->writer);
	munge_free(in->senders.munge);
	sender_free(in->senders.sender);
	ingest_hosts_free(in->hosts);
	witness_done(&app->witnesses);
	pthread_cond_destroy(&in->more);
	pthread_mutex_destroy(&in->mutex);
	free(in);
}

static int ask_host(void *arg, const char *node, const struct netaddr *host,
		    struct err *err)
{
	return ingest_host_is(arg, node, host, err);
}

/* A typing error would look as if the site's nodes sent nothing. */
static void warn_unknown(const struct sender *s)
{
	const char *word;

	for (size_t i = 0; (word = sender_unknown(s, i)); i++)
		log_warn("%s: no such user on this host, so nothing that it sends is "
			 "accepted: give its number, or remove it",
			 word);
}

static int start_ingest(struct ingest *in, struct err *err)
{
	const struct options *o = &in->app->options;
	struct sender_params params = sender_options(o);
	const struct ingest_writer_params writer = {
		.pg = in->app->pg,
		.rollup_ms = o->rollup_delay_ms,
	};
	const char *socket = *o->ingest_munge_socket ? o->ingest_munge_socket : NULL;
	int rc = ingest_hosts_new(&in->hosts, err);

	params.is_host = ask_host;
	params.arg = in->hosts;
	if (rc == 0)
		rc = sender_new(&params, &in->senders.sender, err);
	if (rc == 0)
		warn_unknown(in->senders.sender);
	if (rc == 0 && o->ingest_munge)
		rc = munge_new(socket, &in->senders.munge, err);
	if (rc == 0)
		rc = ingest_writer_new(&writer, &in->writer, err);
	while (rc == 0 && in->thread_count < THREADS) {
		rc = -pthread_create(&in->threads[in->thread_count], NULL,
				     ingest_thread_main, in);
		if (rc < 0)
			return err_set(err, rc, "ingest: start thread: %s",
				       strerror(-rc));
		in->thread_count++;
	}
	return rc;
}

static void stop_ingest(struct app *app)
{
	struct ingest *in = app->ingest;

	if (!in)
		return;
	pthread_mutex_lock(&in->mutex);
	in->stopping = true;
	pthread_cond_broadcast(&in->more);
	pthread_mutex_unlock(&in->mutex);
	if (in->senders.munge)
		munge_stop(in->senders.munge);
	/* the writer first: one of our threads may wait for it */
	if (in->writer)
		ingest_writer_stop(in->writer);
	for (unsigned i = 0; i < in->thread_count; i++)
		pthread_join(in->threads[i], NULL);
	in->thread_count = 0;
}

static int open_ingest(struct app *app, struct err *err)
{
	struct ingest *in = calloc(1, sizeof(*in));

	if (!in)
		return err_set(err, -ENOMEM, "out of memory");
	in->app = app;
	in->last = &in->first;
	pthread_mutex_init(&in->mutex, NULL);
	pthread_cond_init(&in->more, NULL);
	app->ingest = in;
	int rc = start_ingest(in, err);
	if (rc < 0) {
		stop_ingest(app);
		close_ingest(app);
	}
	return rc;
}

static int reload_senders(struct app *app, struct err *err)
{
	int rc = sender_reload(app->ingest->senders.sender, err);

	if (rc == 0)
		warn_unknown(app->ingest->senders.sender);
	return rc;
}

const struct ingest_senders *ingest_senders(const struct app *app)
{
	return &app->ingest->senders;
}

const char *ingest_no_space(struct app *app)
{
	uint64_t full_ns =
		app->ingest
			? atomic_load(
				  &ingest_writer_counters(app->ingest->writer)->full_ns)
			: 0;

	return full_ns && clock_boottime_ns() - full_ns < FULL_NS
		       ? "the database has no space left for reports"
		       : NULL;
}

static void put_ingest_metrics(struct app *app, struct prom *out)
{
	struct ingest *in = app->ingest;
	struct ingest_gauges g = {0};

	if (!in)
		return;
	pthread_mutex_lock(&in->mutex);
	g.requests = in->requests;
	g.bodies_bytes = in->bodies;
	pthread_mutex_unlock(&in->mutex);
	g.waiting_rows = ingest_writer_waiting_rows(in->writer);
	g.known = known_count(ingest_writer_known(in->writer));
	witness_metrics(&app->witnesses, out);
	ingest_metrics_put(&in->counts, ingest_writer_counters(in->writer), &g, out);
}

const struct part part_ingest = {
	.name = "ingest",
	.check = check_ingest_options,
	.open = open_ingest,
	.reload = reload_senders,
	.metrics = put_ingest_metrics,
	.stop = stop_ingest,
	.close = close_ingest,
};
