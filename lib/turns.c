/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/turns.h"

#include <stdbool.h>
#include <stddef.h>

#include "lib/clock.h"

#define REST_FRESH 1
#define REST_FAILING 4
#define FAILING_NS (60 * NSEC_PER_SEC)
#define FRESH_IN_A_ROW 4

void turns_init(struct turns *t, unsigned most, unsigned lane_most,
		uint64_t took_max_ns)
{
	t->fresh.most = t->failing.most = most;
	t->fresh.lane_most = t->failing.lane_most = lane_most;
	t->took_max_ns = took_max_ns;
}

static bool is_failing(const struct turns *t, uint64_t lane, uint64_t now_ns)
{
	for (size_t i = 0; i < TURNS_FAILING_MAX; i++) {
		if (t->failures[i].until_ns > now_ns && t->failures[i].lane == lane)
			return true;
	}
	return false;
}

int turns_push(struct turns *t, struct fair_item *item, uint64_t lane, uint64_t now_ns)
{
	bool failing = is_failing(t, lane, now_ns);

	return fair_push(failing ? &t->failing : &t->fresh, item, lane);
}

/* Whether the failing queue is next: if both may start, the fresh one is, except every
 * fifth time. */
static bool is_failings_turn(struct turns *t, uint64_t now_ns)
{
	if (!t->failing.count || !t->fresh.count)
		return t->failing.count;
	if (t->fresh_rests_ns > now_ns || t->failing_rests_ns > now_ns)
		return t->failing_rests_ns < t->fresh_rests_ns;
	return t->fresh_in_a_row >= FRESH_IN_A_ROW;
}

struct fair_item *turns_pop(struct turns *t, uint64_t now_ns, uint64_t *ret_at_ns)
{
	bool failing = is_failings_turn(t, now_ns);
	struct fair *f = failing ? &t->failing : &t->fresh;
	uint64_t at_ns = failing ? t->failing_rests_ns : t->fresh_rests_ns;

	*ret_at_ns = f->count ? at_ns : UINT64_MAX;
	if (!f->count || at_ns > now_ns)
		return NULL;
	t->fresh_in_a_row = failing || !t->failing.count ? 0 : t->fresh_in_a_row + 1;
	return fair_pop(f);
}

struct fair_item *
turns_find(const struct turns *t,
	   int (*match)(const struct fair_item *item, const void *arg), const void *arg)
{
	struct fair_item *i = fair_find(&t->fresh, match, arg);

	return i ? i : fair_find(&t->failing, match, arg);
}

void turns_charge(struct turns *t, uint64_t lane, uint64_t took_ns, uint64_t now_ns)
{
	size_t at = 0;
	bool again = is_failing(t, lane, now_ns);

	for (size_t i = 0; i < TURNS_FAILING_MAX; i++) {
		if (t->failures[i].lane == lane) {
			at = i;
			break;
		}
		if (t->failures[i].until_ns < t->failures[at].until_ns)
			at = i;
	}
	t->failures[at].lane = lane;
	t->failures[at].until_ns = now_ns + FAILING_NS;
	if (took_ns > t->took_max_ns)
		took_ns = t->took_max_ns;
	t->fresh_rests_ns = now_ns + REST_FRESH * took_ns;
	uint64_t rests_ns = now_ns + (again ? REST_FAILING : REST_FRESH) * took_ns;
	if (t->failing_rests_ns < rests_ns)
		t->failing_rests_ns = rests_ns;
}
