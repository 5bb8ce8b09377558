/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_COLUMNS_H
#define CEEMS_CLI_CACCT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cacct/unit.h"
#include "lib/buf.h"
#include "lib/err.h"

/* The columns of cacct: sacct's names where they mean the same, own names, and the
 * peer's names as aliases. */

enum column_kind {
	COLUMN_TEXT,
	COLUMN_JOB_ID,
	COLUMN_TIME,
	COLUMN_SPAN,     /* seconds, [D-]HH:MM:SS */
	COLUMN_CPU_SPAN, /* the same, below an hour MM:SS.mmm as sacct's TotalCPU */
	COLUMN_MINUTES,  /* seconds, in minutes */
	COLUMN_COUNT,
	COLUMN_PARTS, /* a count, or parts of one */
	COLUMN_BYTES,
	COLUMN_RATIO, /* shown in per cent */
	COLUMN_DECIMAL,
	COLUMN_JOULES,
	COLUMN_WH,    /* joules, shown as watt hours */
	COLUMN_HOURS, /* seconds, shown as hours with decimals */
	COLUMN_KWH,
	COLUMN_GRAMS, /* of one provider, or of all: one column each */
};

struct column {
	const char *name;
	const char *peer; /* the peer's name for it, or NULL */
	enum column_kind kind;
	int width; /* of the field, as sacct's table has it */
	int from;  /* enum unit_text or enum unit_number, by kind */
	const char *help;
};

/* A column that was asked for. */
struct column_use {
	const struct column *c;
	char title[40]; /* the column's name; of GRAMS with the provider */
	char provider[UNIT_PROVIDER_BYTES]; /* GRAMS: "" for all of them */
	size_t width;
	bool left; /* to the left side: %-20 */
};

#define COLUMNS_MAX 192

struct columns {
	struct column_use use[COLUMNS_MAX];
	size_t count;
};

/* Units of numbers as sacct's --units and --noconvert */
struct column_style {
	char unit;  /* K M G T P, or 0: what fits */
	bool exact; /* --noconvert: bytes and joules as they are */
};

/* "JobID,State%10,Account%-20", appended to ret. Names without regard to case.
 * "%NAME" widths as sacct; "ALL": each one. -EINVAL names the field. */
int columns_parse(const char *text, struct columns *ret, struct err *err);

/* For GRAMS of all providers: the column of one of them. */
void columns_of_provider(const struct column_use *all, const char *provider,
			 struct column_use *ret);

/* Sort keys of rows, most significant first. */
#define COLUMNS_ORDER_MAX 4

struct columns_order {
	struct column_use by[COLUMNS_ORDER_MAX];
	bool down[COLUMNS_ORDER_MAX]; /* descending */
	size_t count;
};

/* "EnergyWh", "-Elapsed,User": a minus for descending, as squeue --sort. -EINVAL names
 * the field. */
int columns_parse_order(const char *text, struct columns_order *ret, struct err *err);

/* Sort value of a row in a numeric column; NAN: unknown. */
double column_value(const struct column_use *use, const struct unit *u);

/* The text of a unit in a column, "" if unknown. */
void column_put(struct buf *out, const struct column_use *use, const struct unit *u,
		const struct column_style *style);

/* --helpformat: names in columns; long_form: with kinds and the peer's names. */
void columns_help(struct buf *out);
void columns_markdown(struct buf *out);

bool column_is_number(const struct column *c);

#endif
