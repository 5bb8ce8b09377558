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
 * While the database is down every job fails at once: the waiting ones, and new ones
 * at pg_pool_submit(). One thread keeps trying to connect and reports when it is up
 * again. */

struct pg_pool;

struct pg_job {
	/* Runs on a thread of the pool; its result is passed to done. Statements are
	 * limited to the job's deadline. */
	int (*run)(struct pg *pg, void *arg, struct err *err);
	/* Called once for each accepted job, on a thread of the pool; rc and err are
	 * run's, or -EHOSTDOWN: no database, -ETIME: its deadline passed while it
	 * waited, -ECANCELED: the program ends. The job is the caller's again. */
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
	unsigned queue_max;   /* waiting jobs; 0: 256 */
	unsigned deadline_ms; /* 0: 10000 */
	/* Runs on the first connection after the database was down, before the pool is
	 * up: the place for migrations. On failure the pool stays down with that text.
	 * NULL: nothing to do. */
	int (*on_up)(struct pg *pg, void *arg, struct err *err);
	/* Called when the pool goes up (true) or down, with the reason, for the log.
	 * May be NULL. */
	void (*on_change)(void *arg, bool up, const char *text);
	void *arg;
};
#define PG_POOL_THREADS_MAX 64

struct pg_pool_state {
	bool up;
	int reason;      /* errno of the failure when down; -EROFS: read-only server */
	struct err why;  /* when down */
	int version;     /* the server's, 0: unknown */
	char where[160]; /* pg_where() of the last connection that was made */
	unsigned threads, busy, queued;
	uint64_t jobs, failed, refused, expired; /* so far; failed: run() failed */
	uint64_t busy_ns;                        /* total time in run() */
	uint64_t connects, losses;
};

/* Starts the threads (call after privileges are dropped) and does not wait for a
 * connection. The params are copied. */
int pg_pool_new(const struct pg_pool_params *params, struct pg_pool **ret,
		struct err *err);

/* Accepts the job (0), or says at once why not, without calling done(): -EHOSTDOWN: no
 * database, -EAGAIN: too many wait, -ECANCELED: stopping. From any thread. */
int pg_pool_submit(struct pg_pool *p, struct pg_job *job, struct err *err);

/* From any thread. */
void pg_pool_get_state(struct pg_pool *p, struct pg_pool_state *ret);

/* Waits until the first attempt to connect has ended, at most ms milliseconds; returns
 * whether the pool is up. */
bool pg_pool_wait(struct pg_pool *p, unsigned ms);

/* Ends waiting jobs with -ECANCELED; running ones have grace_ms, then their statements
 * are cancelled. New jobs are refused. */
void pg_pool_stop(struct pg_pool *p, unsigned grace_ms);
void pg_pool_free(struct pg_pool *p); /* after pg_pool_stop(); accepts NULL */

#endif
