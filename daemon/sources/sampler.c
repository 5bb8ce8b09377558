/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread per energy source. A thread works on private data, and publishes under a
 * lock that is held only for a swap or a copy. */
#include "daemon/sources/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/periodic.h"
#include "lib/wait.h"

#define REOPEN_NS (60 * NSEC_PER_SEC)
#define FIRST_MS 200u
#define END_MS 2000u
#define STACK_BYTES ((size_t)256 << 10)

struct seat {
	struct sampler *owner;
	const struct source *source;

	/* of the thread that samples */
	void *state;
	struct source_snapshot work;
	uint64_t reopen_ns;
	struct log_repeat failing, partial;
	bool said_open;
	struct periodic thread;

	/* under owner->mutex */
	struct source_snapshot published;
	bool has_published, tried;
	uint64_t asking_ns; /* start of the running sampling; 0: none */
	uint64_t period_ms;
	int open_rc;
	struct err open_err;
};

struct sampler {
	const struct env *env;
	uint64_t period_ms;
	pthread_mutex_t mutex;
	pthread_cond_t tried;
	uint64_t rounds; /* samplings that have ended */
	struct seat *seats;
	size_t count;
};

static void say_open(struct seat *t, int rc, const struct err *err, uint64_t now_ns)
{
	const char *name = t->source->name;

	if (rc == 0 && (t->said_open || log_repeat_over(&t->failing)))
		log_info("energy source %s: on", name);
	else if (rc == -ENODEV && !t->said_open)
		log_info("energy source %s: not on this machine (%s)", name,
			 err_text(err));
	else if (rc < 0 && rc != -ENODEV && log_repeat_due(&t->failing, now_ns))
		log_warn("energy source %s: %s, off until it can be opened", name,
			 err_text(err));
	t->said_open = rc != 0;
}

static uint64_t period_of(const struct seat *t)
{
	uint64_t ms = t->owner->period_ms;
	uint64_t gap_ms = t->source->gap_ms ? t->source->gap_ms(t->state) : UINT64_MAX;
	uint64_t pace_ms = t->source->pace_ms ? t->source->pace_ms(t->state) : 0;

	if (pace_ms > ms)
		ms = pace_ms;
	return gap_ms < ms ? gap_ms : ms;
}

static void set_period(struct seat *t)
{
	uint64_t period_ms = period_of(t);

	pthread_mutex_lock(&t->owner->mutex);
	t->period_ms = period_ms;
	pthread_mutex_unlock(&t->owner->mutex);
}

static void open_seat(struct seat *t)
{
	struct sampler *s = t->owner;
	uint64_t now_ns = s->env->boottime_ns();
	struct err err = {""};
	void *state = NULL;
	int rc = t->source->open(s->env, &state, &err);

	say_open(t, rc, &err, now_ns);
	t->reopen_ns = now_ns + REOPEN_NS;
	t->state = rc == 0 ? state : NULL;
	pthread_mutex_lock(&s->mutex);
	if (rc == 0)
		t->period_ms = period_of(t);
	t->open_rc = rc;
	t->open_err = err;
	pthread_mutex_unlock(&s->mutex);
}

static void publish_snapshot(struct seat *t)
{
	struct sampler *s = t->owner;
	uint64_t period_ms = period_of(t);

	pthread_mutex_lock(&s->mutex);
	struct source_snapshot old = t->published;
	t->published = t->work;
	t->work = old;
	t->has_published = true;
	t->period_ms = period_ms;
	pthread_mutex_unlock(&s->mutex);
}

static void note_asking(struct seat *t, uint64_t ns)
{
	pthread_mutex_lock(&t->owner->mutex);
	t->asking_ns = ns;
	pthread_mutex_unlock(&t->owner->mutex);
}

static void sample_seat(struct seat *t)
{
	uint64_t now_ns = t->owner->env->boottime_ns();
	const char *name = t->source->name;
	struct err err = {""};

	if (!t->state && now_ns >= t->reopen_ns)
		open_seat(t);
	if (!t->state)
		return;
	source_snapshot_reset(&t->work);
	note_asking(t, now_ns);
	int rc = t->source->sample(t->state, &t->work, &err);
	note_asking(t, 0);
	if (rc == -EINPROGRESS)
		return;
	if (rc < 0) {
		set_period(t);
		if (log_repeat_due(&t->failing, now_ns))
			log_warn("energy source %s: %s, its last reading ages", name,
				 err.text[0] ? err.text : strerror(-rc));
		return;
	}
	if (log_repeat_over(&t->failing))
		log_info("energy source %s: works again", name);
	if (t->work.partial.text[0]) {
		if (log_repeat_due(&t->partial, now_ns))
			log_warn("energy source %s: %s, the rest continues", name,
				 t->work.partial.text);
	} else if (log_repeat_over(&t->partial)) {
		log_info("energy source %s: all of it works again", name);
	}
	t->work.sampled_ns = now_ns;
	publish_snapshot(t);
}

static uint64_t sampler_turn(void *arg)
{
	struct seat *t = arg;
	struct sampler *s = t->owner;
	uint64_t start_ns = clock_read_ns(CLOCK_MONOTONIC);

	pthread_mutex_lock(&s->mutex);
	uint64_t period_ms = t->period_ms;
	pthread_mutex_unlock(&s->mutex);
	sample_seat(t);
	pthread_mutex_lock(&s->mutex);
	t->tried = true;
	s->rounds++;
	pthread_cond_broadcast(&s->tried);
	pthread_mutex_unlock(&s->mutex);
	return periodic_rest_ms(start_ns, period_ms);
}

int sampler_new(const struct env *env, uint64_t period_ms,
		const struct source *const *sources, size_t count, struct sampler **ret,
		struct err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "sampler: out of memory");
	s->env = env;
	s->period_ms = period_ms ? period_ms : 1;
	s->seats = calloc(count + 1, sizeof(*s->seats));
	if (!s->seats) {
		free(s);
		return err_set(err, -ENOMEM, "sampler: out of memory");
	}
	pthread_mutex_init(&s->mutex, NULL);
	wait_cond_init(&s->tried);
	for (; s->count < count; s->count++) {
		struct seat *t = &s->seats[s->count];
		periodic_init(&t->thread);
		t->owner = s;
		t->source = sources[s->count];
		t->period_ms = s->period_ms;
		open_seat(t);
	}
	*ret = s;
	return 0;
}

static bool all_tried(const struct sampler *s)
{
	for (size_t i = 0; i < s->count; i++) {
		if (!s->seats[i].tried)
			return false;
	}
	return true;
}

/* Waits so that the first scrape has the values of sensors of normal speed. */
static void wait_for_first(struct sampler *s)
{
	struct timespec until = wait_in(FIRST_MS);

	pthread_mutex_lock(&s->mutex);
	while (!all_tried(s) &&
	       pthread_cond_timedwait(&s->tried, &s->mutex, &until) == 0)
		;
	pthread_mutex_unlock(&s->mutex);
}

int sampler_start(struct sampler *s, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->count && rc == 0; i++)
		rc = periodic_start(&s->seats[i].thread, STACK_BYTES, sampler_turn,
				    NULL, &s->seats[i]);
	if (rc == 0)
		wait_for_first(s);
	return rc ? err_set(err, rc, "sampler: thread: %s", strerror(-rc)) : 0;
}

void sampler_run(struct sampler *s)
{
	for (size_t i = 0; i < s->count; i++)
		sample_seat(&s->seats[i]);
}

static struct seat *find_sampler_seat(struct sampler *s, const struct source *source)
{
	for (size_t i = 0; s && i < s->count; i++) {
		if (s->seats[i].source == source)
			return &s->seats[i];
	}
	return NULL;
}

void sampler_resume(struct sampler *s, const struct source *source,
		    const struct meter_checkpoint_mark *mark)
{
	struct seat *t = find_sampler_seat(s, source);

	if (t && t->state && source->resume && mark->at_ns)
		source->resume(t->state, mark);
}

/* Mutex held */
static int open_error(const struct seat *t, struct err *err)
{
	return t->open_rc < 0 ? err_set(err, t->open_rc, "%s", t->open_err.text) : 0;
}

int sampler_get(struct sampler *s, const struct source *source,
		struct source_snapshot *ret, struct err *err)
{
	struct seat *t = find_sampler_seat(s, source);

	if (!t)
		return err_set(err, -ENODEV, "%s is not sampled", source->name);
	pthread_mutex_lock(&s->mutex);
	int rc = open_error(t, err);
	if (rc == 0 && !t->has_published)
		rc = err_set(err, -EAGAIN, "%s: nothing sampled yet", source->name);
	if (rc == 0 && source_snapshot_copy(ret, &t->published) < 0)
		rc = err_set(err, -ENOMEM, "%s: out of memory", source->name);
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

int sampler_is_open(struct sampler *s, const struct source *source, struct err *err)
{
	struct seat *t = find_sampler_seat(s, source);

	if (!t)
		return err_set(err, -ENODEV, "%s is not sampled", source->name);
	pthread_mutex_lock(&s->mutex);
	int rc = open_error(t, err);
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

static bool snapshot_has_domain(const struct source_snapshot *s, unsigned domains)
{
	for (size_t i = 0; i < s->count; i++) {
		if (domains & 1u << s->channels[i].domain)
			return true;
	}
	return false;
}

int sampler_measures(struct sampler *s, const struct source *except, unsigned domains)
{
	int rc = 0;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->mutex);
	for (size_t i = 0; i < s->count && rc != 1; i++) {
		const struct seat *t = &s->seats[i];
		if (t->source == except)
			continue;
		if (t->has_published && snapshot_has_domain(&t->published, domains))
			rc = 1;
		else if (!t->has_published && t->open_rc == 0)
			rc = -EAGAIN;
	}
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

uint64_t sampler_period_ms(struct sampler *s, const struct source *source)
{
	struct seat *t = find_sampler_seat(s, source);

	if (!t)
		return 0;
	pthread_mutex_lock(&s->mutex);
	uint64_t ms = t->period_ms;
	pthread_mutex_unlock(&s->mutex);
	return ms;
}

size_t sampler_count(const struct sampler *s)
{
	return s ? s->count : 0;
}

const struct source *sampler_source(const struct sampler *s, size_t i)
{
	return s->seats[i].source;
}

uint64_t sampler_asking_ns(struct sampler *s, const struct source *source)
{
	struct seat *t = find_sampler_seat(s, source);

	if (!t)
		return 0;
	pthread_mutex_lock(&s->mutex);
	uint64_t ns = t->asking_ns;
	pthread_mutex_unlock(&s->mutex);
	return ns;
}

void sampler_wait(struct sampler *s, uint64_t *io_round, uint64_t timeout_ms)
{
	struct timespec until = wait_in(timeout_ms);

	pthread_mutex_lock(&s->mutex);
	while (s->rounds == *io_round &&
	       pthread_cond_timedwait(&s->tried, &s->mutex, &until) == 0)
		;
	*io_round = s->rounds;
	pthread_mutex_unlock(&s->mutex);
}

void sampler_wake(struct sampler *s)
{
	pthread_mutex_lock(&s->mutex);
	s->rounds++;
	pthread_cond_broadcast(&s->tried);
	pthread_mutex_unlock(&s->mutex);
}

static bool end_thread(struct seat *t)
{
	struct timespec until = wait_in(END_MS);

	if (periodic_join(&t->thread, &until) == 0)
		return true;
	log_warn("energy source %s: its thread still waits for the sensor, exiting "
		 "without it",
		 t->source->name);
	return false;
}

void sampler_free(struct sampler *s)
{
	bool all = true;

	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		periodic_ask_stop(&s->seats[i].thread);
	for (size_t i = 0; i < s->count; i++)
		all = end_thread(&s->seats[i]) && all;
	if (!all)
		return; /* abandoned threads may still use all of this */
	for (size_t i = 0; i < s->count; i++) {
		struct seat *t = &s->seats[i];
		periodic_done(&t->thread);
		t->source->close(t->state);
		source_snapshot_done(&t->work);
		source_snapshot_done(&t->published);
	}
	pthread_cond_destroy(&s->tried);
	pthread_mutex_destroy(&s->mutex);
	free(s->seats);
	free(s);
}
