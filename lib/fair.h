/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_FAIR_H
#define CEEMS_LIB_FAIR_H

#include <stdint.h>

/* A bounded fair queue: requests wait in one lane per key, and the lanes are served
 * round robin, so whoever sends a thousand delays only himself. Links are in the items:
 * no allocation, no lock, not thread safe. */

struct fair_item {
	struct fair_item *next; /* of the same key */
	struct fair_item *lane; /* of a lane's first: the next lane's first */
	struct fair_item *last; /* of a lane's first */
	uint64_t key;
	unsigned count; /* of a lane's first: items of the lane */
};

struct fair {
	struct fair_item *served; /* the first of the lane whose turn was last */
	unsigned count;
	unsigned most, lane_most; /* limits, set by the caller, above 0 */
};

/* -EBUSY: the queue, or this key's lane, is full. The item belongs to the caller again
 * once it was popped. */
int fair_push(struct fair *f, struct fair_item *item, uint64_t key);
/* The first of the lane whose turn it is; NULL: the queue is empty. */
struct fair_item *fair_pop(struct fair *f);
/* Any item for which match() is true; NULL: none. */
struct fair_item *fair_find(const struct fair *f,
			    int (*match)(const struct fair_item *item, const void *arg),
			    const void *arg);

#endif
