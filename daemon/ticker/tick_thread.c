/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakes up with the sensors and ticks: a tick that waited for the main loop would
 * divide measured energy by later use. */
#include "daemon/ticker/tick_thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"

#define STACK_BYTES ((size_t)256 << 10)

struct tick_thread {
	struct tick_thread_params p;
	pthread_t thread;
	atomic_bool stopping;
	struct log_repeat failing;
};

static void tick_once(struct tick_thread *t)
{
	struct err err = {""};

	if (!ticker_due(t->p.ticker))
		return;
	pthread_mutex_lock(t->p.lock);
	if (t->p.before)
		t->p.before(t->p.arg);
	int rc = ticker_run(t->p.ticker, &err);
	if (rc == 0 && t->p.after)
		t->p.after(t->p.arg);
	pthread_mutex_unlock(t->p.lock);
	if (rc < 0 && log_repeat_due(&t->failing, t->p.env->boottime_ns()))
		log_warn("%s: no energy is attributed for now", err_text(&err));
	else if (rc == 0 && log_repeat_over(&t->failing))
		log_info("energy is attributed again");
}

static void *tick_thread_main(void *arg)
{
	struct tick_thread *t = arg;
	uint64_t round = 0;

	while (!atomic_load(&t->stopping)) {
		tick_once(t);
		sampler_wait(t->p.sampler, &round, t->p.interval_ms);
	}
	return NULL;
}

int tick_thread_start(const struct tick_thread_params *params, struct tick_thread **ret,
		      struct err *err)
{
	struct tick_thread *t = calloc(1, sizeof(*t));
	pthread_attr_t attr;

	if (!t)
		return err_set(err, -ENOMEM, "energy: out of memory");
	t->p = *params;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	int rc = -pthread_create(&t->thread, &attr, tick_thread_main, t);
	pthread_attr_destroy(&attr);
	if (rc < 0) {
		free(t);
		return err_set(err, rc, "energy: thread: %s", strerror(-rc));
	}
	*ret = t;
	return 0;
}

void tick_thread_stop(struct tick_thread *t)
{
	if (!t)
		return;
	atomic_store(&t->stopping, true);
	sampler_wake(t->p.sampler);
	pthread_join(t->thread, NULL);
	free(t);
}
