/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_PROMQL_RANDOM_H
#define CEEMS_TEST_PROMQL_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "lb/promql/promql.h"
#include "lib/buf.h"

/* Queries by chance, from the grammar, the odd corners more often than people use them;
 * the same seed gives the same queries. About every fifth is valid. */
struct promql_random {
	uint64_t state; /* not 0 */
	enum promql_dialect dialect;
	bool clean; /* no mistakes on purpose: about every second is valid */
	/* the selectors: NULL: any; else what writes one into out */
	void (*selector)(void *arg, struct promql_random *r, struct buf *out);
	void *arg;
};

uint32_t random_below(struct promql_random *r, uint32_t n);
/* One query into out, which is emptied first. No NUL, valid UTF-8 unless bytes were
 * spoilt on purpose. */
void promql_random(struct promql_random *r, struct buf *out);

#endif
