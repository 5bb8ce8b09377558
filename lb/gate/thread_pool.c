/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/gate/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wait.h"

#define THREADS_MAX 64u
/* Limit of what a failed job is charged: it may have waited for others. */
#define TOOK_MAX_NS (20 * NSEC_PER_MSEC)

struct thread_pool {
	void (*forget)(void *mine);
	unsigned wanted, count;
	pthread_t threads[THREADS_MAX];
	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t wake;
	struct turns turns; /* jobs that wait */
	bool stopped;
	atomic_bool stop;
};

int thread_pool_new(unsigned threads, void (*forget)(void *mine),
		    struct thread_pool **ret)
{
	struct thread_pool *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->wanted = threads < THREADS_MAX ? threads : THREADS_MAX;
	c->forget = forget;
	turns_init(&c->turns, THREAD_POOL_QUEUE_MAX, THREAD_POOL_LANE_MAX, TOOK_MAX_NS);
	pthread_mutex_init(&c->mutex, NULL);
	wait_cond_init(&c->wake);
	*ret = c;
	return 0;
}

/* Mutex held. NULL: there will be no more. */
static struct thread_pool_job *next_pool_job(struct thread_pool *c)
{
	for (;;) {
		uint64_t now_ns =
			c->stopped ? UINT64_MAX : clock_read_ns(CLOCK_MONOTONIC);
		uint64_t at_ns;
		struct fair_item *i = turns_pop(&c->turns, now_ns, &at_ns);
		/* a thread that sleeps through a pause may have missed several
		 * wake-ups */
		if (i && turns_count(&c->turns))
			pthread_cond_signal(&c->wake);
		if (i || c->stopped)
			return (struct thread_pool_job *)i;
		wait_until(&c->wake, &c->mutex, at_ns);
	}
}

/* Runs jobs until the pool is stopped and none are left. */
static void run_jobs(struct thread_pool *c)
{
	struct thread_pool_job *j;
	void *mine = NULL;

	pthread_mutex_lock(&c->mutex);
	while ((j = next_pool_job(c))) {
		uint64_t key = j->item.key, began_ns = clock_read_ns(CLOCK_MONOTONIC);
		pthread_mutex_unlock(&c->mutex);
		bool failed = j->run(j, &mine, &c->stop);
		pthread_mutex_lock(&c->mutex);
		uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC);
		if (failed)
			turns_charge(&c->turns, key, now_ns - began_ns, now_ns);
	}
	pthread_mutex_unlock(&c->mutex);
	if (mine && c->forget)
		c->forget(mine);
}

static void *thread_pool_thread(void *arg)
{
	run_jobs(arg);
	return NULL;
}

int thread_pool_start(struct thread_pool *c, struct err *err)
{
	while (c->count < c->wanted) {
		int rc = pthread_create(&c->threads[c->count], NULL, thread_pool_thread,
					c);

		if (rc)
			return err_set(err, -rc, "start thread: %s", strerror(rc));
		c->count++;
	}
	return 0;
}

void thread_pool_stop(struct thread_pool *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->mutex);
	c->stopped = true;
	atomic_store(&c->stop, true);
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->mutex);
	for (; c->count; c->count--)
		pthread_join(c->threads[c->count - 1], NULL);
	/* a pool whose threads never started may have jobs all the same */
	run_jobs(c);
}

void thread_pool_free(struct thread_pool *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->mutex);
	pthread_cond_destroy(&c->wake);
	free(c);
}

bool thread_pool_submit(struct thread_pool *c, struct thread_pool_job *j, uint64_t key)
{
	pthread_mutex_lock(&c->mutex);
	bool good = !c->stopped && turns_push(&c->turns, &j->item, key,
					      clock_read_ns(CLOCK_MONOTONIC)) == 0;
	if (good)
		pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->mutex);
	return good;
}
