/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Worker threads with a connection each. Everything shared is protected by one mutex;
 * the first thread checks whether a database that was down is back. */
#include "lib/pg/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/wait.h"

#define THREADS 4
#define QUEUE_MAX 256
#define DEADLINE_MS 10000
/* how often an idle connection is probed, so that health is accurate */
#define PROBE_MS 5000
#define PROBE_ANSWER_MS 3000
#define RETRY_MS 200

struct pool_worker {
	struct pg_pool *pool;
	struct pg *pg;
	pthread_t thread;
	bool started, first;
};

struct pg_pool {
	struct pg_pool_params params;
	unsigned queue_max, deadline_ms;
	pthread_mutex_t mutex;
	pthread_cond_t work, idle; /* CLOCK_MONOTONIC */
	struct pg_job *head, **tail;
	struct pool_worker *workers;
	unsigned worker_count;
	bool stopping, tried, suspect;
	struct pg_pool_state state;
};

static struct pg_job *pop_pool_job(struct pg_pool *p)
{
	struct pg_job *job = p->head;

	if (job) {
		p->head = job->next;
		if (!p->head)
			p->tail = &p->head;
		p->state.queued--;
	}
	return job;
}

static void end_job(struct pg_job *job, int rc, const char *text)
{
	struct err err;

	(void)err_set(&err, rc, "%s", text);
	job->done(job->arg, rc, &err);
}

/* Mutex held, but released while done() runs. */
static void end_all(struct pg_pool *p, int rc, const char *text)
{
	struct err why;
	struct pg_job *job;

	(void)err_set(&why, rc, "%s", text);
	while ((job = pop_pool_job(p))) {
		pthread_mutex_unlock(&p->mutex);
		end_job(job, rc, why.text);
		pthread_mutex_lock(&p->mutex);
	}
}

/* Mutex held. */
static void set_down(struct pg_pool *p, int rc, const struct err *why)
{
	bool was_up = p->state.up, first = !p->tried;
	bool news = was_up || first || strcmp(p->state.why.text, why->text) != 0;

	p->state.up = false;
	p->tried = true;
	p->state.reason = rc;
	p->state.why = *why;
	if (was_up)
		p->state.losses++;
	pthread_cond_broadcast(&p->idle);
	if (news && p->params.on_change)
		p->params.on_change(p->params.arg, false, why->text);
	end_all(p, -EHOSTDOWN, why->text);
}

/* Mutex held. */
static void set_up(struct pg_pool *p, struct pg *pg)
{
	p->state.up = true;
	p->tried = true;
	p->state.connects++;
	p->state.version = pg_version(pg);
	snprintf(p->state.where, sizeof(p->state.where), "%s", pg_where(pg));
	pthread_cond_broadcast(&p->idle);
	if (p->params.on_change)
		p->params.on_change(p->params.arg, true, p->state.where);
}

/* On the first thread, mutex held: checks whether the database is up. */
static void look_at_database(struct pool_worker *w)
{
	struct pg_pool *p = w->pool;
	struct err err = {""};
	bool was_up = p->state.up;

	p->suspect = false;
	pthread_mutex_unlock(&p->mutex);
	pg_statement_timeout(w->pg, PROBE_ANSWER_MS);
	int rc = pg_connect(w->pg, &err);
	if (rc == 0)
		rc = pg_exec(w->pg, "SELECT 1", NULL, &err);
	pg_statement_timeout(w->pg, 0);
	if (rc == -EHOSTDOWN &&
	    was_up) /* the connection was lost, and may be back already */
		rc = pg_connect(w->pg, &err);
	else if (rc == 0 && !was_up && p->params.on_up)
		rc = p->params.on_up(w->pg, p->params.arg, &err);
	pthread_mutex_lock(&p->mutex);
	if (p->stopping)
		return;
	if (rc < 0 && (!was_up || rc == -EHOSTDOWN))
		set_down(p, rc == -EHOSTDOWN && pg_read_only(w->pg) ? -EROFS : rc,
			 &err);
	else if (!p->state.up && !was_up)
		set_up(p, w->pg);
}

/* Mutex held, but released while the job runs. */
static void run_pool_job(struct pool_worker *w, struct pg_job *job)
{
	struct pg_pool *p = w->pool;
	uint64_t begin_ns = clock_boottime_ns();
	struct err err = {""};

	if (begin_ns >= job->deadline_ns) {
		p->state.expired++;
		pthread_mutex_unlock(&p->mutex);
		end_job(job, -ETIME, "the database is too busy");
		pthread_mutex_lock(&p->mutex);
		return;
	}
	p->state.busy++;
	pthread_mutex_unlock(&p->mutex);
	pg_statement_timeout(
		w->pg, (unsigned)((job->deadline_ns - begin_ns) / NSEC_PER_MSEC) + 1);
	pg_connect_now(w->pg); /* the first thread decides on back-off */
	int rc = pg_connect(w->pg, &err);
	if (rc == 0)
		rc = job->run(w->pg, job->arg, &err);
	pg_statement_timeout(w->pg, 0);
	pthread_mutex_lock(&p->mutex);
	p->state.busy--;
	if (p->stopping)
		pthread_cond_broadcast(&p->idle);
	p->state.jobs++;
	p->state.busy_ns += clock_boottime_ns() - begin_ns;
	if (rc < 0)
		p->state.failed++;
	/* one lost connection says little about the others: the first thread checks */
	if (rc == -EHOSTDOWN && p->state.up) {
		p->suspect = true;
		pthread_cond_broadcast(&p->work);
	}
	pthread_mutex_unlock(&p->mutex);
	job->done(job->arg, rc, &err);
	pthread_mutex_lock(&p->mutex);
}

static void first_waits(struct pool_worker *w)
{
	struct pg_pool *p = w->pool;
	struct timespec until = wait_in(p->state.up ? PROBE_MS : RETRY_MS);

	if (pthread_cond_timedwait(&p->work, &p->mutex, &until) == ETIMEDOUT &&
	    !p->stopping)
		look_at_database(w);
}

static void *serve_pool_jobs(void *arg)
{
	struct pool_worker *w = arg;
	struct pg_pool *p = w->pool;

	pthread_mutex_lock(&p->mutex);
	if (w->first)
		look_at_database(w);
	while (!p->stopping) {
		struct pg_job *job = NULL;
		if (w->first && p->suspect)
			look_at_database(w);
		else if (p->state.up && (job = pop_pool_job(p)))
			run_pool_job(w, job);
		else if (!w->first)
			pthread_cond_wait(&p->work, &p->mutex);
		else
			first_waits(w);
	}
	pthread_cond_broadcast(&p->idle);
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

static int start_worker(struct pg_pool *p, struct pool_worker *w, struct err *err)
{
	int rc = pg_new(&p->params.pg, &w->pg, err);

	if (rc < 0)
		return rc;
	w->pool = p;
	w->first = w == p->workers;
	rc = -pthread_create(&w->thread, NULL, serve_pool_jobs, w);
	if (rc < 0)
		return err_set(err, rc, "thread: %s", strerror(-rc));
	w->started = true;
	return 0;
}

int pg_pool_new(const struct pg_pool_params *params, struct pg_pool **ret,
		struct err *err)
{
	struct pg_pool *p = calloc(1, sizeof(*p));
	int rc = 0;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->params = *params;
	p->queue_max = params->queue_max ? params->queue_max : QUEUE_MAX;
	p->deadline_ms = params->deadline_ms ? params->deadline_ms : DEADLINE_MS;
	p->worker_count = params->threads ? params->threads : THREADS;
	if (p->worker_count > PG_POOL_THREADS_MAX)
		p->worker_count = PG_POOL_THREADS_MAX;
	p->state.threads = p->worker_count;
	p->tail = &p->head;
	pthread_mutex_init(&p->mutex, NULL);
	wait_cond_init(&p->work);
	wait_cond_init(&p->idle);
	(void)err_set(&p->state.why, -EHOSTDOWN, "not connected yet");
	p->state.reason = -EHOSTDOWN;
	p->workers = calloc(p->worker_count, sizeof(*p->workers));
	if (!p->workers)
		rc = err_set(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; rc == 0 && i < p->worker_count; i++)
		rc = start_worker(p, &p->workers[i], err);
	if (rc < 0) {
		pg_pool_stop(p, 0);
		pg_pool_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

int pg_pool_submit(struct pg_pool *p, struct pg_job *job, struct err *err)
{
	unsigned ms = job->deadline_ms ? job->deadline_ms : p->deadline_ms;
	int rc = 0;

	pthread_mutex_lock(&p->mutex);
	if (p->stopping)
		rc = err_set(err, -ECANCELED, "the program is stopping");
	else if (!p->state.up)
		rc = err_set(err, -EHOSTDOWN, "%s", p->state.why.text);
	else if (p->state.queued >= p->queue_max)
		rc = err_set(err, -EAGAIN, "the database is too busy");
	if (rc < 0) {
		p->state.refused++;
	} else {
		job->deadline_ns = clock_boottime_ns() + ms * NSEC_PER_MSEC;
		job->next = NULL;
		*p->tail = job;
		p->tail = &job->next;
		p->state.queued++;
		pthread_cond_signal(&p->work);
	}
	pthread_mutex_unlock(&p->mutex);
	return rc;
}

void pg_pool_get_state(struct pg_pool *p, struct pg_pool_state *ret)
{
	pthread_mutex_lock(&p->mutex);
	*ret = p->state;
	pthread_mutex_unlock(&p->mutex);
}

bool pg_pool_wait(struct pg_pool *p, unsigned ms)
{
	struct timespec until = wait_in(ms);

	pthread_mutex_lock(&p->mutex);
	while (!p->tried && !p->stopping &&
	       pthread_cond_timedwait(&p->idle, &p->mutex, &until) == 0)
		;
	bool up = p->state.up;
	pthread_mutex_unlock(&p->mutex);
	return up;
}

void pg_pool_stop(struct pg_pool *p, unsigned grace_ms)
{
	struct timespec until = wait_in(grace_ms);

	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->stopping = true;
	pthread_cond_broadcast(&p->work);
	end_all(p, -ECANCELED, "the program is stopping");
	while (p->state.busy &&
	       pthread_cond_timedwait(&p->idle, &p->mutex, &until) == 0)
		;
	pthread_mutex_unlock(&p->mutex);
	for (unsigned i = 0; p->workers && i < p->worker_count; i++) {
		if (p->workers[i].started)
			pg_interrupt(p->workers[i].pg);
	}
	for (unsigned i = 0; p->workers && i < p->worker_count; i++) {
		if (p->workers[i].started)
			pthread_join(p->workers[i].thread, NULL);
		p->workers[i].started = false;
	}
}

void pg_pool_free(struct pg_pool *p)
{
	if (!p)
		return;
	for (unsigned i = 0; p->workers && i < p->worker_count; i++)
		pg_free(p->workers[i].pg);
	free(p->workers);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->idle);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}
