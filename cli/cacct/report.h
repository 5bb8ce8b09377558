/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_REPORT_H
#define CEEMS_CLI_CACCT_REPORT_H

#include <json-c/json.h>
#include <stdbool.h>

#include "cli/cacct/flame.h"
#include "cli/cacct/report_counts.h"
#include "cli/cacct/series.h"
#include "cli/cacct/unit.h"
#include "lib/buf.h"

/* A unit on one screen, or on one page. */

#define REPORT_STEPS_MAX 256

struct cacct_report {
	struct unit unit;
	struct unit steps[REPORT_STEPS_MAX];
	size_t step_count;
	struct series series;
	struct report_places mounts, nodes;
	struct flame flame; /* nothing where there is no profile */
	uint64_t more;      /* further units that matched */
	bool color, utf8;   /* of the screen */
};

/* Facts in the order in which they are shown, for both forms. */
enum report_fact {
	REPORT_CPU,
	REPORT_MEMORY,
	REPORT_GPU,
	REPORT_ENERGY,
	REPORT_EMISSIONS,
	REPORT_FILES,
	REPORT_DEVICES, /* of files, what reached devices */
	REPORT_NETWORK,
	REPORT_EVENTS,
	REPORT_CYCLES,
	REPORT_COVERAGE,
	REPORT_FACTS
};
/* The text of a fact, "" if there is none; *ret_ratio: how full its bar is, NAN: no
 * bar. */
void report_fact(const struct cacct_report *r, enum report_fact what,
		 const char **ret_name, double *ret_ratio, struct buf *ret_text);

/* Advice for its owner, one per line; "" if there is none. */
#define REPORT_HINTS_MAX 8
size_t report_hints(const struct cacct_report *r, struct buf ret[REPORT_HINTS_MAX]);

/* Lines of who, when and where. */
void report_head(const struct cacct_report *r, struct buf *title, struct buf *who,
		 struct buf *when);

/* "0", "batch"; and the step's name, "" if that is the same. */
const char *report_step(const struct unit *step);
const char *report_step_name(const struct unit *step);

/* 1536 -> "1.5 KiB" */
void report_put_bytes(struct buf *out, double v);

void report_put_text(const struct cacct_report *r, struct buf *out);
/* A self-contained page without scripts. */
void report_put_html(const struct cacct_report *r, struct buf *out);

#endif
