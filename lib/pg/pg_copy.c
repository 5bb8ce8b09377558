/* SPDX-License-Identifier: GPL-2.0-or-later */
/* COPY's binary format: half the bytes of the text format, and no parsing. */
#include "lib/pg/pg_copy.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/parse.h"
#include "lib/pg/pg_impl.h"

#define CHUNK_BYTES (64u << 10)
#define ROW_BYTES_MAX (4u << 20)
/* 2000-01-01, where Postgres counts from */
#define EPOCH_2000_S 946684800
#define EPOCH_2000_DAYS 10957
#define INT4_OID 23 /* src/include/catalog/pg_type.dat */

static void fail_copy(struct pg_copy *c, int rc, const char *text)
{
	if (c->error == 0)
		c->error = err_set(&c->why, rc, "%s", text);
}

static void send_chunk(struct pg_copy *c)
{
	uint64_t deadline_ns = pg_deadline_ns(c->pg);

	if (c->error == 0 && buf_error(&c->buf))
		fail_copy(c, buf_error(&c->buf), "a row is too long");
	while (c->error == 0) {
		int n = PQputCopyData(c->pg->conn, c->buf.data, (int)c->buf.len);
		if (n > 0)
			break;
		if (n < 0)
			c->error = pg_fail(c->pg, NULL, &c->why);
		else
			c->error = pg_flush(c->pg, deadline_ns, &c->why);
	}
	/* libpq buffers what the socket does not take: keep that small */
	if (c->error == 0)
		c->error = pg_flush(c->pg, deadline_ns, &c->why);
	buf_reset(&c->buf);
}

int pg_copy_begin(struct pg_copy *c, struct pg *pg, const char *sql, uint16_t columns,
		  struct err *err)
{
	static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";
	int rc = pg_begin(pg, err);

	if (rc < 0)
		return rc;
	if (!PQsendQuery(pg->conn, sql))
		return pg_fail(pg, NULL, err);
	rc = pg_finish(pg, PGRES_COPY_IN, NULL, err);
	if (rc < 0)
		return rc;
	memset(c, 0, sizeof(*c));
	c->pg = pg;
	c->columns = columns;
	buf_init(&c->buf, CHUNK_BYTES + ROW_BYTES_MAX);
	buf_put(&c->buf, head, 19);
	return 0;
}

void pg_copy_row(struct pg_copy *c)
{
	uint16_t n = htobe16(c->columns);

	if (c->left)
		fail_copy(c, -EINVAL, "a row has too few values");
	if (c->buf.len >= CHUNK_BYTES)
		send_chunk(c);
	c->left = c->columns;
	buf_put(&c->buf, &n, sizeof(n));
}

static void put_copy_value(struct pg_copy *c, const void *data, size_t len)
{
	uint32_t n = htobe32((uint32_t)len);

	if (c->left == 0 || len > ROW_BYTES_MAX) {
		fail_copy(c, -EINVAL, "a row has too many values, or one is too long");
		return;
	}
	c->left--;
	buf_put(&c->buf, &n, sizeof(n));
	buf_put(&c->buf, data, len);
}

void pg_copy_null(struct pg_copy *c)
{
	uint32_t n = UINT32_MAX;

	if (c->left == 0) {
		fail_copy(c, -EINVAL, "a row has too many values");
		return;
	}
	c->left--;
	buf_put(&c->buf, &n, sizeof(n));
}

void pg_copy_bool(struct pg_copy *c, bool v)
{
	uint8_t b = v;

	put_copy_value(c, &b, sizeof(b));
}

void pg_copy_s16(struct pg_copy *c, int16_t v)
{
	uint16_t b = htobe16((uint16_t)v);

	put_copy_value(c, &b, sizeof(b));
}

void pg_copy_s32(struct pg_copy *c, int32_t v)
{
	uint32_t b = htobe32((uint32_t)v);

	put_copy_value(c, &b, sizeof(b));
}

void pg_copy_s64(struct pg_copy *c, int64_t v)
{
	uint64_t b = htobe64((uint64_t)v);

	put_copy_value(c, &b, sizeof(b));
}

/* Source: array_recv() of PostgreSQL, src/backend/utils/adt/arrayfuncs.c */
void pg_copy_s32s(struct pg_copy *c, const int32_t *v, uint64_t known, unsigned count)
{
	uint32_t data[5 + 2 * 64] = {
		htobe32(1),        htobe32(known != UINT64_MAX >> (64 - count)),
		htobe32(INT4_OID), htobe32(count),
		htobe32(1),
	};
	size_t n = 5;

	for (unsigned i = 0; i < count; i++) {
		bool is = known >> i & 1;
		data[n++] = htobe32(is ? sizeof(*v) : UINT32_MAX);
		if (is)
			data[n++] = htobe32((uint32_t)v[i]);
	}
	put_copy_value(c, data, n * sizeof(*data));
}

void pg_copy_f32(struct pg_copy *c, float v)
{
	uint32_t b;

	memcpy(&b, &v, sizeof(b));
	b = htobe32(b);
	put_copy_value(c, &b, sizeof(b));
}

void pg_copy_f64(struct pg_copy *c, double v)
{
	uint64_t b;

	memcpy(&b, &v, sizeof(b));
	b = htobe64(b);
	put_copy_value(c, &b, sizeof(b));
}

void pg_copy_text(struct pg_copy *c, const char *s, size_t len)
{
	put_copy_value(c, s, len);
}

void pg_copy_time(struct pg_copy *c, uint64_t realtime_ns)
{
	pg_copy_s64(c, (int64_t)(realtime_ns / 1000) - EPOCH_2000_S * 1000000LL);
}

void pg_copy_date(struct pg_copy *c, int32_t days)
{
	pg_copy_s32(c, days - EPOCH_2000_DAYS);
}

void pg_copy_abort(struct pg_copy *c)
{
	fail_copy(c, -ECANCELED, "given up");
	(void)pg_copy_end(c, NULL, NULL);
}

/* Tells the server to fail the COPY, so that it has no effect. */
static int end_failed(struct pg_copy *c, struct err *err)
{
	if (pg_connected(c->pg)) {
		if (PQputCopyEnd(c->pg->conn, "given up") <= 0 ||
		    pg_finish(c->pg, PGRES_COMMAND_OK, NULL, NULL) == 0)
			pg_disconnect(c->pg);
	}
	return err_set(err, c->error, "%s", c->why.text);
}

static int end_good(struct pg_copy *c, uint64_t *ret_rows, struct err *err)
{
	uint16_t last = UINT16_MAX;
	PGresult *r = NULL;

	buf_put(&c->buf, &last, sizeof(last));
	send_chunk(c);
	if (c->error)
		return end_failed(c, err);
	if (PQputCopyEnd(c->pg->conn, NULL) <= 0)
		return pg_fail(c->pg, NULL, err);
	int rc = pg_finish(c->pg, PGRES_COMMAND_OK, &r, err);
	if (rc < 0)
		return rc;
	uint64_t rows = 0;
	if (parse_u64(PQcmdTuples(r), &rows) < 0)
		rc = err_set(err, -EIO, "database: COPY without a count");
	else if (ret_rows)
		*ret_rows = rows;
	PQclear(r);
	return rc;
}

int pg_copy_end(struct pg_copy *c, uint64_t *ret_rows, struct err *err)
{
	if (c->left)
		fail_copy(c, -EINVAL, "a row has too few values");
	int rc = c->error ? end_failed(c, err) : end_good(c, ret_rows, err);
	buf_done(&c->buf);
	return rc;
}
