/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_TABLE_H
#define CEEMS_CLI_CACCT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cacct/columns.h"
#include "cli/cacct/unit.h"
#include "lib/buf.h"
#include "lib/err.h"

/* The rows of an answer as text, kept until all are there, since only then it is known
 * which providers have grams and which columns are empty. Written in one of these
 * forms: */

enum table_form {
	TABLE_FIELDS,    /* fields of fixed width, as sacct */
	TABLE_PARSABLE,  /* -p: a separator after each */
	TABLE_PARSABLE2, /* -P: a separator between */
	TABLE_CSV,
	TABLE_HTML, /* a whole page */
	TABLE_MARKDOWN,
};

struct table_style {
	enum table_form form;
	const char *separator; /* PARSABLE, default | */
	bool header, color;
	bool drop_empty; /* leave out columns that no row has a value in */
	struct column_style numbers;
	const struct columns_order *order; /* borrowed; NULL: as sacct */
};

struct table {
	const struct columns *columns; /* borrowed */
	struct table_style style;
	char providers[UNIT_PROVIDERS_MAX]
		      [UNIT_PROVIDER_BYTES]; /* sorted only when written */
	size_t provider_count;
	struct buf text; /* the cells, one NUL-terminated text after the other */
	uint32_t *cells; /* where in text; rows x (columns + UNIT_PROVIDERS_MAX) */
	struct table_key *keys; /* of the rows: their order */
	size_t rows, room;
};

#define TABLE_ROWS_MAX 4000000

void table_init(struct table *t, const struct columns *columns,
		const struct table_style *style);
void table_done(struct table *t);

/* -EFBIG: more than TABLE_ROWS_MAX rows, or more text than 1 GiB; -ENOMEM */
int table_add(struct table *t, const struct unit *u, struct err *err);

/* Writes everything in the order of its style, else in sacct's: by submission, with
 * steps after their job. summary (one line of plain text, or NULL) follows the rows in
 * the forms meant for people. */
int table_write(struct table *t, const char *summary, struct buf *out);

#endif
