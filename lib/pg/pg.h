/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PG_PG_H
#define CEEMS_LIB_PG_PG_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* A connection to Postgres for one thread: it connects when it is needed, stays away
 * from a server that failed for a while (jittered, growing), never waits without an
 * end, and says what went wrong as an errno that tells what to do about it.
 *
 *   -EHOSTDOWN  no database: cannot be reached, refuses new connections, went away, is
 *               read-only (a standby), is shutting down or starting. Later again.
 *   -EAGAIN     a serialization failure, a deadlock, a lock that was not to be had: the
 *               same transaction may work now
 *   -ETIMEDOUT  the statement took longer than it may; it was cancelled
 *   -ENOSPC     the database's disk is full, or another of its resources used up
 *   -EACCES     login refused, or no right to a table
 *   -EEXIST     a unique key is there already
 *   -EINVAL     the data do not fit (SQLSTATE classes 22, 23)
 *   -ENOMEM
 *   -EIO        anything else: a bug of ours, or a damaged database
 * Source of the SQLSTATEs: PostgreSQL documentation, appendix A. */

struct pg;

struct pg_params {
	/* URL or key=value text (libpq, 34.1.1), with several hosts if need be; what it
	 * does not say is: connect_timeout, keepalives, target_session_attrs=read-write
	 * (also found: a host that is no standby), client_encoding=UTF8. */
	const char *url;
	const char *application;       /* shown in pg_stat_activity */
	unsigned connect_timeout_s;    /* for each host; 0: 5 */
	unsigned statement_timeout_ms; /* 0: 30000 */
	bool any_host;                 /* a standby will do: reads alone */
};

/* Checks the text and copies the params; does not connect. -EINVAL never repeats the
 * text: it may hold a password. */
int pg_new(const struct pg_params *params, struct pg **ret, struct err *err);
void pg_free(struct pg *pg); /* accepts NULL */

/* Sees to it that there is a connection. -EHOSTDOWN at once, with the last failure's
 * text, as long as the server is left alone. All functions below do this first. */
int pg_connect(struct pg *pg, struct err *err);
/* The next pg_connect() tries whatever happened. */
void pg_connect_now(struct pg *pg);
void pg_disconnect(struct pg *pg);
bool pg_connected(const struct pg *pg);
/* Whether the last connection that failed did so because the server takes no writes: a
 * standby, or default_transaction_read_only. */
bool pg_read_only(const struct pg *pg);
/* "host:5432/ceems as user": of the connection, "" without one. Borrowed. */
const char *pg_where(const struct pg *pg);
/* The server's version as 150018, 0 without a connection. */
int pg_version(const struct pg *pg);
/* SQLSTATE of the last failure, "" when it had none. Borrowed. */
const char *pg_sqlstate(const struct pg *pg);
/* For statements that may take longer (0: what the params say). */
void pg_statement_timeout(struct pg *pg, unsigned ms);
/* Another thread's only call: the statement under way is cancelled, and later ones fail
 * with -ECANCELED, for the end of the program. */
void pg_interrupt(struct pg *pg);

/* Values of $1, $2, ...: text for the server to convert. Reset by setting it to
 * PG_ARGS_INIT. Texts are borrowed until the query returns. */
#define PG_ARGS_MAX 40
struct pg_args {
	int count;
	bool overflow; /* more than PG_ARGS_MAX: the query fails with -EINVAL */
	const char *values[PG_ARGS_MAX];
	char numbers[PG_ARGS_MAX][26];
};
#define PG_ARGS_INIT                                                                   \
	{                                                                              \
		.count = 0                                                             \
	}
/* A text with a NUL cannot be said; invalid UTF-8 is the server's to refuse
 * (-EINVAL). NULL is NULL. */
void pg_arg_text(struct pg_args *a, const char *s);
void pg_arg_s64(struct pg_args *a, int64_t v);
void pg_arg_u64(struct pg_args *a, uint64_t v);
void pg_arg_f64(struct pg_args *a, double v);
void pg_arg_bool(struct pg_args *a, bool v);
void pg_arg_null(struct pg_args *a);
/* A timestamptz, exact to the microsecond (rounded down), of nanoseconds since 1970. */
void pg_arg_time(struct pg_args *a, uint64_t realtime_ns);

/* One or more commands without values. ret (NULL: not wanted) is for PQclear(). */
int pg_exec(struct pg *pg, const char *sql, PGresult **ret, struct err *err);
/* One command with values (NULL: none). */
int pg_query(struct pg *pg, const char *sql, const struct pg_args *args, PGresult **ret,
	     struct err *err);

/* The same for a text that is made each time, but is one of a few: it is prepared when
 * a connection first meets it, and planned once where the plan does not depend on the
 * values. When there are too many of them: as pg_query(). binary: its results are,
 * which the server need not write as text: for answers of ten thousand rows. Texts are
 * as ever, the rest by pg_binary_*(). */
int pg_query_kept(struct pg *pg, const char *sql, const struct pg_args *args,
		  bool binary, PGresult **ret, struct err *err);

/* A statement that is prepared when a connection first meets it. Declare as static
 * const; name is unique in the program, at most 63 bytes. */
struct pg_statement {
	const char *name, *sql;
};
int pg_run(struct pg *pg, const struct pg_statement *s, const struct pg_args *args,
	   PGresult **ret, struct err *err);
/* The same for one value: its first row and column, which must be a number. -ENODATA:
 * no row, or NULL. */
int pg_run_s64(struct pg *pg, const struct pg_statement *s, const struct pg_args *args,
	       int64_t *ret, struct err *err);

enum pg_isolation { PG_READ_COMMITTED, PG_REPEATABLE_READ, PG_SERIALIZABLE };

/* Runs body between BEGIN and COMMIT. It is run again, from its beginning and at most
 * attempts times (0: 5), after -EAGAIN and when the connection was lost: then the
 * commit may already have happened, so body must be one that does no harm when it is
 * done twice. A body that fails in another way is rolled back, its result returned. */
int pg_transaction(struct pg *pg, enum pg_isolation isolation, unsigned attempts,
		   int (*body)(struct pg *pg, void *arg, struct err *err), void *arg,
		   struct err *err);

/* Text results: the whole value must be of the type, NULL is -ENODATA, anything else
 * -EBADMSG. On failure *ret is untouched. */
int pg_get_s64(const PGresult *r, int row, int column, int64_t *ret)
	__attribute__((warn_unused_result));
int pg_get_u64(const PGresult *r, int row, int column, uint64_t *ret)
	__attribute__((warn_unused_result));
int pg_get_f64(const PGresult *r, int row, int column, double *ret)
	__attribute__((warn_unused_result));
int pg_get_bool(const PGresult *r, int row, int column, bool *ret)
	__attribute__((warn_unused_result));
/* Binary results, else alike. A timestamptz in microseconds since 1970 (PostgreSQL
 * source, timestamptz_send(): since 2000, big-endian); an infinite one is -EBADMSG. */
int pg_binary_bool(const PGresult *r, int row, int column, bool *ret)
	__attribute__((warn_unused_result));
int pg_binary_time(const PGresult *r, int row, int column, int64_t *ret_us)
	__attribute__((warn_unused_result));
/* Borrowed from the result; NULL for NULL. */
const char *pg_get_text(const PGresult *r, int row, int column);

static inline void cleanup_pgresult(PGresult **r)
{
	PQclear(*r); /* accepts NULL */
}
#define auto_pgresult __attribute__((cleanup(cleanup_pgresult)))

static inline void cleanup_pg(struct pg **pg)
{
	pg_free(*pg);
}
#define auto_pg __attribute__((cleanup(cleanup_pg)))

#endif
