/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PG_PG_COPY_H
#define CEEMS_LIB_PG_PG_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/pg/pg.h"

/* COPY ... FROM STDIN (FORMAT binary): rows are built value by value, in the order and
 * with the exact types of the columns: the server checks only lengths. Source of the
 * format: PostgreSQL documentation, COPY, "Binary Format".
 *
 *	struct pg_copy c;
 *	rc = pg_copy_begin(&c, pg, "COPY t (a, b) FROM STDIN (FORMAT binary)", 2, err);
 *	for (...) {
 *		pg_copy_row(&c);
 *		pg_copy_s64(&c, 1);
 *		pg_copy_text(&c, "x", 1);
 *	}
 *	rc = pg_copy_end(&c, &rows, err);
 *
 * Errors are kept until pg_copy_end(), which must be called whenever pg_copy_begin()
 * succeeded; no other statement may run in between. */

struct pg_copy {
	struct pg *pg;
	struct buf buf;
	uint16_t columns, left;
	int error; /* ours; the server's come with pg_copy_end() */
	struct err why;
};

int pg_copy_begin(struct pg_copy *c, struct pg *pg, const char *sql, uint16_t columns,
		  struct err *err);
void pg_copy_row(struct pg_copy *c);
void pg_copy_null(struct pg_copy *c);
void pg_copy_bool(struct pg_copy *c, bool v);   /* boolean */
void pg_copy_s16(struct pg_copy *c, int16_t v); /* smallint */
void pg_copy_s32(struct pg_copy *c, int32_t v); /* integer */
void pg_copy_s64(struct pg_copy *c, int64_t v); /* bigint */
/* integer[] of count, 64 at most; bit i of known: v[i] is not NULL */
void pg_copy_s32s(struct pg_copy *c, const int32_t *v, uint64_t known, unsigned count);
void pg_copy_f32(struct pg_copy *c, float v);  /* real */
void pg_copy_f64(struct pg_copy *c, double v); /* double precision */
/* text, varchar and bytea. A NUL or invalid UTF-8 in a text makes the server refuse the
 * whole COPY: check before. */
void pg_copy_text(struct pg_copy *c, const char *s, size_t len);
/* timestamptz of nanoseconds since 1970, rounded down to microseconds */
void pg_copy_time(struct pg_copy *c, uint64_t realtime_ns);
/* date: days since 1970-01-01 */
void pg_copy_date(struct pg_copy *c, int32_t days);

/* Ends it: the number of rows the server took, or why it took none (errors as pg.h). */
int pg_copy_end(struct pg_copy *c, uint64_t *ret_rows, struct err *err);
/* Ends it without effect, for a caller that cannot continue; the transaction is
 * failed. */
void pg_copy_abort(struct pg_copy *c);

#endif
