/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bounded queue of completion records. Putting one costs a copy and, if the writer
 * sleeps, a wake-up. */
#include "jobcomp/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/records/job.h"
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

static void free_lane(struct queue_lane *l)
{
	for (struct queue_item *i = l->head, *next; i; i = next) {
		next = i->next;
		free(i);
	}
}

void queue_done(struct queue *q)
{
	free_lane(&q->ends);
	free_lane(&q->starts);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
}

static struct queue_lane *lane_of(struct queue *q, uint32_t flags)
{
	return flags & QUEUE_START ? &q->starts : &q->ends;
}

static void count_lost(struct queue *q, uint32_t flags)
{
	q->lost.all++;
	q->lost.starts += (flags & QUEUE_START) != 0;
}

void queue_count_lost(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	count_lost(q, 0);
	pthread_mutex_unlock(&q->lock);
}

static struct queue_item *item_new(const void *data, size_t len, uint32_t uid,
				   uint32_t gid, uint32_t flags)
{
	struct queue_item *i = malloc(sizeof(*i) + len + JOB_NAMES_ROOM);

	if (!i)
		return NULL;
	*i = (struct queue_item){.uid = uid,
				 .gid = gid,
				 .flags = flags,
				 .len = len,
				 .size = len + JOB_NAMES_ROOM};
	memcpy(i->data, data, len);
	return i;
}

/* Removes the unwritten item after `before` (NULL: the first of its lane) and counts it
 * as lost. */
static void lose_item(struct queue *q, struct queue_item *i, struct queue_item *before)
{
	struct queue_lane *l = lane_of(q, i->flags);

	*(before ? &before->next : &l->head) = i->next;
	if (l->next == i)
		l->next = i->next;
	if (l->tail == i)
		l->tail = before;
	q->count--;
	q->bytes -= i->size;
	count_lost(q, i->flags);
	free(i);
}

static bool queue_has_room(const struct queue *q, size_t size)
{
	return q->count < q->count_max && q->bytes + size <= q->bytes_max;
}

/* Drops the oldest starts, except those written and the one the writer has. */
static void make_queue_room(struct queue *q, size_t size)
{
	while (!queue_has_room(q, size)) {
		bool taken = q->starts.next && q->starts.next == q->taken;
		struct queue_item *before = taken ? q->taken : q->starts.written;
		struct queue_item *oldest = taken ? before->next : q->starts.next;
		if (!oldest)
			return;
		lose_item(q, oldest, before);
	}
}

static void append_item(struct queue *q, struct queue_item *i)
{
	struct queue_lane *l = lane_of(q, i->flags);

	*(l->tail ? &l->tail->next : &l->head) = i;
	l->tail = i;
	if (!l->next)
		l->next = i;
	q->count++;
	q->bytes += i->size;
}

int queue_put(struct queue *q, const void *data, size_t len, uint32_t uid, uint32_t gid,
	      uint32_t flags)
{
	struct queue_item *i = item_new(data, len, uid, gid, flags);
	bool wake = false;
	int rc = i ? 0 : -ENOMEM;

	pthread_mutex_lock(&q->lock);
	if (i && !(flags & QUEUE_START))
		make_queue_room(q, i->size);
	if (i && !queue_has_room(q, i->size))
		rc = -ENOBUFS;
	if (rc == 0) {
		append_item(q, i);
		wake = q->waiting;
		q->waiting = false;
	} else {
		count_lost(q, flags);
	}
	pthread_mutex_unlock(&q->lock);
	if (wake)
		pthread_cond_signal(&q->changed);
	if (rc < 0)
		free(i);
	return rc;
}

/* ---- the writer ------------------------------------------------------------------ */

static struct queue_item *next_queue_item(const struct queue *q)
{
	return q->ends.next ? q->ends.next : q->starts.next;
}

struct queue_item *queue_peek(struct queue *q, uint32_t wait_ms)
{
	struct timespec until = wait_in(wait_ms);

	pthread_mutex_lock(&q->lock);
	while (!next_queue_item(q) && !q->stop && wait_ms) {
		q->waiting = true;
		if (pthread_cond_timedwait(&q->changed, &q->lock, &until) == ETIMEDOUT)
			break;
	}
	q->waiting = false;
	struct queue_item *i = q->taken = next_queue_item(q);
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
	struct queue_lane *l = lane_of(q, q->taken->flags);
	l->written = q->taken;
	l->next = q->taken->next;
	q->taken = NULL;
	pthread_mutex_unlock(&q->lock);
}

static void free_written(struct queue *q, struct queue_lane *l)
{
	while (l->head != l->next) {
		struct queue_item *i = l->head;
		l->head = i->next;
		q->count--;
		q->bytes -= i->size;
		free(i);
	}
	if (!l->head)
		l->tail = NULL;
	l->written = NULL;
}

void queue_free_written(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	free_written(q, &q->ends);
	free_written(q, &q->starts);
	pthread_mutex_unlock(&q->lock);
}

void queue_rewind(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	struct queue_lane *lanes[] = {&q->ends, &q->starts};
	for (int i = 0; i < 2; i++) {
		lanes[i]->next = lanes[i]->head;
		lanes[i]->written = NULL;
	}
	pthread_mutex_unlock(&q->lock);
}

void queue_drop(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	struct queue_item *i = q->taken;
	q->taken = NULL;
	lose_item(q, i, lane_of(q, i->flags)->written);
	pthread_mutex_unlock(&q->lock);
}

bool queue_stopped(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	bool stop = q->stop;
	pthread_mutex_unlock(&q->lock);
	return stop;
}

struct queue_lost queue_lost(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	struct queue_lost n = q->lost;
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
