/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bounded queue of completion records. Putting costs a copy and, when the writer
 * sleeps, a wake-up. */
#include "jobcomp/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/job.h"
#include "lib/wait.h"

int queue_init(struct queue *q, uint32_t count_max, uint64_t bytes_max)
{
	*q = (struct queue){
		.count_max = count_max ? count_max : QUEUE_COUNT_DEFAULT,
		.bytes_max = bytes_max ? bytes_max : QUEUE_BYTES_DEFAULT,
	};
	int rc = pthread_mutex_init(&q->lock, NULL);
	if (rc)
		return -rc;
	wait_cond_init(&q->changed);
	return 0;
}

void queue_done(struct queue *q)
{
	for (struct queue_item *i = q->head, *next; i; i = next) {
		next = i->next;
		free(i);
	}
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
}

void queue_count_refused(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->refused++;
	pthread_mutex_unlock(&q->lock);
}

static struct queue_item *item_new(const void *data, size_t len, uint32_t uid,
				   uint32_t gid, bool has_user)
{
	struct queue_item *i = malloc(sizeof(*i) + len + JOB_NAMES_ROOM);

	if (!i)
		return NULL;
	*i = (struct queue_item){.uid = uid,
				 .gid = gid,
				 .has_user = has_user,
				 .len = len,
				 .size = len + JOB_NAMES_ROOM};
	memcpy(i->data, data, len);
	return i;
}

int queue_put(struct queue *q, const void *data, size_t len, uint32_t uid, uint32_t gid,
	      bool has_user)
{
	struct queue_item *i = item_new(data, len, uid, gid, has_user);
	bool wake = false;
	int rc = i ? 0 : -ENOMEM;

	pthread_mutex_lock(&q->lock);
	if (i && (q->count >= q->count_max || q->bytes + i->size > q->bytes_max))
		rc = -ENOBUFS;
	if (rc == 0) {
		if (q->tail)
			q->tail->next = i;
		else
			q->head = i;
		q->tail = i;
		if (!q->next)
			q->next = i;
		q->count++;
		q->bytes += i->size;
		wake = q->waiting;
		q->waiting = false;
	} else {
		q->refused++;
	}
	pthread_mutex_unlock(&q->lock);
	if (wake)
		pthread_cond_signal(&q->changed);
	if (rc < 0)
		free(i);
	return rc;
}

/* ---- the writer ------------------------------------------------------------------ */

struct queue_item *queue_peek(struct queue *q, uint32_t wait_ms)
{
	struct timespec until = wait_in(wait_ms);

	pthread_mutex_lock(&q->lock);
	while (!q->next && !q->stop && wait_ms) {
		q->waiting = true;
		if (pthread_cond_timedwait(&q->changed, &q->lock, &until) == ETIMEDOUT)
			break;
	}
	q->waiting = false;
	struct queue_item *i = q->next;
	pthread_mutex_unlock(&q->lock);
	return i;
}

void queue_nap(struct queue *q, uint32_t ms)
{
	struct timespec until = wait_in(ms);

	pthread_mutex_lock(&q->lock);
	while (!q->stop && pthread_cond_timedwait(&q->changed, &q->lock, &until) == 0)
		;
	pthread_mutex_unlock(&q->lock);
}

void queue_written(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->next = q->next->next;
	pthread_mutex_unlock(&q->lock);
}

static void forget_head(struct queue *q)
{
	struct queue_item *i = q->head;

	q->head = i->next;
	if (!q->head)
		q->tail = NULL;
	q->count--;
	q->bytes -= i->size;
	free(i);
}

void queue_free_written(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->head && q->head != q->next)
		forget_head(q);
	pthread_mutex_unlock(&q->lock);
}

void queue_rewind(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->next = q->head;
	pthread_mutex_unlock(&q->lock);
}

void queue_drop(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	struct queue_item **at = &q->head, *before = NULL, *i = q->next;
	while (*at != i) {
		before = *at;
		at = &before->next;
	}
	*at = q->next = i->next;
	if (q->tail == i)
		q->tail = before;
	q->count--;
	q->bytes -= i->size;
	q->refused++;
	pthread_mutex_unlock(&q->lock);
	free(i);
}

bool queue_stopped(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	bool stop = q->stop;
	pthread_mutex_unlock(&q->lock);
	return stop;
}

uint64_t queue_refused(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	uint64_t n = q->refused;
	pthread_mutex_unlock(&q->lock);
	return n;
}

uint32_t queue_count(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	uint32_t n = q->count;
	pthread_mutex_unlock(&q->lock);
	return n;
}

void queue_stop(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_mutex_unlock(&q->lock);
	pthread_cond_broadcast(&q->changed);
}
