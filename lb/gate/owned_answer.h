/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_OWNED_ANSWER_H
#define CEEMS_LB_GATE_OWNED_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/gate/owned_rule.h"
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

#define OWNED_ANSWER_BYTES_MAX ((size_t)16 << 20)
#define OWNED_ROWS_MAX 200000u

enum owned_role { OWNED_USER, OWNED_OPERATOR, OWNED_ADMIN };

struct owned_unit {
	struct str id;
	const struct owned_run *runs;
	size_t count; /* 0: unknown */
};

struct owned_answer {
	enum owned_role role;
	struct owned_unit *units;
	size_t count;
	struct owned_run *runs;
	struct buf text; /* holds ids that were not asked for */
	struct owned_unit *latest;
	size_t latest_count;
	struct owned_run *latest_runs;
};

/* ids: the units asked for, in the order of ret->units; a row of another unit makes the
 * answer invalid. ids NULL: units are those in the answer. latest_of: the user whose
 * latest units are taken (others are left out), NULL: nobody's. Zero-initialise ret.
 * The text is modified, and ret refers to it. -EBADMSG, -ENOMEM. */
int owned_answer_read(struct buf *text, const struct str *ids, size_t count,
		      const char *latest_of, struct owned_answer *ret, struct err *err);
void owned_answer_done(struct owned_answer *a); /* accepts a zeroed one */

#endif
