/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims of units and times: a list with a hash table. */
#include "lb/promql/claim_set.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "lib/siphash.h"

static uint64_t hash_claim(const struct claim_set *s, const struct access_claim *c)
{
	const uint64_t all[] = {siphash13(s->key, c->id.p, c->id.len),
				(uint64_t)c->from_ms, (uint64_t)c->to_ms,
				(uint64_t)c->time_range.from_ms,
				(uint64_t)c->time_range.to_ms};

	return siphash13(s->key, all, sizeof(all));
}

static uint32_t *find_claim_slot(const struct claim_set *s,
				 const struct access_claim *c)
{
	size_t i = hash_claim(s, c) & (s->slots - 1);

	for (;; i = (i + 1) & (s->slots - 1)) {
		const struct access_claim *o;

		if (!s->index[i])
			return &s->index[i];
		o = &s->claims[s->index[i] - 1];
		if (o->from_ms == c->from_ms && o->to_ms == c->to_ms &&
		    access_same_time_range(&o->time_range, &c->time_range) &&
		    str_same(o->id, c->id))
			return &s->index[i];
	}
}

static int more_room(struct claim_set *s)
{
	size_t room = s->room ? s->room * 2 : 32;
	struct access_claim *claims = realloc(s->claims, room * sizeof(*claims));
	uint32_t *index;

	if (!claims)
		return -ENOMEM;
	s->claims = claims;
	index = calloc(room * 2, sizeof(*index));
	if (!index)
		return -ENOMEM;
	/* clients choose ids and times, possibly so that they collide */
	if (s->count && !s->key[0] &&
	    getrandom(s->key, sizeof(s->key), 0) != sizeof(s->key)) {
		free(index);
		return -ENOMEM;
	}
	free(s->index);
	s->index = index;
	s->slots = room * 2;
	s->room = room;
	for (size_t i = 0; i < s->count; i++)
		*find_claim_slot(s, &s->claims[i]) = (uint32_t)i + 1;
	return 0;
}

int claim_set_add(struct claim_set *s, const struct access_claim *c)
{
	uint32_t *slot;

	if (s->count == s->room && more_room(s))
		return -ENOMEM;
	slot = find_claim_slot(s, c);
	if (*slot)
		return 0;
	if (s->count == ACCESS_CLAIMS_MAX)
		return -E2BIG;
	s->claims[s->count++] = *c;
	*slot = (uint32_t)s->count;
	return 0;
}

void claim_set_done(struct claim_set *s)
{
	free(s->claims);
	free(s->index);
	*s = (struct claim_set){0};
}
