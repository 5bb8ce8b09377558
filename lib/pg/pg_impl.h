/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PG_PG_IMPL_H
#define CEEMS_LIB_PG_PG_IMPL_H

#include <pthread.h>

#include "lib/pg/pg.h"

/* What the files of lib/pg share. */

#define PG_PREPARED_MAX 256
#define PG_KEPT_MAX 64 /* texts of pg_query_kept() */

struct pg {
	char *url, *application;
	unsigned connect_timeout_s, statement_timeout_ms;
	unsigned timeout_ms;     /* in force, of the next statement */
	unsigned timeout_set_ms; /* what the session has been told */
	bool any_host;

	PGconn *conn; /* NULL: none */
	const char *prepared[PG_PREPARED_MAX];
	size_t prepared_count;
	char *kept[PG_KEPT_MAX]; /* prepared as "kept" and the place here */
	size_t kept_count;
	bool in_transaction;
	char where[160];
	char sqlstate[6];

	/* of a server that failed */
	uint64_t next_try_ns;
	unsigned failures;
	struct err last;
	bool read_only; /* it is there, and takes no writes */

	pthread_mutex_t mutex; /* of cancel and interrupted */
	PGcancel *cancel;
	bool interrupted;
};

/* What an SQLSTATE means for the caller, as pg.h says. "": the connection. */
int pg_state_errno(const char *sqlstate);

/* After a failed result (NULL: the connection's own text): its errno, with a text. A
 * connection that is of no more use is closed. */
int pg_fail(struct pg *pg, const PGresult *r, struct err *err);

/* When the statement in force must be over, CLOCK_BOOTTIME. */
uint64_t pg_deadline_ns(const struct pg *pg);

/* Sends all that libpq has kept. */
int pg_flush(struct pg *pg, uint64_t deadline_ns, struct err *err);

/* Sends, waits for the answer to what was sent and takes the last of the results (the
 * first that failed). Within the statement's time and a little. Result states other
 * than a good end are failures, except want (PGRES_COPY_IN), at which it returns. */
int pg_finish(struct pg *pg, ExecStatusType want, PGresult **ret, struct err *err);

/* The session has no statements of ours any more. */
void pg_forget_statements(struct pg *pg);

/* Connected, the statement time-out said: ready to send. */
int pg_begin(struct pg *pg, struct err *err);

#endif
