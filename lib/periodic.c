/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one loop of turns, rests and an end that the periodic threads share. */
#include "lib/periodic.h"

#include "lib/wait.h"

void periodic_init(struct periodic *p)
{
	*p = (struct periodic){0};
	pthread_mutex_init(&p->mutex, NULL);
	wait_cond_init(&p->wake);
}

/* False: stop. */
static bool rest_until_turn(struct periodic *p, uint64_t ms)
{
	struct timespec next = wait_in(ms);

	pthread_mutex_lock(&p->mutex);
	while (ms && !atomic_load(&p->stopping) &&
	       pthread_cond_timedwait(&p->wake, &p->mutex, &next) == 0)
		;
	pthread_mutex_unlock(&p->mutex);
	return !atomic_load(&p->stopping);
}

static void *run_turns(void *arg)
{
	struct periodic *p = arg;
	uint64_t ms = 0;

	while (ms != PERIODIC_END && rest_until_turn(p, ms))
		ms = p->turn(p->arg);
	if (p->last)
		p->last(p->arg);
	return NULL;
}

int periodic_start(struct periodic *p, size_t stack_bytes, periodic_turn_f *turn,
		   void (*last)(void *arg), void *arg)
{
	pthread_attr_t attr;

	p->turn = turn;
	p->last = last;
	p->arg = arg;
	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	int rc = -pthread_create(&p->thread, &attr, run_turns, p);
	pthread_attr_destroy(&attr);
	p->has_thread = rc == 0;
	return rc;
}

uint64_t periodic_rest_ms(uint64_t start_ns, uint64_t period_ms)
{
	uint64_t took_ms = (clock_read_ns(CLOCK_MONOTONIC) - start_ns) / NSEC_PER_MSEC;

	return took_ms < period_ms ? period_ms - took_ms : 1;
}

void periodic_ask_stop(struct periodic *p)
{
	pthread_mutex_lock(&p->mutex);
	atomic_store(&p->stopping, true);
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->mutex);
}

int periodic_join(struct periodic *p, const struct timespec *deadline)
{
	if (!p->has_thread)
		return 0;
	int rc = deadline ? -wait_join(p->thread, deadline)
			  : -pthread_join(p->thread, NULL);
	p->has_thread = rc < 0;
	return rc;
}

static int end_and_destroy(struct periodic *p, const struct timespec *deadline)
{
	periodic_ask_stop(p);
	int rc = periodic_join(p, deadline);
	if (rc < 0 && deadline)
		return rc;
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->mutex);
	return 0;
}

void periodic_done(struct periodic *p)
{
	(void)end_and_destroy(p, NULL);
}

int periodic_done_within(struct periodic *p, unsigned timeout_ms)
{
	const struct timespec deadline = wait_in(timeout_ms);

	return end_and_destroy(p, &deadline);
}
