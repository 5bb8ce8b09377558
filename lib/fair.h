/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_FAIR_H
#define CEEMS_LIB_FAIR_H

#include <stdint.h>

/* A bounded queue in which those who ask wait in turn, not their requests: one lane for
 * each key, of which each is served once before any is served again. Whoever sends a
 * thousand delays himself. Links are in the items; no memory, no lock, not thread safe.
 */

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
	unsigned most, lane_most; /* set by the caller, above 0 */
};

/* -EBUSY: full, or this key's lane is. The item is the caller's again once it was
 * popped. */
int fair_push(struct fair *f, struct fair_item *item, uint64_t key);
/* The first of the lane whose turn it is, NULL: empty. */
struct fair_item *fair_pop(struct fair *f);
/* Any item for which match() is true; NULL: none. */
struct fair_item *fair_find(const struct fair *f,
			    int (*match)(const struct fair_item *item, const void *arg),
			    const void *arg);

#endif
