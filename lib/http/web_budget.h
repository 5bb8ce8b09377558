/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_BUDGET_H
#define CEEMS_LIB_HTTP_WEB_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much of something each of many has: connections or bytes, by a number for an
 * address or for who was proved. Bounded: when too many have something at a time, one
 * more gets nothing. Pure; not thread safe. */

#define WEB_BUDGET_SLOTS 8192 /* a power of two */

struct web_budget {
	uint64_t hash_key[2]; /* random: strangers choose keys */
	unsigned count;       /* of keys that have something */
	struct {
		uint64_t key;
		size_t used; /* 0: free */
	} slots[WEB_BUDGET_SLOTS];
};

size_t web_budget_used(const struct web_budget *b, uint64_t key);
/* False: nothing was taken, for the key would have more than most, or too many have
 * something. amount is above 0. */
bool web_budget_take(struct web_budget *b, uint64_t key, size_t amount, size_t most);
/* Of what was taken. */
void web_budget_give(struct web_budget *b, uint64_t key, size_t amount);

#endif
