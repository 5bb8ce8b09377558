/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_TURNS_H
#define CEEMS_LIB_TURNS_H

#include <stdint.h>

#include "lib/fair.h"

/* A fair queue (lib/fair.h) for checks that strangers ask for: whose failed are charged
 * for it. After a failed check nothing begins for as long as it took, and nothing of
 * lanes that failed lately for four times as long, so that guesses take a part of one
 * thread and those that fail wait behind those that do not. Checks that do not fail
 * cost nobody anything. Times are of one clock that never goes back. Not thread safe.
 */

#define TURNS_FAILING_MAX 256 /* lanes that are remembered */

struct turns {
	/* without and with a failed check in the last minute, and until when they rest
	 */
	struct fair fresh, failing;
	uint64_t fresh_rests_ns, failing_rests_ns;
	unsigned fresh_in_a_row;
	uint64_t took_max_ns; /* most that one check is charged for */
	struct {
		uint64_t lane, until_ns;
	} failures[TURNS_FAILING_MAX];
};

/* t is zeroed. most, lane_most: of each of the two, above 0. */
void turns_init(struct turns *t, unsigned most, unsigned lane_most,
		uint64_t took_max_ns);
/* -EBUSY: too many wait, of this lane or of all. */
int turns_push(struct turns *t, struct fair_item *item, uint64_t lane, uint64_t now_ns);
/* The next one. NULL: none, and *ret_at_ns is when there may be one, UINT64_MAX: when
 * one is pushed. now_ns UINT64_MAX: rests are over. */
struct fair_item *turns_pop(struct turns *t, uint64_t now_ns, uint64_t *ret_at_ns);
static inline unsigned turns_count(const struct turns *t)
{
	return t->fresh.count + t->failing.count;
}

/* Any that waits for which match() is true; NULL: none. */
struct fair_item *turns_find(const struct turns *t,
			     int (*match)(const struct fair_item *item,
					  const void *arg),
			     const void *arg);
/* The check of this lane failed, after took_ns. */
void turns_charge(struct turns *t, uint64_t lane, uint64_t took_ns, uint64_t now_ns);

#endif
