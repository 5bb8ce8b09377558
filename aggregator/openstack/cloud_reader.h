/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPENSTACK_CLOUD_READER_H
#define CEEMS_AGGREGATOR_OPENSTACK_CLOUD_READER_H

#include <stdatomic.h>

#include "aggregator/openstack/cloud_config.h"
#include "aggregator/openstack/cloud_session.h"
#include "lib/log.h"
#include "lib/pg/pg.h"

/* Reads one cloud into the database, a page of a list in each turn: memory is bounded
 * by the page, not by the cloud. */

enum cloud_stage {
	CLOUD_IDLE,
	CLOUD_LIST,   /* pages of servers */
	CLOUD_UNSEEN, /* servers that the whole list did not name */
};

/* How far a reading has come; the turn's, and that of the last turn that was
 * committed. */
struct cloud_progress {
	enum cloud_stage stage;
	bool whole;                  /* all servers, not only what changed */
	char marker[40], before[40]; /* of the next page and of the one that was read */
	uint64_t since_s;            /* Nova's clock when the reading began */
	uint64_t from_s;             /* changes since */
	int64_t asked;               /* newest unit of a node then */
	size_t servers,
		silent; /* silent: those asked for, of cells that do not answer */
	unsigned again; /* times that the list began again */
};

struct cloud_reader {
	const struct cloud *cloud;
	struct cloud_session *session;
	int64_t holder; /* of the lease: this aggregator, also after a restart */
	struct cloud_progress now, done;
	bool had_whole;         /* since the start */
	uint32_t page;          /* servers of a page; fewer where they are too long */
	uint64_t not_before_ns; /* boot clock: no request before */
	unsigned failures;      /* in a row */
	struct log_repeat failing, skipping;
	/* for metrics, any thread */
	atomic_uint_fast64_t failed, skipped, servers, stubs, read_ns;
};

/* A periodic job's functions; arg is the struct cloud_reader. */
int cloud_reader_turn(struct pg *pg, void *arg, struct err *err);
void cloud_reader_look(struct pg *pg, void *arg);

#endif
