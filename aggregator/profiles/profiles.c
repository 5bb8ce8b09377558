/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way of a profile: admitted by its head as a report is; its body is checked on a
 * thread of ours, its unit on one of the database's, then it is sent on by a thread of
 * ours again, which waits for the store. All of this is bounded. */
#include "aggregator/profiles/profiles.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/database.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/ingest_proof.h"
#include "aggregator/profiles/profile_check.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/profile_push.h"
#include "lib/log.h"

#define THREADS 4u
#define REQUESTS_MAX 128u
#define BODIES_MAX ((size_t)32 << 20)
#define STORE_MS 10000u
/* A courier waits for 30 s; one that has left sends again what would be twice in the
 * store. */
#define PATIENCE_NS (15 * NSEC_PER_SEC)
#define AWAY_NS (2 * NSEC_PER_SEC) /* the store is left alone after a failure */

struct profile_delivery {
	struct profile_delivery *next;
	struct profiles *profiles;
	struct web_request *web;
	const void *body;
	size_t len;
	bool counted, checked; /* in the counts; by the database */
	struct ingest_proof proof;
	struct profile_record record, passed; /* as it came; as it is sent on */
	char manager[16];
	uint64_t arrived_ns; /* boot time */
	struct pg_job job;
	unsigned status, retry_after_s;
	struct err why;
};

enum profile_result { TAKEN, REFUSED, NOT_YET, BUSY, STORE_FAILED, RESULTS };

struct profiles {
	struct app *app;
	pthread_mutex_t mutex;
	pthread_cond_t more;
	pthread_t threads[THREADS];
	unsigned thread_count;
	atomic_bool stop;
	struct profile_delivery *first, **last;
	size_t bodies;
	unsigned requests;
	uint64_t away_until_ns; /* boot time; protected by mutex, as are these */
	struct log_repeat store_log, refused_log;
	atomic_uint_fast64_t results[RESULTS];
};

/* ---- answers --------------------------------------------------------------------- */

static enum profile_result result_of(unsigned status)
{
	switch (status) {
	case 200:
		return TAKEN;
	case 425:
		return NOT_YET;
	case 429:
		return BUSY;
	default:
		return status >= 500 ? STORE_FAILED : REFUSED;
	}
}

static void answer_profile(struct profiles *p, struct web_request *r, unsigned status,
			   const char *text)
{
	atomic_fetch_add(&p->results[result_of(status)], 1);
	if (status == 200)
		web_answer(r, 200, "application/json", "{}\n", 3);
	else
		ingest_answer_error(r, status, text);
}

static unsigned profile_failure_status(int rc)
{
	switch (rc) {
	case -EBADMSG:
	case -EPROTO:
	case -EFBIG:
		return 400;
	case -EAGAIN:
		return 425;
	case -EBUSY:
		return 429;
	default:
		return ingest_failure_status(rc);
	}
}

static void refuse_profile(struct profiles *p, struct web_request *r, int rc,
			   const struct err *err)
{
	unsigned status = profile_failure_status(rc);

	if (status == 429)
		web_add_header(r, "Retry-After", "5");
	answer_profile(p, r, status, err->text);
}

/* ---- on the web's thread --------------------------------------------------------- */

static int find_room(struct profiles *p, struct err *err)
{
	const char *why = database_unusable(p->app);
	int rc = why ? -EHOSTDOWN : 0;

	pthread_mutex_lock(&p->mutex);
	if (!why && p->away_until_ns > clock_boottime_ns()) {
		rc = -EHOSTDOWN;
		why = "the profile store does not take profiles now";
	}
	if (!why && (p->requests >= REQUESTS_MAX || p->bodies >= BODIES_MAX)) {
		rc = -EBUSY;
		why = "too many profiles are waiting";
	}
	pthread_mutex_unlock(&p->mutex);
	return why ? err_set(err, rc, "%s", why) : 0;
}

static int admit_profile(struct profiles *p, struct web_request *r, struct err *err)
{
	const struct ingest_senders *senders = ingest_senders(p->app);
	struct ingest_proof proof = {.by_munge = false};
	int rc = ingest_proof_head(senders, r, &proof, err);

	if (rc == 0)
		ingest_proof_note(r, &proof);
	ingest_proof_done(&proof);
	if (rc < 0)
		return rc;
	int full = find_room(p, err);
	if (full < 0 || rc == 0)
		return full;
	struct profile_delivery *q = calloc(1, sizeof(*q));
	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	*web_state(r) = q;
	return ingest_proof_munge(senders, r, &q->proof, err);
}

void profiles_admit(void *arg, struct web_request *r)
{
	struct app *app = arg;
	struct profiles *p = app->profiles;
	struct profile_delivery *q = *web_state(r);
	struct err err = {""};

	if (!p) {
		ingest_answer_error(r, 404,
				    "no profiles are taken here (--profiles.url)");
		return;
	}
	int rc = q && q->proof.decoded
			 ? ingest_proof_decoded(ingest_senders(app), r, &q->proof, &err)
			 : admit_profile(p, r, &err);
	if (rc < 0)
		refuse_profile(p, r, rc, &err);
}

/* False: the program ends. The first time the request goes to sleep. */
static bool queue_profile(struct profiles *p, struct profile_delivery *q)
{
	pthread_mutex_lock(&p->mutex);
	bool stopping = atomic_load(&p->stop);
	if (!stopping) {
		if (!q->checked)
			web_sleep(q->web);
		q->next = NULL;
		*p->last = q;
		p->last = &q->next;
		pthread_cond_signal(&p->more);
	}
	pthread_mutex_unlock(&p->mutex);
	return !stopping;
}

static int begin_profile(struct profiles *p, struct web_request *r,
			 struct profile_delivery *q, struct err *err)
{
	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	q->profiles = p;
	q->web = r;
	q->body = web_body(r, &q->len);
	q->arrived_ns = clock_boottime_ns();
	/* MUNGE's has been checked already */
	if (!q->proof.by_munge &&
	    ingest_proof_head(ingest_senders(p->app), r, &q->proof, err) != 0)
		return err_set(err, -EACCES, "the sender has not proved who it is");
	pthread_mutex_lock(&p->mutex);
	q->counted = true;
	p->bodies += q->len;
	p->requests++;
	pthread_mutex_unlock(&p->mutex);
	if (queue_profile(p, q))
		return 0;
	return err_set(err, -ECANCELED, "the aggregator is stopping");
}

void profiles_handle(void *arg, struct web_request *r)
{
	struct profiles *p = ((struct app *)arg)->profiles;
	struct profile_delivery *q = *web_state(r);
	struct err err = {""};

	if (!p)
		return;
	if (q && q->status) {
		if (q->status == 429)
			web_add_header(r, "Retry-After", "5");
		answer_profile(p, r, q->status, q->why.text);
		return;
	}
	if (!q)
		q = *web_state(r) = calloc(1, sizeof(*q));
	int rc = begin_profile(p, r, q, &err);
	if (rc < 0)
		refuse_profile(p, r, rc, &err);
}

void profiles_end(void *arg, struct web_request *r, unsigned status)
{
	struct profiles *p = ((struct app *)arg)->profiles;
	struct profile_delivery *q = *web_state(r);

	(void)status;
	if (!q)
		return;
	pthread_mutex_lock(&p->mutex);
	if (q->counted) {
		p->bodies -= q->len;
		p->requests--;
	}
	pthread_mutex_unlock(&p->mutex);
	profile_record_done(&q->record);
	ingest_proof_done(&q->proof);
	free(q);
	*web_state(r) = NULL;
}

/* ---- on our own threads ---------------------------------------------------------- */

static void end_profile_request(struct profile_delivery *q, unsigned status,
				const char *text)
{
	(void)err_set(&q->why, 0, "%s", text);
	q->status = status;
	web_wake(q->web);
}

static int run_unit_check(struct pg *pg, void *arg, struct err *err)
{
	struct profile_delivery *q = arg;

	return profile_check_unit(pg, &q->passed, clock_realtime_ns(), q->manager, err);
}

static void on_unit_checked(void *arg, int rc, const struct err *err)
{
	struct profile_delivery *q = arg;

	q->checked = true;
	if (rc == 0 && queue_profile(q->profiles, q))
		return;
	/* the database's own texts are not sent to the network */
	bool ours = rc == -EBADMSG || rc == -EAGAIN;
	end_profile_request(q, rc == 0 || !ours ? 503 : profile_failure_status(rc),
			    ours ? err->text : "the database cannot be asked now");
}

static int check_profile(struct profile_delivery *q, struct buf *scratch,
			 struct err *err)
{
	int rc = ingest_proof_body(&q->proof, q->body, q->len, err);

	if (rc == 0)
		rc = profile_record_decode(q->body, q->len, &q->record, err);
	if (rc < 0)
		return rc;
	rc = profile_check_labels(&q->record, &q->proof.proof.may, &q->passed, err);
	if (rc < 0)
		return rc == -EACCES ? -EPERM : rc; /* proved, but not its to send */
	return profile_check_bytes(&q->record, scratch, err);
}

static void say_refused_profile(struct profiles *p, const struct profile_delivery *q,
				const char *why)
{
	const char *of = profile_record_label(&q->record, "hostname");

	pthread_mutex_lock(&p->mutex);
	if (log_repeat_due(&p->refused_log, clock_boottime_ns()))
		log_warn("profiles: a profile of %s is refused: %s", of ? of : "a node",
			 why);
	pthread_mutex_unlock(&p->mutex);
}

/* The body, then the database. */
static void begin_checks(struct profile_delivery *q, struct buf *scratch)
{
	struct err err = {""};
	int rc = check_profile(q, scratch, &err);

	if (rc == 0) {
		q->job = (struct pg_job){
			.run = run_unit_check, .done = on_unit_checked, .arg = q};
		rc = pg_pool_submit(q->profiles->app->pool, &q->job, &err);
		if (rc == 0)
			return;
		end_profile_request(q, rc == -EAGAIN ? 429 : 503,
				    "the database cannot be asked now");
		return;
	}
	say_refused_profile(q->profiles, q, err.text);
	end_profile_request(q, profile_failure_status(rc), err.text);
}

/* The manager is the database's. */
static void set_manager(struct profile_delivery *q)
{
	for (size_t i = 0; i < q->passed.label_count; i++) {
		if (*q->manager && strcmp(q->passed.labels[i].name, "manager") == 0)
			q->passed.labels[i].value = q->manager;
	}
}

static void note_store(struct profiles *p, bool works, const char *why)
{
	uint64_t now_ns = clock_boottime_ns();

	pthread_mutex_lock(&p->mutex);
	p->away_until_ns = works ? 0 : now_ns + AWAY_NS;
	if (!works && log_repeat_due(&p->store_log, now_ns))
		log_warn("profiles: the store takes none: %s: they wait on the nodes",
			 why);
	else if (works && log_repeat_over(&p->store_log))
		log_info("profiles: the store takes them again");
	pthread_mutex_unlock(&p->mutex);
}

static void judge_store(struct profile_delivery *q, const struct profile_answer *a)
{
	struct profiles *p = q->profiles;
	struct err why;

	switch (a->verdict) {
	case PROFILE_TAKEN:
		note_store(p, true, "");
		end_profile_request(q, 200, "");
		return;
	case PROFILE_REFUSED:
		note_store(p, true, "");
		say_refused_profile(p, q, a->text);
		end_profile_request(q, 400, a->text);
		return;
	default:
		(void)err_set(&why, 0, "%s: status %u: %.120s",
			      p->app->options.profiles_url, a->status, a->text);
		note_store(p, false, why.text);
		end_profile_request(q, a->status == 429 ? 429 : 503,
				    "the profile store does not take profiles now");
	}
}

static void send_on(struct profile_delivery *q, struct http_client *client)
{
	const struct options *o = &q->profiles->app->options;
	const struct http_auth auth = {.scheme = "Bearer",
				       .credentials_file = o->profiles_token_file};
	const struct profile_store store = {
		.url = o->profiles_url,
		.api = (enum profile_api)o->profiles_api,
		.tenant = o->profiles_tenant,
		.auth = *o->profiles_token_file ? &auth : NULL,
	};
	struct profile_answer a = {.verdict = PROFILE_LATER};
	struct err err = {""};

	if (clock_boottime_ns() - q->arrived_ns > PATIENCE_NS) {
		end_profile_request(q, 429, "the profile store is slow");
		return;
	}
	set_manager(q);
	if (profile_push(client, &store, &q->passed, &a, &err) < 0) {
		note_store(q->profiles, false, err.text);
		end_profile_request(q, 503,
				    "the profile store does not take profiles now");
		return;
	}
	judge_store(q, &a);
}

static struct profile_delivery *take_profile(struct profiles *p)
{
	pthread_mutex_lock(&p->mutex);
	while (!p->first && !atomic_load(&p->stop))
		pthread_cond_wait(&p->more, &p->mutex);
	struct profile_delivery *q = p->first;
	if (q) {
		p->first = q->next;
		if (!p->first)
			p->last = &p->first;
	}
	pthread_mutex_unlock(&p->mutex);
	return q;
}

static void *profiles_thread_main(void *arg)
{
	struct profiles *p = arg;
	const struct options *o = &p->app->options;
	const struct http_client_config config = {
		.ca_file = *o->profiles_ca_file ? o->profiles_ca_file : NULL,
		.timeout_ms = STORE_MS,
		.stop = &p->stop,
	};
	struct http_client *client = NULL;
	auto_buf struct buf scratch = BUF_INIT;
	struct profile_delivery *q;
	struct err err = {""};

	if (http_client_new(&config, &client, &err) < 0)
		log_error("profiles: %s", err.text);
	while ((q = take_profile(p))) {
		if (atomic_load(&p->stop) || !client)
			end_profile_request(q, 503, "the aggregator is stopping");
		else if (q->checked)
			send_on(q, client);
		else
			begin_checks(q, &scratch);
	}
	http_client_free(client);
	return NULL;
}

/* ---- the part -------------------------------------------------------------------- */

static int check_profiles_options(const struct options *o, struct err *err)
{
	const struct http_client_config config = {
		.ca_file = *o->profiles_ca_file ? o->profiles_ca_file : NULL};
	struct http_client *client = NULL;

	if (*o->profiles_url && strncmp(o->profiles_url, "http://", 7) != 0 &&
	    strncmp(o->profiles_url, "https://", 8) != 0)
		return err_set(err, -EINVAL,
			       "--profiles.url: \"%.100s\" must begin with http:// or "
			       "https://",
			       o->profiles_url);
	int rc = *o->profiles_url ? http_client_new(&config, &client, err) : 0;
	http_client_free(client);
	return rc;
}

static void stop_profiles(struct app *app)
{
	struct profiles *p = app->profiles;

	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	atomic_store(&p->stop, true);
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->mutex);
	for (unsigned i = 0; i < p->thread_count; i++)
		pthread_join(p->threads[i], NULL);
	p->thread_count = 0;
}

static void close_profiles_part(struct app *app)
{
	struct profiles *p = app->profiles;

	app->profiles = NULL;
	if (!p)
		return;
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

static int open_profiles_part(struct app *app, struct err *err)
{
	int rc = 0;

	if (!*app->options.profiles_url)
		return 0;
	struct profiles *p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->app = app;
	p->last = &p->first;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->more, NULL);
	app->profiles = p;
	while (rc == 0 && p->thread_count < THREADS) {
		rc = -pthread_create(&p->threads[p->thread_count], NULL,
				     profiles_thread_main, p);
		p->thread_count += rc == 0;
	}
	if (rc == 0)
		return 0;
	stop_profiles(app);
	close_profiles_part(app);
	return err_set(err, rc, "profiles: start thread: %s", strerror(-rc));
}

static void put_profiles_metrics(struct app *app, struct prom *out)
{
	static const struct prom_family results = {
		"ceems_aggregator_profiles_total", PROM_COUNTER,
		"Profiles that nodes sent, by what became of them: taken by the store, "
		"refused, not_yet (its unit is not known yet), busy, store_failed"};
	static const struct prom_family waiting = {
		"ceems_aggregator_profiles_waiting", PROM_GAUGE,
		"Profiles that are being checked, or that the store has not answered"};
	static const char *const names[RESULTS] = {"taken", "refused", "not_yet",
						   "busy", "store_failed"};
	struct profiles *p = app->profiles;

	if (!p)
		return;
	for (int i = 0; i < RESULTS; i++)
		prom_put_one(out, &results, "result", names[i],
			     atomic_load(&p->results[i]));
	pthread_mutex_lock(&p->mutex);
	unsigned requests = p->requests;
	pthread_mutex_unlock(&p->mutex);
	prom_put_one(out, &waiting, NULL, NULL, requests);
}

const struct part part_profiles = {
	.name = "profiles",
	.check = check_profiles_options,
	.open = open_profiles_part,
	.metrics = put_profiles_metrics,
	.stop = stop_profiles,
	.close = close_profiles_part,
};
