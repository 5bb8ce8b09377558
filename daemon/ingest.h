/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_INGEST_H
#define CEEMS_DAEMON_INGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/gpus/pod_gpus.h"
#include "daemon/sample.h"
#include "daemon/units.h"
#include "lib/log.h"
#include "lib/records/ring.h"

/* Takes records out of the ring and applies them to the unit table. A record leaves the
 * ring only when its effect is in the table. The caller holds the daemon's lock. */

#define INGEST_MOST 4096u /* records per call: bounded time under the lock */

struct ingest {
	const struct env *env;
	struct ring *ring;
	struct units *units;
	struct sample *sample; /* may be NULL */

	uint64_t records;    /* taken by this process, valid or not */
	uint64_t bad;        /* could not be decoded */
	uint64_t dropped;    /* of the ring's header, as last seen */
	uint64_t torn;       /* the same */
	uint64_t drained_ns; /* CLOCK_BOOTTIME when the ring was last found empty */
	bool want_walk;      /* records were lost: walk the cgroup tree */
	struct log_repeat bad_log, full_log, drop_log;
	struct pod_gpus pod_gpus;
};

/* Starts or continues with this ring: if it is not the table's last one, positions
 * start anew. Everything is borrowed. */
void ingest_init(struct ingest *in, const struct env *env, struct ring *ring,
		 struct units *units, struct sample *sample);
void ingest_done(struct ingest *in);

/* Applies at most `most` records (0: INGEST_MOST). Returns how many were taken. */
unsigned ingest_tick(struct ingest *in, unsigned most);

/* For a table that was created anew: applies again the records still in the ring that
 * the earlier table took, so that units that had ended but were not reported are not
 * lost. They become found units (units_found.h): whoever had their reports counts them
 * once. Call before the first tick. Returns the number of records. */
unsigned ingest_recall(struct ingest *in);

#endif
