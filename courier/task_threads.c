/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread for each task, so that each waits for its server alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "courier/courier.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/periodic.h"
#include "lib/wait.h"

#define LONGEST_WAIT_MS 60000u
#define REOPEN_MS 60000u
#define END_SECONDS 3
#define STACK_BYTES ((size_t)512 << 10)

struct task_thread {
	struct task_threads *threads;
	const struct task *task;
	void *state;
	struct periodic thread;
	unsigned failures; /* consecutive */
	int said_rc;
	bool said_any;
	struct log_repeat log;
};

struct task_threads {
	struct courier *courier;
	struct task_thread *seats;
	size_t count;
};

uint64_t courier_random(void)
{
	uint64_t r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = clock_boottime_ns() * 2654435761u;
	return r;
}

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

static uint64_t run_task(void *arg)
{
	struct task_thread *t = arg;
	const struct courier *c = t->threads->courier;
	struct err err = {""};
	uint64_t start_ns = clock_read_ns(CLOCK_MONOTONIC);
	int rc = work_task(t, &err);

	t->failures = rc < 0 ? t->failures + 1 : 0;
	uint64_t wait_ms = wait_of(t);
	say_task_result(t, rc, &err, wait_ms);
	return c->options.once ? PERIODIC_END : periodic_rest_ms(start_ns, wait_ms);
}

/* On its own thread too: a task may have to say goodbye to its server. */
static void close_task(void *arg)
{
	struct task_thread *t = arg;

	t->task->close(t->state);
	t->state = NULL;
}

/* Gives the task a thread, open or not, if it has anything to do. */
static int hire_thread(struct task_threads *w, const struct task *task, struct err *err)
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
	periodic_init(&t->thread);
	rc = periodic_start(&t->thread, STACK_BYTES, run_task, close_task, t);
	if (rc < 0) {
		periodic_done(&t->thread);
		task->close(t->state);
		return err_set(err, rc, "thread: %s", strerror(-rc));
	}
	w->count++;
	return 0;
}

int task_threads_start(struct courier *c, const struct task *const *list, size_t count,
		       struct task_threads **ret, struct err *err)
{
	struct task_threads *w = calloc(1, sizeof(*w));
	int rc = 0;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->courier = c;
	w->seats = calloc(count + 1, sizeof(*w->seats));
	if (!w->seats) {
		free(w);
		return err_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = hire_thread(w, list[i], err);
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
		(void)periodic_join(&t->thread, NULL);
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
	for (size_t i = 0; i < w->count; i++)
		periodic_ask_stop(&w->seats[i].thread);
	struct timespec end = wait_in(END_SECONDS * 1000ull);
	for (size_t i = 0; i < w->count; i++)
		all = periodic_join(&w->seats[i].thread, &end) == 0 && all;
	if (!all)
		return false;
	for (size_t i = 0; i < w->count; i++)
		periodic_done(&w->seats[i].thread);
	free(w->seats);
	free(w);
	return true;
}
