/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread for each task, so that each waits for its server alone. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "courier/courier.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/wait.h"

#define LONGEST_WAIT_MS 60000u
#define REOPEN_MS 60000u
#define END_SECONDS 3
#define STACK_BYTES ((size_t)512 << 10)

struct task_thread {
	struct task_threads *threads;
	const struct task *task;
	void *state;
	pthread_t thread;
	bool has_thread;
	unsigned failures; /* consecutive */
	int said_rc;
	bool said_any;
	struct log_repeat log;
};

struct task_threads {
	struct courier *courier;
	pthread_mutex_t mutex;
	pthread_cond_t wake; /* for the end */
	struct task_thread *seats;
	size_t count;
};

static void say_task_result(struct task_thread *t, int rc, const struct err *err,
			    uint64_t wait_ms)
{
	uint64_t now_ns = clock_boottime_ns();

	if (rc < 0 && rc != -ECANCELED && log_repeat_due(&t->log, now_ns))
		log_warn("%s: %s, tried again in %llu s", t->task->name,
			 err->text[0] ? err->text : strerror(-rc),
			 (unsigned long long)(wait_ms + 999) / 1000);
	else if (rc == 0 && log_repeat_over(&t->log))
		log_info("%s: works again", t->task->name);
	if (!t->said_any || rc != t->said_rc)
		courier_send_health(t->threads->courier, t->task->name, rc, err->text,
				    now_ns);
	t->said_any = true;
	t->said_rc = rc;
}

/* Milliseconds until the next poll */
static uint64_t wait_of(const struct task_thread *t)
{
	uint64_t period_ms = t->state ? t->task->period_ms(t->state) : REOPEN_MS;
	uint64_t longest = period_ms > LONGEST_WAIT_MS ? period_ms : LONGEST_WAIT_MS;
	unsigned shift = t->failures < 10 ? t->failures : 10;

	if (t->state && t->task->paces)
		return period_ms;
	return period_ms << shift < longest ? period_ms << shift : longest;
}

/* Opens the task if needed, then polls it. */
static int work_task(struct task_thread *t, struct err *err)
{
	int rc = 0;

	if (!t->state)
		rc = t->task->open(t->threads->courier, &t->state, err);
	return rc < 0 ? rc : t->task->poll(t->state, err);
}

static void *thread_main(void *arg)
{
	struct task_thread *t = arg;
	struct task_threads *w = t->threads;
	const struct courier *c = w->courier;

	while (!atomic_load(&c->stop)) {
		struct err err = {""};
		uint64_t start = clock_read_ns(CLOCK_MONOTONIC);
		int rc = work_task(t, &err);
		t->failures = rc < 0 ? t->failures + 1 : 0;
		uint64_t wait_ms = wait_of(t);
		say_task_result(t, rc, &err, wait_ms);
		if (c->options.once)
			break;
		/* from before the poll, so that a slow server does not stretch the
		 * period */
		uint64_t took_ms =
			(clock_read_ns(CLOCK_MONOTONIC) - start) / NSEC_PER_MSEC;
		struct timespec next =
			wait_in(took_ms < wait_ms ? wait_ms - took_ms : 1);
		pthread_mutex_lock(&w->mutex);
		while (!atomic_load(&c->stop) &&
		       pthread_cond_timedwait(&w->wake, &w->mutex, &next) == 0)
			;
		pthread_mutex_unlock(&w->mutex);
	}
	t->task->close(t->state);
	t->state = NULL;
	return NULL;
}

/* Gives the task a thread, open or not, if it has anything to do. */
static int hire_thread(struct task_threads *w, const struct task *task,
		       pthread_attr_t *attr, struct err *err)
{
	struct task_thread *t = &w->seats[w->count];
	struct err why = {""};

	t->threads = w;
	t->task = task;
	int rc = task->open(w->courier, &t->state, &why);
	if (rc == -ENODEV)
		return 0;
	if (rc < 0) {
		t->failures = 1;
		say_task_result(t, rc, &why, REOPEN_MS);
	}
	rc = -pthread_create(&t->thread, attr, thread_main, t);
	if (rc < 0) {
		task->close(t->state);
		return err_set(err, rc, "thread: %s", strerror(-rc));
	}
	t->has_thread = true;
	w->count++;
	return 0;
}

int task_threads_start(struct courier *c, const struct task *const *list, size_t count,
		       struct task_threads **ret, struct err *err)
{
	struct task_threads *w = calloc(1, sizeof(*w));
	pthread_attr_t attr;
	int rc = 0;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->courier = c;
	w->seats = calloc(count + 1, sizeof(*w->seats));
	if (!w->seats) {
		free(w);
		return err_set(err, -ENOMEM, "out of memory");
	}
	pthread_mutex_init(&w->mutex, NULL);
	wait_cond_init(&w->wake);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = hire_thread(w, list[i], &attr, err);
	pthread_attr_destroy(&attr);
	if (rc < 0) {
		(void)task_threads_end(w);
		return rc;
	}
	*ret = w;
	return 0;
}

size_t task_threads_size(const struct task_threads *w)
{
	return w->count;
}

int task_threads_once(struct task_threads *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->count; i++) {
		struct task_thread *t = &w->seats[i];
		pthread_join(t->thread, NULL);
		t->has_thread = false;
		rc = t->said_rc < 0 ? t->said_rc : rc;
	}
	return rc;
}

bool task_threads_end(struct task_threads *w)
{
	bool all = true;

	if (!w)
		return true;
	atomic_store(&w->courier->stop, true);
	pthread_mutex_lock(&w->mutex);
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->mutex);
	struct timespec end = wait_in(END_SECONDS * 1000ull);
	for (size_t i = 0; i < w->count; i++) {
		if (w->seats[i].has_thread && wait_join(w->seats[i].thread, &end) != 0)
			all = false;
	}
	if (!all)
		return false;
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->mutex);
	free(w->seats);
	free(w);
	return true;
}
