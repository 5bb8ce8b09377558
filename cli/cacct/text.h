/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_TEXT_H
#define CEEMS_CLI_CACCT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"

/* Untrusted text (job names, accounts, comments) in cacct's output formats. In all but
 * JSON, whatever a terminal would act on is written as U+FFFD: C0 and C1 controls,
 * bytes that are not UTF-8, line separators, and bidirectional or zero-width
 * characters. */

enum text_form {
	TEXT_PLAIN, /* for a terminal or a pipe */
	TEXT_CSV, /* RFC 4180; a text that a spreadsheet would take for a formula gets a
		     leading apostrophe */
	TEXT_HTML,     /* of an element or a quoted attribute */
	TEXT_MARKDOWN, /* of a table's cell */
};

void text_put(struct buf *out, enum text_form form, const char *s);

/* A CSV number or other trusted text: quoted if needed, never changed. */
void text_put_csv_own(struct buf *out, const char *s);

/* Plain text in a field of width columns: padded, or cut with a final '+' as Slurm
 * does. */
void text_put_field(struct buf *out, const char *s, size_t width, bool left);

/* Width of the plain text in columns of a terminal. */
size_t text_width(const char *s);

/* Plain text with '?' in place of sep and line ends. */
void text_put_parsable(struct buf *out, const char *s, const char *sep);

/* Three significant digits, never an exponent. */
void text_put_short(struct buf *out, double v);

/* A sum with up to more significant digits: 12.5, 1.500, 0.000022. */
void text_put_amount(struct buf *out, double v);

/* The same with its unit: kWh from 1000 Wh on, J or mJ for what would begin with
 * zeros. */
void text_put_wh(struct buf *out, double wh);

#endif
