/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lanes form a ring through their first items. */
#include "lib/fair.h"

#include <errno.h>
#include <stddef.h>

/* The lane's first item and its predecessor in the ring; NULL: no such lane. */
static struct fair_item *find_lane(const struct fair *f, uint64_t key)
{
	struct fair_item *first = f->served;

	if (!first)
		return NULL;
	do {
		if (first->key == key)
			return first;
		first = first->lane;
	} while (first != f->served);
	return NULL;
}

/* Adds a lane whose turn comes after all others. */
static void add_lane(struct fair *f, struct fair_item *item)
{
	item->last = item;
	item->count = 1;
	item->lane = f->served ? f->served->lane : item;
	if (f->served)
		f->served->lane = item;
	f->served = item;
}

int fair_push(struct fair *f, struct fair_item *item, uint64_t key)
{
	struct fair_item *lane = find_lane(f, key);

	if (f->count >= f->most || (lane && lane->count >= f->lane_most))
		return -EBUSY;
	item->key = key;
	item->next = NULL;
	f->count++;
	if (!lane) {
		add_lane(f, item);
		return 0;
	}
	lane->last->next = item;
	lane->last = item;
	lane->count++;
	return 0;
}

struct fair_item *fair_pop(struct fair *f)
{
	struct fair_item *before = f->served, *item;

	if (!before)
		return NULL;
	item = before->lane;
	f->count--;
	if (item->next) {
		struct fair_item *first = item->next;
		first->last = item->last;
		first->count = item->count - 1;
		first->lane = item->lane == item ? first : item->lane;
		if (before != item)
			before->lane = first;
		f->served = first;
		return item;
	}
	if (before == item) {
		f->served = NULL;
		return item;
	}
	before->lane = item->lane;
	return item;
}

struct fair_item *fair_find(const struct fair *f,
			    int (*match)(const struct fair_item *item, const void *arg),
			    const void *arg)
{
	struct fair_item *lane = f->served;

	if (!lane)
		return NULL;
	do {
		for (struct fair_item *i = lane; i; i = i->next) {
			if (match(i, arg))
				return i;
		}
		lane = lane->lane;
	} while (lane != f->served);
	return NULL;
}
