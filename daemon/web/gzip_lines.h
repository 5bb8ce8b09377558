/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_WEB_GZIP_LINES_H
#define CEEMS_DAEMON_WEB_GZIP_LINES_H

#include <stddef.h>

#include "lib/buf.h"

/*
 * Writes gzip (RFC 1951, 1952) of text whose lines are like the line before: a scrape.
 * Each line is compared with the one before alone, so this takes a fraction of what
 * zlib takes to look for repetitions; the result is as small as zlib's at level 1 for
 * such text, and valid for any bytes. Not thread safe.
 */
struct gzip_lines;

/* Appends to out, which must stay until the end. NULL: no memory. */
struct gzip_lines *gzip_lines_new(struct buf *out);
/* text: whole lines. Errors are out's. */
void gzip_lines_put(struct gzip_lines *z, const char *text, size_t len);
/* Completes it. 0, or out's error. */
int gzip_lines_end(struct gzip_lines *z);
void gzip_lines_free(struct gzip_lines *z); /* accepts NULL */

#endif
