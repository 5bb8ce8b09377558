/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_REPORT_COUNTS_H
#define CEEMS_CLI_CACCT_REPORT_COUNTS_H

#include <stddef.h>

#include "lib/buf.h"

/* What the kernel counted for a unit, in both forms of its report. */

#define REPORT_AMOUNTS 7u
#define REPORT_PLACES_MAX 256u

/* A mount or a node, and its amounts; NAN: unknown */
struct report_place {
	const char *name; /* borrowed from the JSON; NULL: unknown */
	double amount[REPORT_AMOUNTS];
};

struct report_places {
	struct report_place place[REPORT_PLACES_MAX];
	size_t count;
};

struct cacct_report;
struct json_object;

/* From the answer of /units/{id}, which must outlive it. */
void report_read_counts(struct cacct_report *r, struct json_object *detail);

/* Of a unit's numbers; each appends nothing if it is not known. */
void report_say_files(const double *n, struct buf *t);
void report_say_resent(const double *n, struct buf *t);
void report_say_events(const double *n, struct buf *t);
void report_say_cycles(const double *n, struct buf *t);
/* At most two. Returns how many. */
size_t report_put_file_hints(const double *n, struct buf *ret);
/* At most one. */
size_t report_put_memory_hint(const double *n, struct buf *ret);

void report_put_mounts_text(const struct cacct_report *r, struct buf *out);
void report_put_counts_html(const struct cacct_report *r, struct buf *out);

#endif
