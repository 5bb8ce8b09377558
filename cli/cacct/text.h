/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_TEXT_H
#define CEEMS_CLI_CACCT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"

/* Text of strangers (job names, accounts, comments) in the forms that cacct writes. In
 * every form but JSON what a terminal would act on is written as U+FFFD: C0 and C1
 * controls, bytes that are not UTF-8, line separators, and the characters that turn the
 * direction of writing or take no room. */

enum text_form {
	TEXT_PLAIN,    /* for a terminal or a pipe */
	TEXT_CSV,      /* RFC 4180; a text that a spreadsheet would take for a formula
			  gets an apostrophe before it */
	TEXT_HTML,     /* of an element or a quoted attribute */
	TEXT_MARKDOWN, /* of a table's cell */
};

void text_put(struct buf *out, enum text_form form, const char *s);

/* A CSV number or other text of our own: quoted where needed, never changed. */
void text_put_csv_own(struct buf *out, const char *s);

/* Plain text in a field of width columns: padded, and cut with a '+' at its end as
 * Slurm does. */
void text_put_field(struct buf *out, const char *s, size_t width, bool left);

/* How many columns of a terminal the plain text takes. */
size_t text_width(const char *s);

/* Plain text in which sep and line ends do not occur: a '?' stands for each. */
void text_put_parsable(struct buf *out, const char *s, const char *sep);

/* Three digits that count, never an exponent. */
void text_put_short(struct buf *out, double v);

/* A sum, of which more digits may count: 12.5, 1.500, 0.000022. */
void text_put_amount(struct buf *out, double v);

/* The same with its unit, kWh from 1000 on; what would begin with zeros in J or mJ. */
void text_put_wh(struct buf *out, double wh);

#endif
