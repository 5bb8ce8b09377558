/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_TURNS_H
#define CEEMS_LIB_TURNS_H

#include <stdint.h>

#include "lib/fair.h"

/* A fair queue (lib/fair.h) for checks on behalf of strangers, in which failures are
 * charged to their lane. After a failed check nothing starts for as long as it took,
 * and nothing of recently failed lanes for four times as long: guessing uses only part
 * of one thread, and those who fail wait behind those who do not. Successful checks
 * cost nothing. All times are from one monotonic clock. Not thread safe. */

#define TURNS_FAILING_MAX 256 /* lanes remembered */

struct turns {
	/* lanes without and with a failed check in the last minute, and until when they
	 * pause */
	struct fair fresh, failing;
	uint64_t fresh_rests_ns, failing_rests_ns;
	unsigned fresh_in_a_row;
	uint64_t took_max_ns; /* limit on what one check is charged */
	struct {
		uint64_t lane, until_ns;
	} failures[TURNS_FAILING_MAX];
};

/* t is zeroed. most, lane_most: limits of each of the two queues, above 0. */
void turns_init(struct turns *t, unsigned most, unsigned lane_most,
		uint64_t took_max_ns);
/* -EBUSY: too many are waiting, in this lane or in all. */
int turns_push(struct turns *t, struct fair_item *item, uint64_t lane, uint64_t now_ns);
/* The next one. NULL: none; *ret_at_ns is when there may be one, UINT64_MAX: only after
 * a push. now_ns UINT64_MAX: ignores pauses. */
struct fair_item *turns_pop(struct turns *t, uint64_t now_ns, uint64_t *ret_at_ns);
static inline unsigned turns_count(const struct turns *t)
{
	return t->fresh.count + t->failing.count;
}

/* Any waiting one for which match() is true; NULL: none. */
struct fair_item *turns_find(const struct turns *t,
			     int (*match)(const struct fair_item *item,
					  const void *arg),
			     const void *arg);
/* Charges this lane for a failed check that took took_ns. */
void turns_charge(struct turns *t, uint64_t lane, uint64_t took_ns, uint64_t now_ns);

#endif
