/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Group commit: which pushes are written together, and their results. The writing
 * itself is in ingest_write.c. */
#include "aggregator/ingest/ingest_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/ingest/ingest_write.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/wait.h"

#define KNOWN_MAX 500000u

struct ingest_writer {
	struct ingest_writer_params params;
	struct ingest_write *write;
	struct known *known;
	struct ingest_counters counters;
	pthread_mutex_t mutex;
	pthread_cond_t more, less;
	pthread_t thread;
	bool has_thread, stopping;
	struct ingest_ticket *first, **last;
	uint64_t waiting_rows;
	struct log_repeat failing;
	/* for the writer's thread only */
	struct ingest_ticket *tickets[INGEST_GROUP_MAX];
	struct ingest_group *group;
};

struct known *ingest_writer_known(struct ingest_writer *w)
{
	return w->known;
}

struct ingest_counters *ingest_writer_counters(struct ingest_writer *w)
{
	return &w->counters;
}

uint64_t ingest_writer_waiting_rows(struct ingest_writer *w)
{
	pthread_mutex_lock(&w->mutex);
	uint64_t n = w->waiting_rows;
	pthread_mutex_unlock(&w->mutex);
	return n;
}

int ingest_writer_submit(struct ingest_writer *w, struct ingest_ticket *t)
{
	int rc = 0;

	t->next = NULL;
	t->since_ns = clock_read_ns(CLOCK_MONOTONIC);
	pthread_mutex_lock(&w->mutex);
	while (!w->stopping && w->waiting_rows >= INGEST_WAITING_ROWS)
		pthread_cond_wait(&w->less, &w->mutex);
	if (w->stopping) {
		rc = -ECANCELED;
	} else {
		*w->last = t;
		w->last = &t->next;
		w->waiting_rows += ingest_push_rows(&t->push);
		pthread_cond_signal(&w->more);
	}
	pthread_mutex_unlock(&w->mutex);
	return rc;
}

static struct ingest_ticket *pop_ticket(struct ingest_writer *w)
{
	struct ingest_ticket *t = w->first;

	w->first = t->next;
	if (!w->first)
		w->last = &w->first;
	w->waiting_rows -= ingest_push_rows(&t->push);
	return t;
}

/* Waits for a first push, then briefly for more. Returns how many; 0: stop. */
static uint32_t gather_tickets(struct ingest_writer *w)
{
	uint32_t n = 0;
	uint64_t rows = 0;

	pthread_mutex_lock(&w->mutex);
	while (!w->first && !w->stopping)
		pthread_cond_wait(&w->more, &w->mutex);
	while (!w->stopping && w->waiting_rows < INGEST_GROUP_ROWS) {
		uint64_t until = w->first->since_ns + INGEST_GROUP_MS * NSEC_PER_MSEC;
		uint64_t quiet = clock_read_ns(CLOCK_MONOTONIC) +
				 INGEST_QUIET_MS * NSEC_PER_MSEC;
		/* senders that wait for an answer send nothing else meanwhile */
		until = quiet < until ? quiet : until;
		struct timespec ts = wait_at(until);
		if (pthread_cond_timedwait(&w->more, &w->mutex, &ts) == ETIMEDOUT)
			break;
	}
	while (!w->stopping && w->first && n < INGEST_GROUP_MAX &&
	       (!n || rows + ingest_push_rows(&w->first->push) <= INGEST_GROUP_ROWS)) {
		w->tickets[n] = pop_ticket(w);
		rows += ingest_push_rows(&w->tickets[n++]->push);
	}
	pthread_cond_broadcast(&w->less);
	pthread_mutex_unlock(&w->mutex);
	return n;
}

static void count_push_rows(struct ingest_writer *w, const struct ingest_push *p)
{
	struct ingest_counters *c = &w->counters;

	for (uint32_t i = 0; i < p->node_count; i++) {
		const struct ingest_node *n = &p->nodes[i];
		known_put(w->known, n->instance,
			  (struct known_place){
				  .shift_ms = n->shift_ms,
				  .flagged = n->over_ns != 0,
				  .owner = known_owner(w->known,
						       ingest_push_text(p, n->cluster),
						       ingest_push_text(p, n->node)),
			  });
		if (n->type == 17)
			atomic_fetch_add(&c->starts, 1);
		else if (n->type == 19)
			atomic_fetch_add(&c->finals, 1);
	}
	atomic_fetch_add(&c->intervals, p->interval_count);
	atomic_fetch_add(&c->jobs, p->job_count);
	atomic_fetch_add(&c->pushes, 1);
}

static int write_some(struct ingest_writer *w, uint32_t from, uint32_t n,
		      struct err *err)
{
	uint64_t began = clock_read_ns(CLOCK_MONOTONIC);

	w->group->count = n;
	w->group->known = w->known;
	for (uint32_t i = 0; i < n; i++)
		w->group->pushes[i] = &w->tickets[from + i]->push;
	int rc = ingest_write(w->write, w->group, &w->counters, err);
	atomic_fetch_add(&w->counters.write_ns, clock_read_ns(CLOCK_MONOTONIC) - began);
	if (rc < 0) {
		/* it may come back as another database */
		if (rc == -EHOSTDOWN)
			known_forget(w->known);
		return rc;
	}
	atomic_fetch_add(&w->counters.groups, 1);
	for (uint32_t i = 0; i < n; i++)
		count_push_rows(w, w->group->pushes[i]);
	return 0;
}

static void tell_ticket(struct ingest_writer *w, uint32_t i, int rc,
			const struct err *err)
{
	struct ingest_ticket *t = w->tickets[i];

	if (rc < 0)
		atomic_fetch_add(&w->counters.failed, 1);
	t->done(t->arg, rc, err);
}

static void say_write_result(struct ingest_writer *w, int rc, const struct err *err)
{
	uint64_t now = clock_boottime_ns();

	if (rc < 0 && log_repeat_due(&w->failing, now))
		log_warn("ingest: reports are not written: %s: nodes keep them",
			 err->text);
	else if (rc == 0 && log_repeat_over(&w->failing))
		log_info("ingest: reports are written again");
}

static void write_group(struct ingest_writer *w, uint32_t n)
{
	struct err err = {""};
	int rc = write_some(w, 0, n, &err);

	if (rc == 0 || rc == -ENOSPC)
		atomic_store(&w->counters.full_ns, rc ? clock_boottime_ns() : 0);
	bool of_one = rc == -EINVAL || rc == -ESTALE;
	say_write_result(w, of_one ? 0 : rc, &err);
	if (!of_one || n == 1) {
		for (uint32_t i = 0; i < n; i++)
			tell_ticket(w, i, rc, &err);
		return;
	}
	/* one of them is bad: write the others */
	for (uint32_t i = 0; i < n; i++) {
		err = (struct err){""};
		rc = write_some(w, i, 1, &err);
		atomic_fetch_add(&w->counters.alone, 1);
		tell_ticket(w, i, rc, &err);
	}
}

static void *writer_thread_main(void *arg)
{
	struct ingest_writer *w = arg;
	uint32_t n;

	while ((n = gather_tickets(w)) > 0)
		write_group(w, n);
	return NULL;
}

int ingest_writer_new(const struct ingest_writer_params *params,
		      struct ingest_writer **ret, struct err *err)
{
	struct ingest_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->params = *params;
	w->last = &w->first;
	pthread_mutex_init(&w->mutex, NULL);
	wait_cond_init(&w->more);
	pthread_cond_init(&w->less, NULL);
	w->known = known_new(KNOWN_MAX);
	w->group = calloc(1, sizeof(*w->group));
	int rc = w->known && w->group ? 0 : err_set(err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = ingest_write_new(&params->pg, params->rollup_ms, &w->write, err);
	if (rc == 0) {
		rc = -pthread_create(&w->thread, NULL, writer_thread_main, w);
		if (rc < 0)
			(void)err_set(err, rc, "ingest: start thread: %s",
				      strerror(-rc));
	}
	if (rc < 0) {
		ingest_writer_free(w);
		return rc;
	}
	w->has_thread = true;
	*ret = w;
	return 0;
}

void ingest_writer_stop(struct ingest_writer *w)
{
	static const struct err ending = {"the aggregator is stopping"};

	pthread_mutex_lock(&w->mutex);
	w->stopping = true;
	pthread_cond_broadcast(&w->more);
	pthread_cond_broadcast(&w->less);
	pthread_mutex_unlock(&w->mutex);
	if (w->has_thread)
		pthread_join(w->thread, NULL);
	w->has_thread = false;
	while (w->first) {
		struct ingest_ticket *t = pop_ticket(w);
		t->done(t->arg, -ECANCELED, &ending);
	}
}

void ingest_writer_free(struct ingest_writer *w)
{
	if (!w)
		return;
	ingest_writer_stop(w);
	ingest_write_free(w->write);
	known_free(w->known);
	free(w->group);
	pthread_cond_destroy(&w->more);
	pthread_cond_destroy(&w->less);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}
