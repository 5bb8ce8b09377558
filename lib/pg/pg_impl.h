/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PG_PG_IMPL_H
#define CEEMS_LIB_PG_PG_IMPL_H

#include <pthread.h>

#include "lib/pg/pg.h"

/* Shared by the files of lib/pg. */

#define PG_PREPARED_MAX 256
#define PG_KEPT_MAX 64 /* texts of pg_query_kept() */

struct pg {
	char *url, *application;
	unsigned connect_timeout_s, statement_timeout_ms;
	unsigned timeout_ms;     /* of the next statement */
	unsigned timeout_set_ms; /* what the session is set to */
	bool any_host;

	PGconn *conn; /* NULL: none */
	const char *prepared[PG_PREPARED_MAX];
	size_t prepared_count;
	char *kept[PG_KEPT_MAX]; /* prepared as "kept" and the place here */
	size_t kept_count;
	bool in_transaction;
	char where[160];
	char sqlstate[6];

	/* the back-off after a failure */
	uint64_t next_try_ns;
	unsigned failures;
	struct err last;
	bool read_only; /* the server answers, but is read-only */

	pthread_mutex_t mutex; /* protects cancel and interrupted */
	PGcancel *cancel;
	bool interrupted;
};

/* The errno of pg.h for an SQLSTATE. "": a connection failure. */
int pg_state_errno(const char *sqlstate);

/* The errno and text of a failed result (NULL: of the connection). Closes a connection
 * that is no longer usable. */
int pg_fail(struct pg *pg, const PGresult *r, struct err *err);

/* Deadline of the current statement, CLOCK_BOOTTIME. */
uint64_t pg_deadline_ns(const struct pg *pg);

/* Sends everything that libpq has buffered. */
int pg_flush(struct pg *pg, uint64_t deadline_ns, struct err *err);

/* Sends, waits for the results and returns the last (or the first that failed), within
 * the statement timeout and a little more. A result that is not a success is a failure,
 * except want (PGRES_COPY_IN), at which it returns. */
int pg_finish(struct pg *pg, ExecStatusType want, PGresult **ret, struct err *err);

/* Forgets the prepared statements: a new session has none. */
void pg_forget_statements(struct pg *pg);

/* Connects and sets the statement timeout: ready to send. */
int pg_begin(struct pg *pg, struct err *err);

#endif
