/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_COPY_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_COPY_H

#include "aggregator/ingest/ingest_known.h"
#include "aggregator/ingest/ingest_rows.h"
#include "lib/pg/pg.h"

/* Copies the rows of a group of pushes into the tables of
 * aggregator/sql/0002_ingest.sql, in the caller's transaction. */

#define INGEST_GROUP_MAX 1024u /* pushes that commit together */

struct ingest_group {
	struct ingest_push *pushes[INGEST_GROUP_MAX];
	uint32_t count;
	struct known *known; /* learns where instances are; may be NULL */
	/* Ids of each push's labels, as in energy_sources; 0: none */
	int16_t label_ids[INGEST_GROUP_MAX][INGEST_LABELS_MAX];
};

/* Into unit_interval directly. -EEXIST: one of them exists; nothing was copied and the
 * transaction has failed. */
int ingest_copy_intervals(struct pg *pg, const struct ingest_group *g, bool staged,
			  struct err *err);
/* Marks for the roll-up; those of intervals are due after delay_ms. */
int ingest_copy_marks(struct pg *pg, const struct ingest_group *g, uint64_t now_ns,
		      uint64_t delay_ms, struct err *err);
int ingest_copy_nodes(struct pg *pg, const struct ingest_group *g, struct err *err);
/* For nodes with pods: their CPUs in thousandths; after ingest_merge(). */
int ingest_copy_sizes(struct pg *pg, const struct ingest_group *g, struct err *err);
/* For nodes with found units: what those had used before; after ingest_merge(). */
int ingest_copy_found(struct pg *pg, const struct ingest_group *g, struct err *err);
/* For nodes whose times are flagged: when they had ended at the latest; after
 * ingest_merge(). */
int ingest_copy_over(struct pg *pg, const struct ingest_group *g, struct err *err);
/* For final reports with counts of the kernel programs; after ingest_merge(). */
int ingest_copy_counts(struct pg *pg, const struct ingest_group *g, struct err *err);
int ingest_copy_steps(struct pg *pg, const struct ingest_group *g, struct err *err);
int ingest_copy_jobs(struct pg *pg, const struct ingest_group *g, struct err *err);
int ingest_copy_seen(struct pg *pg, const struct ingest_group *g, struct err *err);

#endif
