/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer thread. Only fini() waits for it, and not for long. */
#include "jobcomp/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "jobcomp/names.h"
#include "jobcomp/queue.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/records/job.h"
#include "lib/records/spool.h"
#include "lib/wait.h"

#define SYNC_AFTER_MS 300u
#define NAP_MS 20u           /* between two checks of a queue in use */
#define BUSY_MS 2000u        /* how long it counts as in use after a record */
#define RETRY_LOCKED_MS 100u /* another slurmctld has the spool, usually briefly */
#define RETRY_MS 1000u
#define RETRY_NAP_MS 50u
#define STOP_RETRY_MS 50u
#define LOCKED_LONG_MS 10000u /* after which it is logged as a problem */

struct writer {
	struct queue queue;
	struct writer_log log;
	char *folder;
	struct spool_limits limits;
	uint32_t sync_after_ms;
	pthread_t thread;
	uint64_t durable;    /* under queue.lock */
	uint64_t stop_by_ns; /* CLOCK_BOOTTIME; under queue.lock, set with stop */

	/* for the thread only */
	struct spool_writer *spool; /* NULL: not available */
	uint64_t retry_at_ns, locked_since_ns, unsynced_since_ns;
	uint64_t unsynced;       /* records */
	struct queue_lost noted; /* losses recorded in the spool */
	struct log_repeat trouble, losses;
	struct names names;
};

static void say_formatted(void (*f)(const char *), const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say_formatted(void (*f)(const char *), const char *fmt, ...)
{
	char text[ERR_TEXT_MAX + 128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f(text);
}

static uint64_t ms_to_ns(uint32_t n)
{
	return n * NSEC_PER_MSEC;
}

/* ---- problems -------------------------------------------------------------------- */

static void say_trouble(struct writer *w, const struct err *err, uint64_t now_ns)
{
	if (!log_repeat_due(&w->trouble, now_ns))
		return;
	if (w->trouble.hidden)
		say_formatted(w->log.error,
			      "%s: still failing after %ju more attempts; %u "
			      "completion records wait",
			      err->text, (uintmax_t)w->trouble.hidden,
			      queue_count(&w->queue));
	else
		say_formatted(
			w->log.error,
			"%s: completion records wait in memory, jobs are not affected",
			err->text);
}

static void trouble_over(struct writer *w)
{
	if (log_repeat_over(&w->trouble))
		say_formatted(w->log.info, "%s: completion records are written again",
			      w->folder);
	log_repeat_over(&w->losses);
}

/* An end contains all that a start does, so a spool without room gives up starts. */
static enum spool_class class_of(uint32_t flags)
{
	return flags & QUEUE_START ? SPOOL_INTERVAL : SPOOL_JOB;
}

/* Records losses in the spool since the last time. */
static void tell_losses(struct writer *w, uint64_t now_ns)
{
	struct queue_lost lost = queue_lost(&w->queue);
	uint64_t starts = lost.starts - w->noted.starts;

	if (lost.all == w->noted.all)
		return;
	if (log_repeat_due(&w->losses, now_ns))
		say_formatted(
			w->log.error,
			"%s: %ju completion records of jobs are lost so far, %ju of "
			"starts, "
			"the queue was full",
			w->folder, (uintmax_t)lost.all, (uintmax_t)lost.starts);
	if (!w->spool)
		return;
	spool_count_lost(w->spool, SPOOL_JOB, lost.all - w->noted.all - starts);
	spool_count_lost(w->spool, class_of(QUEUE_START), starts);
	w->noted = lost;
	if (!w->unsynced_since_ns)
		w->unsynced_since_ns = now_ns;
}

/* ---- the spool ------------------------------------------------------------------- */

static void close_spool(struct writer *w)
{
	spool_writer_close(w->spool);
	w->spool = NULL;
	w->unsynced = w->unsynced_since_ns = 0;
	queue_rewind(&w->queue);
}

/* A re-executed slurmctld overlaps with its predecessor for some seconds. */
static bool locked_for_long(struct writer *w, uint64_t now_ns)
{
	if (!w->locked_since_ns)
		w->locked_since_ns = now_ns;
	return now_ns - w->locked_since_ns >= ms_to_ns(LOCKED_LONG_MS);
}

static void open_spool(struct writer *w, uint64_t now_ns)
{
	struct err err = {""};

	if (w->spool || now_ns < w->retry_at_ns)
		return;
	int rc = spool_writer_open(w->folder, &w->limits, &w->spool, &err);
	if (rc < 0) {
		w->spool = NULL;
		w->retry_at_ns =
			now_ns + ms_to_ns(rc == -EBUSY ? RETRY_LOCKED_MS : RETRY_MS);
		if (rc != -EBUSY || locked_for_long(w, now_ns))
			say_trouble(w, &err, now_ns);
		return;
	}
	w->locked_since_ns = 0;
}

static void add_names(struct writer *w, struct queue_item *i, uint64_t now_ns)
{
	if (i->named)
		return;
	const char *user =
		i->flags & QUEUE_HAS_USER ? "" : names_user(&w->names, i->uid, now_ns);
	const char *group = names_group(&w->names, i->gid, now_ns);
	int len = job_add_names(i->data, i->len, i->size, user, group);
	if (len > 0)
		i->len = (size_t)len;
	i->named = true;
}

/* Writes one record; false: not now. */
static bool write_one(struct writer *w, struct queue_item *i, uint64_t now_ns)
{
	struct err err = {""};

	add_names(w, i, now_ns);
	int rc = spool_try(w->spool, class_of(i->flags), i->data, i->len, NULL, &err);
	if (rc == -EMSGSIZE) { /* cannot happen: job_encode() is bounded */
		queue_drop(&w->queue);
		return true;
	}
	if (rc < 0) {
		w->retry_at_ns = now_ns + ms_to_ns(RETRY_MS);
		say_trouble(w, &err, now_ns);
		/* there may be room any time; other errors need a reopened spool */
		if (rc != -EDQUOT && rc != -ENOSPC)
			close_spool(w);
		return false;
	}
	trouble_over(w);
	queue_written(&w->queue);
	w->unsynced++;
	if (!w->unsynced_since_ns)
		w->unsynced_since_ns = now_ns;
	return true;
}

static void sync_spool(struct writer *w, uint64_t now_ns)
{
	struct err err = {""};

	if (!w->spool || !w->unsynced_since_ns)
		return;
	int rc = spool_sync(w->spool, &err);
	if (rc == 0 && spool_writer_is_stale(w->spool))
		rc = err_set(&err, -ENOENT, "%s: removed or replaced", w->folder);
	if (rc < 0) {
		say_trouble(w, &err, now_ns);
		close_spool(w); /* and write again all that is not durable */
		w->retry_at_ns = now_ns + ms_to_ns(RETRY_LOCKED_MS);
		return;
	}
	queue_free_written(&w->queue);
	pthread_mutex_lock(&w->queue.lock);
	w->durable += w->unsynced;
	pthread_mutex_unlock(&w->queue.lock);
	w->unsynced = w->unsynced_since_ns = 0;
}

/* ---- the thread ------------------------------------------------------------------ */

/* How long there is nothing to do unless a record comes. */
static uint32_t idle_ms(const struct writer *w, uint64_t now_ns)
{
	uint64_t at = now_ns + ms_to_ns(60000);

	if (w->unsynced_since_ns)
		at = w->unsynced_since_ns + ms_to_ns(w->sync_after_ms);
	else if (!w->spool)
		at = w->retry_at_ns;
	return at > now_ns ? (uint32_t)((at - now_ns) / NSEC_PER_MSEC) + 1 : 0;
}

static bool is_writer_blocked(const struct writer *w, uint64_t now_ns)
{
	return !w->spool || now_ns < w->retry_at_ns;
}

enum written { NOTHING, SOME, NOT_NOW };

static enum written write_all(struct writer *w)
{
	enum written ret = NOTHING;
	struct queue_item *i;
	uint64_t now_ns = clock_boottime_ns();

	open_spool(w, now_ns);
	while ((i = queue_peek(&w->queue, 0))) {
		now_ns = clock_boottime_ns();
		if (is_writer_blocked(w, now_ns) || !write_one(w, i, now_ns))
			return NOT_NOW;
		if (now_ns - w->unsynced_since_ns >= ms_to_ns(w->sync_after_ms))
			sync_spool(w, now_ns);
		ret = SOME;
	}
	return ret;
}

static uint64_t stop_by(struct writer *w)
{
	pthread_mutex_lock(&w->queue.lock);
	uint64_t at = w->stop_by_ns;
	pthread_mutex_unlock(&w->queue.lock);
	return at;
}

/* Writes what is queued when slurmctld ends */
static void finish_queue(struct writer *w)
{
	struct timespec pause = {.tv_nsec = STOP_RETRY_MS * 1000000L};

	for (;;) {
		w->retry_at_ns = 0;
		enum written now = write_all(w);
		sync_spool(w, clock_boottime_ns());
		tell_losses(w, clock_boottime_ns());
		if ((now != NOT_NOW && !queue_count(&w->queue)) ||
		    clock_boottime_ns() >= stop_by(w))
			break;
		nanosleep(&pause, NULL);
	}
	uint32_t left = queue_count(&w->queue);
	if (left) {
		say_formatted(w->log.error,
			      "%s: %u completion records of jobs are lost: slurmctld "
			      "is stopping and they could not be written",
			      w->folder, left);
		if (w->spool)
			spool_count_lost(w->spool, SPOOL_JOB, left);
	}
	struct err err;
	if (w->spool && spool_sync(w->spool, &err) < 0)
		say_formatted(w->log.error, "%s", err.text);
	spool_writer_close(w->spool);
	w->spool = NULL;
}

static void *writer_main(void *arg)
{
	struct writer *w = arg;
	uint64_t used_ns = 0;

	while (!queue_stopped(&w->queue)) {
		enum written now = write_all(w);
		uint64_t now_ns = clock_boottime_ns();
		if (w->unsynced_since_ns &&
		    now_ns - w->unsynced_since_ns >= ms_to_ns(w->sync_after_ms))
			sync_spool(w, now_ns);
		tell_losses(w, now_ns);
		if (now == SOME)
			used_ns = now_ns;
		/* records put during a nap need not wake us, which saves most of their
		 * cost */
		if (now == NOT_NOW)
			queue_nap(&w->queue, RETRY_NAP_MS);
		else if (now_ns - used_ns < ms_to_ns(BUSY_MS))
			queue_nap(&w->queue, NAP_MS);
		else
			(void)queue_peek(&w->queue, idle_ms(w, now_ns));
	}
	finish_queue(w);
	return NULL;
}

static int start_thread(struct writer *w, struct err *err)
{
	sigset_t all, before;

	/* signals are for slurmctld's own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&w->thread, NULL, writer_main, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return err_set(err, -rc, "cannot start the writer thread: %s",
			       strerror(rc));
	pthread_setname_np(w->thread, "ceems_jobcomp");
	return 0;
}

int writer_start(const struct writer_options *o, const struct writer_log *log,
		 struct writer **ret, struct err *err)
{
	struct writer *w = calloc(1, sizeof(*w));
	int rc = w ? queue_init(&w->queue, o->queue_count, o->queue_bytes) : -ENOMEM;

	if (rc < 0) {
		free(w);
		return err_set(err, rc, "no memory for the queue");
	}
	w->log = *log;
	w->limits.max_bytes = o->max_bytes;
	w->sync_after_ms = o->sync_after_ms ? o->sync_after_ms : SYNC_AFTER_MS;
	w->folder = strdup(o->spool);
	rc = w->folder ? start_thread(w, err) : err_set(err, -ENOMEM, "no memory");
	if (rc < 0) {
		queue_done(&w->queue);
		free(w->folder);
		free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

/* ---- other threads --------------------------------------------------------------- */

int writer_put(struct writer *w, const void *record, size_t len, uint32_t uid,
	       uint32_t gid, uint32_t flags)
{
	return queue_put(&w->queue, record, len, uid, gid, flags);
}

void writer_count_lost(struct writer *w)
{
	queue_count_lost(&w->queue);
}

bool writer_stop(struct writer *w, uint32_t wait_ms)
{
	if (!w)
		return true;
	pthread_mutex_lock(&w->queue.lock);
	w->stop_by_ns = clock_boottime_ns() + ms_to_ns(wait_ms);
	pthread_mutex_unlock(&w->queue.lock);
	queue_stop(&w->queue);
	/* the thread gives up by itself, unless it hangs */
	struct timespec until = wait_in(wait_ms + 2000ull);
	if (wait_join(w->thread, &until) != 0) {
		say_formatted(w->log.error,
			      "%s: the writer of completion records hangs, slurmctld "
			      "stops without waiting for it",
			      w->folder);
		return false;
	}
	queue_done(&w->queue);
	free(w->folder);
	free(w);
	return true;
}

void writer_stats(struct writer *w, struct writer_stats *ret)
{
	pthread_mutex_lock(&w->queue.lock);
	*ret = (struct writer_stats){.durable = w->durable,
				     .lost = w->queue.lost.all,
				     .queued = w->queue.count};
	pthread_mutex_unlock(&w->queue.lock);
}
