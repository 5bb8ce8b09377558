/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries with values, statements prepared once per connection, and values of results.
 * Values never become part of the SQL text. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/parse.h"
#include "lib/pg/pg_impl.h"

static char *next_number(struct pg_args *a)
{
	if (a->count >= PG_ARGS_MAX) {
		a->overflow = true;
		return NULL;
	}
	a->values[a->count] = a->numbers[a->count];
	return a->numbers[a->count++];
}

#define NUMBER(a, ...)                                                                 \
	do {                                                                           \
		char *number_ = next_number(a);                                        \
		if (number_)                                                           \
			(void)snprintf(number_, sizeof((a)->numbers[0]), __VA_ARGS__); \
	} while (0)

void pg_arg_text(struct pg_args *a, const char *s)
{
	if (a->count >= PG_ARGS_MAX)
		a->overflow = true;
	else
		a->values[a->count++] = s;
}

void pg_arg_null(struct pg_args *a)
{
	pg_arg_text(a, NULL);
}

void pg_arg_s64(struct pg_args *a, int64_t v)
{
	NUMBER(a, "%" PRId64, v);
}

void pg_arg_u64(struct pg_args *a, uint64_t v)
{
	NUMBER(a, "%" PRIu64, v);
}

void pg_arg_f64(struct pg_args *a, double v)
{
	if (isnan(v))
		pg_arg_text(a, "NaN");
	else if (isinf(v))
		pg_arg_text(a, v > 0 ? "Infinity" : "-Infinity");
	else
		NUMBER(a, "%.17g", v);
}

void pg_arg_bool(struct pg_args *a, bool v)
{
	pg_arg_text(a, v ? "true" : "false");
}

void pg_arg_time(struct pg_args *a, uint64_t realtime_ns)
{
	time_t s = (time_t)(realtime_ns / NSEC_PER_SEC);
	unsigned us = (unsigned)(realtime_ns % NSEC_PER_SEC / 1000);
	char text[24];
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	NUMBER(a, "%.15s.%06uZ", text, us);
}

static bool is_prepared(const struct pg *pg, const char *name)
{
	for (size_t i = 0; i < pg->prepared_count; i++) {
		if (pg->prepared[i] == name || strcmp(pg->prepared[i], name) == 0)
			return true;
	}
	return false;
}

/* Whether the failure may come from a connection pooler that gave this session another
 * connection: then the statement is prepared again. */
static bool was_forgotten(const struct pg *pg)
{
	return strcmp(pg->sqlstate, "26000") == 0;
}

static int prepare_statement(struct pg *pg, const struct pg_statement *s,
			     struct err *err)
{
	if (pg->prepared_count == PG_PREPARED_MAX)
		return err_set(err, -E2BIG, "too many statements");
	if (!PQsendPrepare(pg->conn, s->name, s->sql, 0, NULL))
		return pg_fail(pg, NULL, err);
	int rc = pg_finish(pg, PGRES_COMMAND_OK, NULL, err);
	if (rc == 0)
		pg->prepared[pg->prepared_count++] = s->name;
	return rc < 0 ? err_prefix(err, rc, "%s", s->name) : 0;
}

int pg_exec(struct pg *pg, const char *sql, PGresult **ret, struct err *err)
{
	int rc = pg_begin(pg, err);

	if (rc < 0)
		return rc;
	if (!PQsendQuery(pg->conn, sql))
		return pg_fail(pg, NULL, err);
	return pg_finish(pg, PGRES_TUPLES_OK, ret, err);
}

static int run_query(struct pg *pg, const char *sql, const struct pg_args *args,
		     bool binary, PGresult **ret, struct err *err)
{
	if (args && args->overflow)
		return err_set(err, -EINVAL, "more than %d values", PG_ARGS_MAX);
	int rc = pg_begin(pg, err);
	if (rc < 0)
		return rc;
	if (!PQsendQueryParams(pg->conn, sql, args ? args->count : 0, NULL,
			       args ? args->values : NULL, NULL, NULL, binary))
		return pg_fail(pg, NULL, err);
	return pg_finish(pg, PGRES_TUPLES_OK, ret, err);
}

int pg_query(struct pg *pg, const char *sql, const struct pg_args *args, PGresult **ret,
	     struct err *err)
{
	return run_query(pg, sql, args, false, ret, err);
}

static int run_statement_once(struct pg *pg, const struct pg_statement *s,
			      const struct pg_args *args, PGresult **ret,
			      struct err *err)
{
	int rc = pg_begin(pg, err);

	if (rc == 0 && !is_prepared(pg, s->name))
		rc = prepare_statement(pg, s, err);
	if (rc < 0)
		return rc;
	if (!PQsendQueryPrepared(pg->conn, s->name, args ? args->count : 0,
				 args ? args->values : NULL, NULL, NULL, 0))
		return pg_fail(pg, NULL, err);
	return pg_finish(pg, PGRES_TUPLES_OK, ret, err);
}

int pg_run(struct pg *pg, const struct pg_statement *s, const struct pg_args *args,
	   PGresult **ret, struct err *err)
{
	if (args && args->overflow)
		return err_set(err, -EINVAL, "more than %d values", PG_ARGS_MAX);
	int rc = run_statement_once(pg, s, args, ret, err);
	if (rc < 0 && was_forgotten(pg)) {
		pg_forget_statements(pg);
		rc = pg->in_transaction ? -EAGAIN
					: run_statement_once(pg, s, args, ret, err);
	}
	return rc;
}

/* Its index, prepared; -ENOSPC: no more room. */
static int keep_text(struct pg *pg, const char *sql, struct err *err)
{
	char name[16];
	size_t i = 0;

	while (i < pg->kept_count && strcmp(pg->kept[i], sql) != 0)
		i++;
	if (i < pg->kept_count)
		return (int)i;
	if (i == PG_KEPT_MAX)
		return -ENOSPC;
	snprintf(name, sizeof(name), "kept%zu", i);
	if (!PQsendPrepare(pg->conn, name, sql, 0, NULL))
		return pg_fail(pg, NULL, err);
	int rc = pg_finish(pg, PGRES_COMMAND_OK, NULL, err);
	if (rc < 0)
		return rc;
	pg->kept[i] = strdup(sql);
	if (!pg->kept[i]) /* the name remains in use on the server */
		pg_disconnect(pg);
	if (!pg->conn)
		return err_set(err, -ENOMEM, "out of memory");
	pg->kept_count++;
	return (int)i;
}

int pg_query_kept(struct pg *pg, const char *sql, const struct pg_args *args,
		  bool binary, PGresult **ret, struct err *err)
{
	char name[16];

	if (args && args->overflow)
		return err_set(err, -EINVAL, "more than %d values", PG_ARGS_MAX);
	int rc = pg_begin(pg, err);
	if (rc == 0)
		rc = keep_text(pg, sql, err);
	if (rc == -ENOSPC && pg->kept_count == PG_KEPT_MAX)
		return run_query(pg, sql, args, binary, ret, err);
	if (rc < 0)
		return rc;
	snprintf(name, sizeof(name), "kept%d", rc);
	if (!PQsendQueryPrepared(pg->conn, name, args ? args->count : 0,
				 args ? args->values : NULL, NULL, NULL, binary))
		return pg_fail(pg, NULL, err);
	rc = pg_finish(pg, PGRES_TUPLES_OK, ret, err);
	if (rc < 0 && was_forgotten(pg)) {
		bool again = !pg->in_transaction;
		pg_forget_statements(pg);
		rc = again ? run_query(pg, sql, args, binary, ret, err) : -EAGAIN;
	}
	return rc;
}

int pg_run_s64(struct pg *pg, const struct pg_statement *s, const struct pg_args *args,
	       int64_t *ret, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	int rc = pg_run(pg, s, args, &r, err);

	if (rc < 0)
		return rc;
	if (PQntuples(r) == 0)
		return err_set(err, -ENODATA, "%s: no row", s->name);
	rc = pg_get_s64(r, 0, 0, ret);
	return rc < 0 ? err_set(err, rc, "%s: no number", s->name) : 0;
}

const char *pg_get_text(const PGresult *r, int row, int column)
{
	return PQgetisnull(r, row, column) ? NULL : PQgetvalue(r, row, column);
}

int pg_get_s64(const PGresult *r, int row, int column, int64_t *ret)
{
	const char *s = pg_get_text(r, row, column);

	if (!s)
		return -ENODATA;
	return parse_s64(s, ret) < 0 ? -EBADMSG : 0;
}

int pg_get_u64(const PGresult *r, int row, int column, uint64_t *ret)
{
	const char *s = pg_get_text(r, row, column);

	if (!s)
		return -ENODATA;
	return parse_u64(s, ret) < 0 ? -EBADMSG : 0;
}

int pg_get_f64(const PGresult *r, int row, int column, double *ret)
{
	const char *s = pg_get_text(r, row, column);

	if (!s)
		return -ENODATA;
	if (strcmp(s, "Infinity") == 0 || strcmp(s, "-Infinity") == 0)
		*ret = *s == '-' ? -INFINITY : INFINITY;
	else if (strcmp(s, "NaN") == 0)
		*ret = NAN;
	else if (parse_f64(s, ret) < 0)
		return -EBADMSG;
	return 0;
}

int pg_get_bool(const PGresult *r, int row, int column, bool *ret)
{
	const char *s = pg_get_text(r, row, column);

	if (!s)
		return -ENODATA;
	if (strcmp(s, "t") != 0 && strcmp(s, "f") != 0)
		return -EBADMSG;
	*ret = *s == 't';
	return 0;
}

int pg_binary_bool(const PGresult *r, int row, int column, bool *ret)
{
	if (PQgetisnull(r, row, column))
		return -ENODATA;
	if (!PQfformat(r, column) || PQgetlength(r, row, column) != 1)
		return -EBADMSG;
	*ret = *PQgetvalue(r, row, column) != 0;
	return 0;
}

int pg_binary_time(const PGresult *r, int row, int column, int64_t *ret_us)
{
	const int64_t epoch_us = 946684800ll * 1000000; /* 2000 */
	uint64_t be;
	int64_t us;

	if (PQgetisnull(r, row, column))
		return -ENODATA;
	if (!PQfformat(r, column) || PQgetlength(r, row, column) != sizeof(be))
		return -EBADMSG;
	memcpy(&be, PQgetvalue(r, row, column), sizeof(be));
	us = (int64_t)be64toh(be);
	/* its infinities are the limits of the type */
	if (us == INT64_MIN || us > INT64_MAX - epoch_us)
		return -EBADMSG;
	*ret_us = us + epoch_us;
	return 0;
}
