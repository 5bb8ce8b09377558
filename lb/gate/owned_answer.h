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
 * one row for each run: id, begin, end (null: it is not over), whether the caller may
 * see it. It is read as a stranger's: what is not exactly this is none. Where it was
 * asked for there are "latest", rows of units that nobody asked for by their ids, and
 * "user", whose they are. */

#define OWNED_ANSWER_BYTES_MAX ((size_t)16 << 20)
#define OWNED_ROWS_MAX 200000u

enum owned_role { OWNED_USER, OWNED_OPERATOR, OWNED_ADMIN };

struct owned_unit {
	struct str id;
	const struct owned_run *runs;
	size_t count; /* 0: not known */
};

struct owned_answer {
	enum owned_role role;
	struct owned_unit *units;
	size_t count;
	struct owned_run *runs;
	struct buf text; /* where ids are that were not asked for */
	struct owned_unit *latest;
	size_t latest_count;
	struct owned_run *latest_runs;
};

/* ids: what was asked for, in the order of ret->units; a row of anything else spoils
 * the answer. ids NULL: units are what the answer names. latest_of: whose latest units
 * are taken, NULL: nobody's; those of anybody else are left out. Zero-initialise ret.
 * The text is written to, and ret's when that is read. -EBADMSG, -ENOMEM. */
int owned_answer_read(struct buf *text, const struct str *ids, size_t count,
		      const char *latest_of, struct owned_answer *ret, struct err *err);
void owned_answer_done(struct owned_answer *a); /* accepts a zeroed one */

#endif
