/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of an import, sent to the database as JSON lists of bounded size. */
#include "aggregator/import_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/ingest/ingest_decode.h"
#include "aggregator/query.h"

#define ROWS_AT_ONCE 1000
#define ROWS_BYTES ((size_t)8 << 20)

/* Another import of the same rows, or the roll-up, may be in the way: tried again. */
#define TRIES 10

static int send_rows_in(struct pg *pg, void *arg, struct err *err)
{
	struct import_rows *m = arg;
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;

	query_put(&q, m->pue ? "SELECT import_units(" : "SELECT import_jobs(");
	query_text(&q, m->rows.data);
	query_put(&q, "::jsonb");
	if (m->pue) {
		query_put(&q, ", ");
		query_text(&q, m->pue);
		query_put(&q, "::numeric");
	}
	query_put(&q, ")");
	int rc = query_run(&q, pg, &r, err);
	return rc < 0 ? rc : pg_get_s64(r, 0, 0, &m->taken_last);
}

int import_rows_send(struct import_rows *m, struct err *err)
{
	if (!m->count)
		return 0;
	buf_putc(&m->rows, ']');
	if (buf_error(&m->rows))
		return err_set(err, -ENOMEM, "out of memory");
	int rc = pg_transaction(m->pg, PG_READ_COMMITTED, TRIES, send_rows_in, m, err);
	if (rc == 0)
		m->taken += (uint64_t)m->taken_last;
	m->count = 0;
	buf_reset(&m->rows);
	return rc;
}

int import_rows_add(struct import_rows *m, const struct job *j, const char *step_names,
		    const char *more, struct err *err)
{
	auto_buf struct buf record = {.max = 1 << 20};
	uint64_t part = job_part_s(j);
	int rc = ingest_job_json(j, &record);

	if (rc < 0)
		return err_set(err, rc, "out of memory");
	buf_puts(&m->rows, m->count++ ? ",{\"cluster\":" : "[{\"cluster\":");
	buf_put_json(&m->rows, j->cluster, strlen(j->cluster));
	buf_printf(&m->rows,
		   ",\"uuid\":\"%u\",\"restarts\":%u,\"submitted\":%" PRIu64
		   ",\"part\":%" PRIu64 ",\"state\":%u%s,\"record\":",
		   j->job_id, j->restarts & INT32_MAX, j->submit_s,
		   part ? part : j->submit_s, j->state & INT32_MAX, more);
	buf_put(&m->rows, record.data, record.len - (step_names != NULL));
	if (step_names)
		buf_printf(&m->rows, ",\"step_names\":%s}", step_names);
	buf_putc(&m->rows, '}');
	return m->count < ROWS_AT_ONCE && m->rows.len < ROWS_BYTES
		       ? 0
		       : import_rows_send(m, err);
}

int import_rows_note(struct pg *pg, const char *what, uint64_t taken, struct err *err)
{
	auto_query struct query q = {.list_count = 0};
	const struct passwd *pw = getpwuid(getuid());

	query_put(&q, "INSERT INTO audit (login, action, detail) VALUES (");
	query_text(&q, pw ? pw->pw_name : "?");
	query_put(&q, ", 'import', jsonb_build_object('what', ");
	query_text(&q, what);
	query_put(&q, ", 'rows', ");
	query_s64(&q, (int64_t)taken);
	query_put(&q, "))");
	return query_run(&q, pg, NULL, err);
}
