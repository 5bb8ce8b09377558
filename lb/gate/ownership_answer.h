/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_OWNERSHIP_ANSWER_H
#define CEEMS_LB_GATE_OWNERSHIP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/gate/ownership_rule.h"
#include "lb/promql/promql.h"
#include "lib/buf.h"
#include "lib/err.h"

/* The aggregator's answer about units (doc/api.md, /units/verify and /units/own):
 *
 *   {"status":"success","data":[{"role":"user","units":[["4711",1700000000000,null,true],
 *    ...]}], ...}
 *
 * one row per run: id, begin, end (null: not over), whether the caller may see it. It
 * is not trusted: anything else is not an answer. If asked for, there are also
 * "latest", rows of units that were not asked for by id, and "user", their owner. */

#define OWNERSHIP_ANSWER_BYTES_MAX ((size_t)16 << 20)
#define OWNERSHIP_ROWS_MAX 200000u

enum ownership_role { OWNERSHIP_USER, OWNERSHIP_OPERATOR, OWNERSHIP_ADMIN };

struct ownership_unit {
	struct str id;
	const struct ownership_run *runs;
	size_t count; /* 0: unknown */
};

struct ownership_answer {
	enum ownership_role role;
	struct ownership_unit *units;
	size_t count;
	struct ownership_run *runs;
	struct buf text; /* holds ids that were not asked for */
	struct ownership_unit *latest;
	size_t latest_count;
	struct ownership_run *latest_runs;
};

/* ids: the units asked for, in the order of ret->units; a row of another unit makes the
 * answer invalid. ids NULL: units are those in the answer. latest_of: the user whose
 * latest units are taken (others are left out), NULL: nobody's. Zero-initialise ret.
 * The text is modified, and ret refers to it. -EBADMSG, -ENOMEM. */
int ownership_answer_read(struct buf *text, const struct str *ids, size_t count,
			  const char *latest_of, struct ownership_answer *ret,
			  struct err *err);
void ownership_answer_done(struct ownership_answer *a); /* accepts a zeroed one */

#endif
