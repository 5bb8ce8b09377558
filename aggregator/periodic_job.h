/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_PERIODIC_JOB_H
#define CEEMS_AGGREGATOR_PERIODIC_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/pg/pg.h"

/* Periodic work that only one of a database's aggregators does at a time, on a thread
 * with its own connection. Each transaction takes an advisory lock, so that if an
 * aggregator dies another continues. Failures are retried soon, then less and less
 * often, as the cause may last. */

struct periodic_job_params {
	const char *name; /* "linker": in the log; borrowed */
	int64_t lock;     /* of enum periodic_job_lock */
	unsigned period_ms;
	unsigned timeout_ms; /* of a statement */
	/* Called in a transaction with the lock held. 0: done for now; 1: there is
	 * more; else the error, with rollback. */
	int (*run)(struct pg *pg, void *arg, struct err *err);
	/* After a failure of run other than the database being down. May use pg. NULL:
	 * just retry. */
	void (*failed)(struct pg *pg, void *arg, int rc);
	/* After each turn, outside of a transaction and without the lock. NULL:
	 * nothing. */
	void (*look)(struct pg *pg, void *arg);
	void *arg;
};

/* Numbers of our two-key advisory locks: (PERIODIC_JOB_LOCKS, one of these) */
#define PERIODIC_JOB_LOCKS 0x6365656d
enum periodic_job_lock {
	PERIODIC_JOB_LINKER = 1,
	PERIODIC_JOB_ROLLUP = 2,
	PERIODIC_JOB_FACTORS = 3,
	PERIODIC_JOB_PEOPLE = 4,
	PERIODIC_JOB_GRAFANA = 5,
	PERIODIC_JOB_CLOUDS = 0x10000,     /* and more: one of each cloud */
	PERIODIC_JOB_KUBERNETES = 0x20000, /* and more: one of each cluster */
	/* 6: ingest_begin() in aggregator/sql/0033_meanwhile.sql */
};

struct periodic_job;

/* Delay after so many consecutive failures: a second, doubling up to its own period or
 * five minutes, whichever is shorter. */
unsigned periodic_job_retry_ms(unsigned period_ms, unsigned failures);

int periodic_job_new(const struct pg_params *pg,
		     const struct periodic_job_params *params,
		     struct periodic_job **ret, struct err *err);
void periodic_job_stop(struct periodic_job *c); /* cancels running work */
void periodic_job_free(struct periodic_job *c); /* accepts NULL */

#endif
