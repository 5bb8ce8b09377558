/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_WRITE_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_WRITE_H

#include "aggregator/ingest/ingest_copy.h"
#include "aggregator/ingest/ingest_writer.h"

/* Writes a group in one transaction. For one thread. */

struct ingest_write;

int ingest_write_new(const struct pg_params *pg, uint64_t rollup_ms,
		     struct ingest_write **ret, struct err *err);
void ingest_write_free(struct ingest_write *w); /* accepts NULL */

/* 0 after the commit, else as lib/pg/pg.h and nothing has been written (-EHOSTDOWN at
 * the commit: possibly all of it). -ESTALE: the database has other shifts for some
 * instances, from another aggregator or from before a restart; known has them now.
 * Overwrites label_ids of g. Adds to repeated, differ, job_repeated and staged. */
int ingest_write(struct ingest_write *w, struct ingest_group *g,
		 struct ingest_counters *counters, struct err *err);

#endif
