/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs migrations. The server computes the checksums, of the texts it is given. */
#include "lib/pg/migrate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/pg/pg_impl.h"

/* any fixed number: "ceemsmig" */
#define LOCK_KEY "7378697333186030951"
#define TIMEOUT_MS (3600u * 1000)

static int compare_one(const PGresult *r, int row, const struct pg_migration *all,
		       size_t count, struct err *err)
{
	const char *name = pg_get_text(r, row, 1), *sum = pg_get_text(r, row, 2);
	uint64_t number;
	int rc = pg_get_u64(r, row, 0, &number);

	if (rc < 0)
		return err_set(err, -EBADMSG, "schema_migration: no number");
	if ((size_t)row >= count || number > all[count - 1].number)
		return err_set(err, -EPROTO,
			       "the database is newer than this program: it has "
			       "migration %s, the program knows %u; start a newer "
			       "program, or restore the backup from before",
			       name ? name : "?", count ? all[count - 1].number : 0);
	const struct pg_migration *m = &all[row];
	if (number != m->number)
		return err_set(err, -EBADMSG,
			       "migration %s is not in the database, which has %s "
			       "already: it was made by an unfinished program",
			       m->name, name ? name : "?");
	if (!name || strcmp(name, m->name) != 0)
		return err_set(err, -EBADMSG,
			       "migration %" PRIu64 " is %s in the database and %s in "
			       "this program: the database is another program's",
			       number, name ? name : "?", m->name);
	/* the fourth column: our file's checksum */
	const char *ours = pg_get_text(r, row, 3);
	if (!sum || !ours || strcmp(sum, ours) != 0)
		return err_set(err, -EBADMSG,
			       "migration %s was applied with other contents "
			       "(checksum %.12s, ours %.12s): the database was made by "
			       "a program of another build",
			       m->name, sum ? sum : "?", ours ? ours : "?");
	return 0;
}

/* Our checksums beside the database's, by number. */
static int load_rows(struct pg *pg, const struct pg_migration *all, size_t count,
		     PGresult **ret, struct err *err)
{
	auto_buf struct buf sql = BUF_INIT;
	struct pg_args args = PG_ARGS_INIT;

	if (count && all[count - 1].number > PG_ARGS_MAX)
		return err_set(err, -E2BIG, "more migrations than the runner takes");
	buf_puts(&sql, "SELECT m.number, m.name, m.checksum, "
		       "encode(sha256(convert_to(ours.sql, 'UTF8')), 'hex') "
		       "FROM schema_migration m LEFT JOIN (VALUES ");
	for (unsigned number = 1, i = 0; number <= PG_ARGS_MAX; number++) {
		bool have = i < count && all[i].number == number;
		buf_printf(&sql, "%s(%u, $%u)", number > 1 ? ", " : "", number, number);
		pg_arg_text(&args, have ? all[i].sql : NULL);
		i += have;
	}
	buf_puts(&sql, ") AS ours (number, sql) USING (number) ORDER BY m.number");
	if (buf_error(&sql))
		return err_set(err, -ENOMEM, "out of memory");
	return pg_query(pg, sql.data, &args, ret, err);
}

int pg_migrate_check(struct pg *pg, const struct pg_migration *all, size_t count,
		     struct pg_migrate_status *ret, struct err *err)
{
	struct pg_migrate_status status = {.known = (unsigned)count};
	auto_pgresult PGresult *there = NULL, *rows = NULL;
	int rc = pg_exec(pg, "SELECT to_regclass('schema_migration')::text", &there,
			 err);

	if (rc < 0)
		return rc;
	if (pg_get_text(there, 0, 0)) {
		rc = load_rows(pg, all, count, &rows, err);
		if (rc < 0)
			return rc;
		for (int i = 0; i < PQntuples(rows); i++) {
			rc = compare_one(rows, i, all, count, err);
			if (rc < 0)
				return rc;
		}
		status.applied = (unsigned)PQntuples(rows);
	}
	*ret = status;
	return 0;
}

struct migrate_step {
	const struct pg_migration *all;
	size_t count;
	const char *program;
	unsigned applied; /* by us */
	bool done;
};

static int note_migration(struct pg *pg, const struct migrate_step *s,
			  const struct pg_migration *m, struct err *err)
{
	struct pg_args args = PG_ARGS_INIT;

	pg_arg_u64(&args, m->number);
	pg_arg_text(&args, m->name);
	pg_arg_text(&args, m->sql);
	pg_arg_text(&args, s->program);
	return pg_query(pg,
			"INSERT INTO schema_migration "
			"(number, name, checksum, program) VALUES ($1, $2, "
			"encode(sha256(convert_to($3, 'UTF8')), 'hex'), $4)",
			&args, NULL, err);
}

/* The next one that is missing, in a transaction of its own. */
static int apply_next(struct pg *pg, void *arg, struct err *err)
{
	struct migrate_step *s = arg;
	struct pg_migrate_status status;

	s->done = false;
	int rc = pg_exec(pg, "SELECT pg_advisory_xact_lock(" LOCK_KEY ")", NULL, err);
	if (rc == 0)
		rc = pg_exec(pg,
			     "CREATE TABLE IF NOT EXISTS schema_migration ("
			     "number integer PRIMARY KEY, name text NOT NULL, "
			     "checksum text NOT NULL, "
			     "applied_at timestamptz NOT NULL DEFAULT now(), "
			     "program text NOT NULL)",
			     NULL, err);
	if (rc == 0)
		rc = pg_migrate_check(pg, s->all, s->count, &status, err);
	if (rc != 0)
		return rc;
	if (status.applied >= s->count) {
		s->done = true;
		return 0;
	}
	const struct pg_migration *m = &s->all[status.applied];
	rc = pg_exec(pg, m->sql, NULL, err);
	if (rc == 0 && PQtransactionStatus(pg->conn) != PQTRANS_INTRANS)
		rc = err_set(err, -EINVAL, "it ends the transaction itself");
	if (rc == 0)
		rc = note_migration(pg, s, m, err);
	return rc < 0 ? err_prefix(err, rc, "migration %s", m->name) : 0;
}

int pg_migrate(struct pg *pg, const struct pg_migration *all, size_t count,
	       const char *program, struct err *err)
{
	struct migrate_step s = {.all = all, .count = count, .program = program};
	unsigned applied = 0;
	int rc = 0;

	pg_statement_timeout(pg, TIMEOUT_MS);
	for (size_t i = 0; i <= count; i++) {
		rc = pg_transaction(pg, PG_READ_COMMITTED, 0, apply_next, &s, err);
		if (rc < 0 || s.done)
			break;
		applied++;
	}
	pg_statement_timeout(pg, 0);
	return rc < 0 ? rc : (int)applied;
}
