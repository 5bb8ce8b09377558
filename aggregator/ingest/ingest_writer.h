/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_WRITER_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_WRITER_H

#include <stdatomic.h>

#include "aggregator/ingest/ingest_known.h"
#include "aggregator/ingest/ingest_rows.h"
#include "lib/pg/pg.h"

/*
 * The one thread of an aggregator that writes reports. Pushes that arrive while it
 * writes are committed together next (group commit). A push waits for others at most
 * INGEST_GROUP_MS, until none comes for INGEST_QUIET_MS or there are INGEST_GROUP_ROWS
 * rows. A push is written completely or not at all, and answered after the commit. If
 * the database refuses a group, its pushes are written one by one, so that only the bad
 * one fails.
 */

#define INGEST_GROUP_MS 50u
#define INGEST_QUIET_MS 3u
#define INGEST_GROUP_ROWS 5000u
/* Limit of waiting rows, besides the group being written */
#define INGEST_WAITING_ROWS 20000u

struct ingest_ticket {
	struct ingest_push push;
	/* Called once, on the writer's thread. 0: committed; -EINVAL: the database
	 * refuses something in it; others as lib/pg/pg.h: try again later. */
	void (*done)(void *arg, int rc, const struct err *err);
	void *arg;

	/* the writer's */
	struct ingest_ticket *next;
	uint64_t since_ns;
};

struct ingest_writer_params {
	struct pg_params pg;
	uint64_t rollup_ms; /* how long the roll-up may wait for more of a running unit
			     */
};

struct ingest_counters {
	atomic_uint_fast64_t groups, pushes, alone, failed;
	atomic_uint_fast64_t starts, intervals, finals, jobs; /* committed */
	atomic_uint_fast64_t repeated, differ;                /* intervals */
	atomic_uint_fast64_t job_repeated, staged, write_ns;
	/* Boot time at which a group found no space; 0: the last one was written */
	atomic_uint_fast64_t full_ns;
};

struct ingest_writer;

int ingest_writer_new(const struct ingest_writer_params *params,
		      struct ingest_writer **ret, struct err *err);
/* Fails waiting pushes with -ECANCELED and finishes the one being written. */
void ingest_writer_stop(struct ingest_writer *w);
void ingest_writer_free(struct ingest_writer *w); /* accepts NULL */

/* Blocks while too many rows are waiting. The ticket is the writer's until done.
 * -ECANCELED: it has stopped, done is not called. */
int ingest_writer_submit(struct ingest_writer *w, struct ingest_ticket *t);

struct known *ingest_writer_known(struct ingest_writer *w);
struct ingest_counters *ingest_writer_counters(struct ingest_writer *w);
uint64_t ingest_writer_waiting_rows(struct ingest_writer *w);

#endif
