/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table with open addressing; a removal closes its gap (Knuth 6.4, algorithm R), so
 * searches can stop at the first free slot. */
#include "lib/http/web_budget.h"

#include "lib/siphash.h"

#define MASK (WEB_BUDGET_SLOTS - 1)
#define COUNT_MAX (WEB_BUDGET_SLOTS / 2)

static size_t home_of(const struct web_budget *b, uint64_t key)
{
	return siphash13(b->hash_key, &key, sizeof(key)) & MASK;
}

/* The slot of the key, or for it. */
static size_t find_budget_slot(const struct web_budget *b, uint64_t key)
{
	size_t i = home_of(b, key);

	while (b->slots[i].used && b->slots[i].key != key)
		i = (i + 1) & MASK;
	return i;
}

size_t web_budget_used(const struct web_budget *b, uint64_t key)
{
	return b->slots[find_budget_slot(b, key)].used;
}

bool web_budget_take(struct web_budget *b, uint64_t key, size_t amount, size_t most)
{
	size_t i = find_budget_slot(b, key), used = b->slots[i].used;

	if (amount > most || used > most - amount || (!used && b->count >= COUNT_MAX))
		return false;
	b->count += !used;
	b->slots[i].key = key;
	b->slots[i].used = used + amount;
	return true;
}

static void close_gap(struct web_budget *b, size_t gap)
{
	for (size_t i = (gap + 1) & MASK; b->slots[i].used; i = (i + 1) & MASK) {
		size_t home = home_of(b, b->slots[i].key);
		/* it may move up unless its home slot is after the gap */
		if (((i - home) & MASK) < ((i - gap) & MASK))
			continue;
		b->slots[gap] = b->slots[i];
		b->slots[i].used = 0;
		gap = i;
	}
}

void web_budget_give(struct web_budget *b, uint64_t key, size_t amount)
{
	size_t i = find_budget_slot(b, key);

	b->slots[i].used -= amount;
	if (b->slots[i].used)
		return;
	b->count--;
	close_gap(b, i);
}
