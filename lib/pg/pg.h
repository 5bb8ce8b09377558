/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PG_PG_H
#define CEEMS_LIB_PG_PG_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* A Postgres connection for one thread. It connects on demand, backs off from a server
 * that failed (growing, with jitter), always waits with a deadline, and reports errors
 * as an errno that says what to do:
 *
 *   -EHOSTDOWN  no database: cannot be reached, refuses new connections, went away, is
 *               read-only (a standby), is shutting down or starting. Try again later.
 *   -EAGAIN     a serialization failure, a deadlock, a lock that was not granted: the
 *               same transaction may work now
 *   -ETIMEDOUT  the statement exceeded its time limit and was cancelled
 *   -ENOSPC     the database's disk, or another of its resources, is exhausted
 *   -EACCES     login refused, or no right to a table
 *   -EEXIST     a unique key is there already
 *   -EINVAL     the data do not fit (SQLSTATE classes 22, 23)
 *   -ENOMEM
 *   -EIO        anything else: a bug of ours, or a damaged database
 * Source of the SQLSTATEs: PostgreSQL documentation, appendix A. */

struct pg;

struct pg_params {
	/* URL or key=value text (libpq, 34.1.1), possibly with several hosts. Defaults
	 * are added for connect_timeout, keepalives, target_session_attrs=read-write
	 * (finds the host that is not a standby) and client_encoding=UTF8. */
	const char *url;
	const char *application;       /* shown in pg_stat_activity */
	unsigned connect_timeout_s;    /* per host; 0: 5 */
	unsigned statement_timeout_ms; /* 0: 30000 */
	bool any_host;                 /* a standby will do: read-only use */
};

/* Checks the text and copies the params; does not connect. The text of -EINVAL never
 * quotes it: it may contain a password. */
int pg_new(const struct pg_params *params, struct pg **ret, struct err *err);
void pg_free(struct pg *pg); /* accepts NULL */

/* Connects if there is no connection. -EHOSTDOWN at once, with the last failure's text,
 * during back-off. All functions below do this first. */
int pg_connect(struct pg *pg, struct err *err);
/* Ends the back-off: the next pg_connect() tries. */
void pg_connect_now(struct pg *pg);
void pg_disconnect(struct pg *pg);
bool pg_connected(const struct pg *pg);
/* Whether the last connection attempt failed because the server is read-only: a
 * standby, or default_transaction_read_only. */
bool pg_read_only(const struct pg *pg);
/* "host:5432/ceems as user": of the connection, "" without one. Borrowed. */
const char *pg_where(const struct pg *pg);
/* The server's version as 150018, 0 without a connection. */
int pg_version(const struct pg *pg);
/* SQLSTATE of the last failure, "" when it had none. Borrowed. */
const char *pg_sqlstate(const struct pg *pg);
/* For statements that may take longer (0: back to the params' value). */
void pg_statement_timeout(struct pg *pg, unsigned ms);
/* The only call for other threads: cancels the running statement and makes later ones
 * fail with -ECANCELED, when the program ends. */
void pg_interrupt(struct pg *pg);

/* Values of $1, $2, ...: text for the server to convert. Reset by setting it to
 * PG_ARGS_INIT. Texts are borrowed until the query returns. */
#define PG_ARGS_MAX 128 /* also the highest number of a migration */
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
/* A text must not contain a NUL; the server refuses invalid UTF-8 (-EINVAL). NULL is
 * NULL. */
void pg_arg_text(struct pg_args *a, const char *s);
void pg_arg_s64(struct pg_args *a, int64_t v);
void pg_arg_u64(struct pg_args *a, uint64_t v);
void pg_arg_f64(struct pg_args *a, double v);
void pg_arg_bool(struct pg_args *a, bool v);
void pg_arg_null(struct pg_args *a);
/* A timestamptz from nanoseconds since 1970, rounded down to microseconds. */
void pg_arg_time(struct pg_args *a, uint64_t realtime_ns);

/* One or more commands without values. ret (NULL: not wanted) is for PQclear(). */
int pg_exec(struct pg *pg, const char *sql, PGresult **ret, struct err *err);
/* One command with values (NULL: none). */
int pg_query(struct pg *pg, const char *sql, const struct pg_args *args, PGresult **ret,
	     struct err *err);

/* The same for generated SQL of which there are only a few variants: prepared at a
 * connection's first use, and planned once if the plan does not depend on the values.
 * With too many variants: like pg_query(). binary: results are binary, which saves the
 * server the formatting of large answers; read texts as before, the rest by
 * pg_binary_*(). */
int pg_query_kept(struct pg *pg, const char *sql, const struct pg_args *args,
		  bool binary, PGresult **ret, struct err *err);

/* A statement that is prepared at a connection's first use. Declare as static const;
 * name is unique in the program, at most 63 bytes. */
struct pg_statement {
	const char *name, *sql;
};
int pg_run(struct pg *pg, const struct pg_statement *s, const struct pg_args *args,
	   PGresult **ret, struct err *err);
/* The same for a single value: first row and column, which must be a number. -ENODATA:
 * no row, or NULL. */
int pg_run_s64(struct pg *pg, const struct pg_statement *s, const struct pg_args *args,
	       int64_t *ret, struct err *err);

enum pg_isolation { PG_READ_COMMITTED, PG_REPEATABLE_READ, PG_SERIALIZABLE };

/* Runs body between BEGIN and COMMIT. It is run again, from its beginning and at most
 * attempts times (0: 5), after -EAGAIN and when the connection was lost: then the
 * commit may already have happened, so body must be harmless if it is done twice. If
 * body fails otherwise, the transaction is rolled back and body's result returned. */
int pg_transaction(struct pg *pg, enum pg_isolation isolation, unsigned attempts,
		   int (*body)(struct pg *pg, void *arg, struct err *err), void *arg,
		   struct err *err);

/* Text results: the whole value must be of the type; NULL is -ENODATA, anything else
 * -EBADMSG. On failure *ret is untouched. */
int pg_get_s64(const PGresult *r, int row, int column, int64_t *ret)
	__attribute__((warn_unused_result));
int pg_get_u64(const PGresult *r, int row, int column, uint64_t *ret)
	__attribute__((warn_unused_result));
int pg_get_f64(const PGresult *r, int row, int column, double *ret)
	__attribute__((warn_unused_result));
int pg_get_bool(const PGresult *r, int row, int column, bool *ret)
	__attribute__((warn_unused_result));
/* The same for binary results. A timestamptz is in microseconds since 1970 (PostgreSQL
 * source, timestamptz_send(): since 2000, big-endian); infinity is -EBADMSG. */
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
