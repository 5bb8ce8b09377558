/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_DECODE_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_DECODE_H

#include "aggregator/ingest/ingest_known.h"
#include "aggregator/ingest/ingest_may.h"
#include "aggregator/ingest/ingest_place.h"
#include "aggregator/ingest/ingest_rows.h"
#include "lib/records/job.h"
#include "lib/records/report.h"

/* Records of a batch as rows. Any bytes give rows or refusals. */

struct ingest_rules {
	uint64_t now_ns;
	/* Intervals before it are refused: older than what is kept. 0: none are */
	uint64_t oldest_ns;
	const struct ingest_may *may; /* who sends; NULL: anything may be sent */
	/* Instances that the database has for sure, and where their times are; NULL:
	 * none */
	struct known *known;
	/* Of this push: where instances are whose reports must be seen together; NULL:
	 * none */
	struct known *placed;
};

#define INGEST_INTERVAL_MAX_NS (32ull * 86400 * 1000000000)

/* A body, packed or not: 0, or -EBADMSG, -EFBIG, -ENOMEM with words; -EPERM: whoever
 * sends may send nothing of it; -EHOSTDOWN: that cannot be found out now. ret is zeroed
 * or to be done. scratch is for the plain bytes. */
int ingest_decode(const void *body, size_t len, bool packed,
		  const struct ingest_rules *rules, struct buf *scratch,
		  struct ingest_push *ret, struct err *err);

/* One record each: 0, -EINVAL with the reason why it is refused, -ENOMEM. */
int ingest_report(struct report *r, const struct ingest_rules *rules,
		  struct ingest_push *p, struct err *err); /* moves r's times */
int ingest_job(const struct job *j, const struct ingest_rules *rules,
	       struct ingest_push *p, struct err *err);

/* Where a push stands in time. Borrows p's clock. */
struct ingest_place ingest_place_of(const struct ingest_rules *rules,
				    const struct ingest_push *p);

/* The JSON of job_record.record. ret is empty. -ENOMEM, -EFBIG. */
int ingest_job_json(const struct job *j, struct buf *ret);

#endif
