/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_PROFILES_PROFILE_CHECK_H
#define CEEMS_AGGREGATOR_PROFILES_PROFILE_CHECK_H

#include "aggregator/ingest/ingest_may.h"
#include "aggregator/profiles/profile_inspect.h"
#include "lib/pg/pg.h"
#include "lib/records/profile_record.h"

/*
 * What a node says of a profile, checked: it is of that node, in a cluster for which it
 * may report, and of a unit that ran there then.
 */

/* Whether a node may be off by so much against the times of its units. */
#define PROFILE_SLACK_S 300u
/* For how long the first report of a unit may be awaited. */
#define PROFILE_WAIT_S 600u

/* Labels as they are passed on: those that the load balancer proves, and step and rank;
 * all others are left out. Texts are borrowed from r. -EBADMSG: one of those is
 * missing, or service_name is not the unit; -EACCES, -EHOSTDOWN: ingest_may_report().
 */
int profile_check_labels(const struct profile_record *r, const struct ingest_may *may,
			 struct profile_record *ret, struct err *err)
	__attribute__((warn_unused_result));
/* Whether the bytes are what the record says of them. Errors of profile_inspect(). */
int profile_check_bytes(const struct profile_record *r, struct buf *scratch,
			struct err *err) __attribute__((warn_unused_result));
/* Whether the unit ran on the node then, by what the database knows; manager is set by
 * that. -EBADMSG: it did not; -EAGAIN: nothing is known of it yet; else the
 * database's failure. */
int profile_check_unit(struct pg *pg, const struct profile_record *r, uint64_t now_ns,
		       char ret_manager[16], struct err *err)
	__attribute__((warn_unused_result));

#endif
