/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_METRICS_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_METRICS_H

#include <stdatomic.h>

#include "aggregator/ingest/ingest_writer.h"
#include "lib/prom.h"

/* Metrics of received reports (doc/metrics.md). */

struct ingest_requests {
	atomic_uint_fast64_t by_status[6]; /* 200 400 401 403 413 503 */
	/* records; moved: reports whose times were shifted */
	atomic_uint_fast64_t refused, waiting, moved;
};

struct ingest_gauges {
	uint64_t requests, bodies_bytes, waiting_rows, known;
};

void ingest_requests_count(struct ingest_requests *c, unsigned status);
void ingest_metrics_put(struct ingest_requests *r, struct ingest_counters *c,
			const struct ingest_gauges *g, struct prom *out);

#endif
