/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_BUDGET_H
#define CEEMS_LIB_HTTP_WEB_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts how much (connections or bytes) each of many clients has, by a key for an
 * address or a proved user. Bounded: when too many keys are in use, a new one gets
 * nothing. Pure; not thread safe. */

#define WEB_BUDGET_SLOTS 8192 /* a power of two */

struct web_budget {
	uint64_t hash_key[2]; /* random: strangers choose keys */
	unsigned count;       /* keys in use */
	struct {
		uint64_t key;
		size_t used; /* 0: free */
	} slots[WEB_BUDGET_SLOTS];
};

size_t web_budget_used(const struct web_budget *b, uint64_t key);
/* False, nothing taken: the key would have more than most, or too many keys are in use.
 * amount is above 0. */
bool web_budget_take(struct web_budget *b, uint64_t key, size_t amount, size_t most);
/* Returns part of what was taken. */
void web_budget_give(struct web_budget *b, uint64_t key, size_t amount);

#endif
