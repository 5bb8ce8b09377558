/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PG_POOL_H
#define CEEMS_LIB_PG_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/pg/pg.h"

/* Threads with a connection each that run jobs, for a program whose own threads must
 * not wait (lib/http/web.h: web_sleep(), pg_pool_submit(), and done() calls
 * web_wake()).
 *
 * While the database is away every job fails at once: those that wait, and new ones at
 * pg_pool_submit(). One thread keeps trying and says when it is back. */

struct pg_pool;

struct pg_job {
	/* On a thread of the pool; its result goes to done. Statements may not take
	 * longer than the job's deadline allows. */
	int (*run)(struct pg *pg, void *arg, struct err *err);
	/* Once for each job that was taken, on a thread of the pool; rc and err are
	 * run's, or -EHOSTDOWN: no database, -ETIME: waited for its turn until its
	 * deadline, -ECANCELED: the program ends. The job is the caller's again. */
	void (*done)(void *arg, int rc, const struct err *err);
	void *arg;
	unsigned deadline_ms; /* from pg_pool_submit(); 0: the pool's */

	/* the pool's */
	struct pg_job *next;
	uint64_t deadline_ns;
};

struct pg_pool_params {
	struct pg_params pg;
	unsigned threads;     /* 0: 4, at most PG_POOL_THREADS_MAX */
	unsigned queue_max;   /* jobs that wait; 0: 256 */
	unsigned deadline_ms; /* 0: 10000 */
	/* Run on each new connection that ends a time without database, before the
	 * pool is up: the place for migrations. A failure keeps it down with that
	 * text. NULL: nothing to do. */
	int (*on_up)(struct pg *pg, void *arg, struct err *err);
	/* The pool went up (true) or down, with the reason. For the log. May be NULL.
	 */
	void (*on_change)(void *arg, bool up, const char *text);
	void *arg;
};
#define PG_POOL_THREADS_MAX 64

struct pg_pool_state {
	bool up;
	int reason;      /* errno of the failure when down; -EROFS: takes no writes */
	struct err why;  /* when down */
	int version;     /* the server's, 0: unknown */
	char where[160]; /* pg_where() of the last connection that was made */
	unsigned threads, busy, queued;
	uint64_t jobs, failed, refused, expired; /* so far; failed: run's */
	uint64_t busy_ns;                        /* that run() took */
	uint64_t connects, losses;
};

/* Starts the threads, after privileges are dropped; does not wait for a connection. The
 * params are copied. */
int pg_pool_new(const struct pg_pool_params *params, struct pg_pool **ret,
		struct err *err);

/* Takes the job (0), or says at once why not, and done() is not called: -EHOSTDOWN: no
 * database, -EAGAIN: too many wait, -ECANCELED: stopping. From any thread. */
int pg_pool_submit(struct pg_pool *p, struct pg_job *job, struct err *err);

/* From any thread. */
void pg_pool_get_state(struct pg_pool *p, struct pg_pool_state *ret);

/* Waits until the first attempt to connect has ended, at most ms: whether it is up. */
bool pg_pool_wait(struct pg_pool *p, unsigned ms);

/* Jobs that wait are ended with -ECANCELED, those that run have grace_ms to end, then
 * their statements are cancelled. New ones are refused. */
void pg_pool_stop(struct pg_pool *p, unsigned grace_ms);
void pg_pool_free(struct pg_pool *p); /* after pg_pool_stop(); accepts NULL */

#endif
