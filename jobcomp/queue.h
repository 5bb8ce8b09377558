/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_JOBCOMP_QUEUE_H
#define CEEMS_JOBCOMP_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Encoded completion records on their way from slurmctld's threads to the writer.
 * Bounded: when it is full, new records are refused and counted; but an end replaces
 * the oldest starts, whose contents are in the ends too. Ends come before starts. A
 * record stays until the writer reports it durable, so that it can be written again if
 * a sync fails.
 */

#define QUEUE_BYTES_DEFAULT (64u << 20) /* some 60 000 records of usual jobs */
#define QUEUE_COUNT_DEFAULT 100000u

enum queue_flag {
	QUEUE_HAS_USER = 1 << 0, /* the user's name is in the record */
	QUEUE_START = 1 << 1,    /* a start record */
};

struct queue_item {
	struct queue_item *next;
	uint32_t uid, gid;
	uint32_t flags; /* enum queue_flag */
	bool named;     /* the names have been added */
	size_t len, size;
	unsigned char data[];
};

struct queue_lane {
	struct queue_item *head, *tail;
	struct queue_item *written; /* the last one written, */
	struct queue_item *next;    /* and the one after it */
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* CLOCK_MONOTONIC; only the writer waits */
	struct queue_lane ends, starts;
	struct queue_item *taken; /* the one the writer has */
	uint32_t count, count_max;
	uint64_t bytes, bytes_max;
	struct queue_lost {
		uint64_t all; /* for lack of room or memory, ever */
		uint64_t starts;
	} lost;
	bool waiting, stop;
};

/* 0 for a limit is its default. 0 or negative errno. */
int queue_init(struct queue *q, uint32_t count_max, uint64_t bytes_max);
void queue_done(struct queue *q); /* frees what is left */

/* Copies a record of len bytes; flags: enum queue_flag. 0, or -ENOBUFS and -ENOMEM,
 * counted. Any thread; never waits for the disk. */
int queue_put(struct queue *q, const void *data, size_t len, uint32_t uid, uint32_t gid,
	      uint32_t flags);
void queue_count_lost(struct queue *q); /* a record that was never put */

/* ---- the writer alone ------------------------------------------------------------ */

/* The first record that has not been written; waits for one up to wait_ms or until
 * queue_stop(). NULL: none. Borrowed until queue_free_written(). */
struct queue_item *queue_peek(struct queue *q, uint32_t wait_ms);
/* Sleeps for so long, or until queue_stop(); new records do not wake it. */
void queue_nap(struct queue *q, uint32_t ms);
void queue_written(struct queue *q);      /* the one from queue_peek() */
void queue_free_written(struct queue *q); /* they are durable */
void queue_rewind(struct queue *q);       /* they are not: write all again */
/* Gives up the one from queue_peek(), counted as lost. */
void queue_drop(struct queue *q);

bool queue_stopped(struct queue *q);
struct queue_lost queue_lost(struct queue *q);
uint32_t queue_count(struct queue *q); /* not yet durable */

void queue_stop(struct queue *q); /* any thread */

#endif
