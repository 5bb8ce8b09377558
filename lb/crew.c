/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 64u

struct crew {
	void (*forget)(void *mine);
	unsigned wanted, count;
	pthread_t threads[THREADS_MAX];
	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t wake;
	struct crew_job *first, **last;
	unsigned waiting;
	bool stopped;
	atomic_bool stop;
};

int crew_new(unsigned threads, void (*forget)(void *mine), struct crew **ret)
{
	struct crew *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->wanted = threads < THREADS_MAX ? threads : THREADS_MAX;
	c->forget = forget;
	c->last = &c->first;
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->wake, NULL);
	*ret = c;
	return 0;
}

static struct crew_job *take(struct crew *c)
{
	struct crew_job *j;

	pthread_mutex_lock(&c->mutex);
	while (!c->first && !c->stopped)
		pthread_cond_wait(&c->wake, &c->mutex);
	j = c->first;
	if (j) {
		c->first = j->next;
		if (!c->first)
			c->last = &c->first;
		c->waiting--;
	}
	pthread_mutex_unlock(&c->mutex);
	return j;
}

static void *work(void *arg)
{
	struct crew *c = arg;
	struct crew_job *j;
	void *mine = NULL;

	while ((j = take(c)))
		j->run(j, &mine, &c->stop);
	if (mine && c->forget)
		c->forget(mine);
	return NULL;
}

int crew_start(struct crew *c, struct err *err)
{
	while (c->count < c->wanted) {
		int rc = pthread_create(&c->threads[c->count], NULL, work, c);

		if (rc)
			return err_set(err, -rc, "start thread: %s", strerror(rc));
		c->count++;
	}
	return 0;
}

void crew_stop(struct crew *c)
{
	void *mine = NULL;

	if (!c)
		return;
	pthread_mutex_lock(&c->mutex);
	c->stopped = true;
	atomic_store(&c->stop, true);
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->mutex);
	for (; c->count; c->count--)
		pthread_join(c->threads[c->count - 1], NULL);
	/* one that was never started has jobs all the same */
	for (struct crew_job *j = take(c); j; j = take(c))
		j->run(j, &mine, &c->stop);
	if (mine && c->forget)
		c->forget(mine);
}

void crew_free(struct crew *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->mutex);
	pthread_cond_destroy(&c->wake);
	free(c);
}

bool crew_submit(struct crew *c, struct crew_job *j)
{
	bool good;

	j->next = NULL;
	pthread_mutex_lock(&c->mutex);
	good = !c->stopped && c->waiting < CREW_QUEUE_MAX;
	if (good) {
		*c->last = j;
		c->last = &j->next;
		c->waiting++;
		pthread_cond_signal(&c->wake);
	}
	pthread_mutex_unlock(&c->mutex);
	return good;
}
