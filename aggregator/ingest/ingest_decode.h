/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_DECODE_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_DECODE_H

#include "aggregator/ingest/ingest_known.h"
#include "aggregator/ingest/ingest_may.h"
#include "aggregator/ingest/ingest_place.h"
#include "aggregator/ingest/ingest_rows.h"
#include "lib/records/claim.h"
#include "lib/records/job.h"
#include "lib/records/report.h"

/* Converts records of a batch to rows. Any bytes give rows or refusals. */

struct ingest_rules {
	uint64_t now_ns;
	/* Earlier intervals are refused: older than what is kept. 0: no limit */
	uint64_t oldest_ns;
	const struct ingest_may *may; /* of the sender; NULL: may send anything */
	bool sure;                    /* other clocks confirm now_ns */
	/* Instances that the database certainly has, with their places; may be NULL */
	struct known *known;
	/* For this push: shifts of instances whose reports must be seen together; may
	 * be NULL */
	struct known *placed;
};

#define INGEST_INTERVAL_MAX_NS (32ull * 86400 * 1000000000)

/* Decodes a body, packed or not: 0, or with a text -EBADMSG, -EFBIG, -ENOMEM; -EPERM:
 * the sender may send none of it; -EHOSTDOWN: unknown at present. ret is zeroed or
 * valid. scratch holds the unpacked bytes. */
int ingest_decode(const void *body, size_t len, bool packed,
		  const struct ingest_rules *rules, struct buf *scratch,
		  struct ingest_push *ret, struct err *err);

/* One record each: 0, -EINVAL with the reason for refusing it, -ENOMEM. */
int ingest_report(struct report *r, const struct ingest_rules *rules,
		  struct ingest_push *p, struct err *err); /* moves r's times */
int ingest_job(const struct job *j, const struct ingest_rules *rules,
	       struct ingest_push *p, struct err *err);

int ingest_claim(const struct claim *c, const struct ingest_rules *rules,
		 struct ingest_push *p, struct err *err);

/* The time frame of a push. Borrows p's clock. */
struct ingest_place ingest_place_of(const struct ingest_rules *rules,
				    const struct ingest_push *p);

/* The JSON for job_record.record. ret is empty. -ENOMEM, -EFBIG. */
int ingest_job_json(const struct job *j, struct buf *ret);

#endif
