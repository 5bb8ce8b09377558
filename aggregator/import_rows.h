/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_IMPORT_ROWS_H
#define CEEMS_AGGREGATOR_IMPORT_ROWS_H

#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/pg/pg.h"
#include "lib/records/job.h"

/* Rows of an import on their way to the database, a thousand at a time
 * (aggregator/sql/0006_people.sql, import_jobs(); 0061_brought.sql, import_units()). */

#define IMPORT_ROWS_BYTES_MAX ((size_t)32 << 20) /* plus the steps of the last job */

struct import_rows {
	struct pg *pg;
	const char *pue; /* of rows with usage, a number; NULL: rows have none */
	struct buf rows; /* a JSON list being built; the caller's to free */
	unsigned count;
	uint64_t taken;     /* so far: new or changed */
	int64_t taken_last; /* of the last list */
};

/* step_names: a JSON object, NULL: none. more: further members of the row, each with a
 * comma before it; "": none. -ENOMEM, or the database's error. */
int import_rows_add(struct import_rows *m, const struct job *j, const char *step_names,
		    const char *more, struct err *err);
/* Sends what has not been sent. */
int import_rows_send(struct import_rows *m, struct err *err);
/* An import's line in the audit table. */
int import_rows_note(struct pg *pg, const char *what, uint64_t taken, struct err *err);

#endif
