/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_JSON_READ_H
#define CEEMS_LB_PROMQL_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/promql.h"
#include "lb/promql/steps.h"
#include "lib/err.h"

/* A strict JSON (RFC 8259) pull parser for callers that know what to expect. It builds
 * no tree, so that an answer of ten thousand rows does not need forty thousand
 * allocations, and duplicate names are noticed.
 *
 *	struct json_reader r;
 *	json_reader_init(&r, text, len, err);
 *	if (!json_take(&r, '['))
 *		return json_broken(&r, "expected a list");
 *
 * Functions that return int: 0, or -EINVAL with the place in the text, -E2BIG. Each
 * takes blanks before what it reads. */

#define JSON_READ_DEPTH_MAX 16u

struct json_reader {
	struct err *err;
	const char *text, *p, *end;
	unsigned depth;      /* for json_enter() */
	struct steps *steps; /* NULL: not counted */
};

void json_reader_init(struct json_reader *r, const char *text, size_t len,
		      struct err *err);
/* "JSON, byte 12: what": -EINVAL. what is a constant, never part of the text. */
int json_broken(struct json_reader *r, const char *what);
/* Takes c, or a word such as "null", if it is next. */
bool json_take(struct json_reader *r, char c);
bool json_take_word(struct json_reader *r, const char *word);
/* Whether the next thing is a string; takes nothing. */
bool json_at_string(struct json_reader *r);
/* Checks that only blanks are left. */
int json_end(struct json_reader *r);

/* The raw text between the quotes. */
int json_raw_string(struct json_reader *r, struct str *ret);
/* The same unescaped, and checked to be UTF-8 without NUL: to has room for raw.len
 * bytes and may be raw.p itself. Returns the length, or as above. */
int json_unescape(struct json_reader *r, struct str raw, char *to, uint32_t *ret_len);
/* A number as written. */
int json_number(struct json_reader *r, struct str *ret);
bool json_is_number(struct str s);

/* Enters or leaves an object or list: -E2BIG if it is nested too deep. */
int json_enter(struct json_reader *r);
void json_leave(struct json_reader *r);
/* Skips any value. */
int json_skip(struct json_reader *r);

#endif
