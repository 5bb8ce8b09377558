/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a node sends, and to which server: pure arithmetic, so that tests need no
 * clock. */
#include "courier/ship.h"

#define WAIT_FIRST_MS 1000u
#define WAIT_LEAST_MS 100u

uint64_t ship_offset_ms(const char *node, uint64_t interval_ms)
{
	uint64_t hash = 14695981039346656037ull; /* FNV-1a */

	for (; *node; node++)
		hash = (hash ^ (unsigned char)*node) * 1099511628211ull;
	/* names differ in their last letters, which FNV leaves in the low bits */
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	hash ^= hash >> 32;
	return interval_ms ? hash % interval_ms : 0;
}

uint64_t ship_until_slot_ms(uint64_t realtime_ms, uint64_t offset_ms,
			    uint64_t interval_ms)
{
	if (!interval_ms)
		return 0;
	uint64_t at = realtime_ms % interval_ms;
	return at <= offset_ms ? offset_ms - at : interval_ms - at + offset_ms;
}

uint64_t ship_wait_ms(unsigned failures, uint32_t retry_after_s, uint64_t random)
{
	unsigned shift = failures < 7 ? failures : 7;
	uint64_t most = (uint64_t)WAIT_FIRST_MS << (shift ? shift - 1 : 0);
	uint64_t least_ms = 0;

	if (retry_after_s > SHIP_RETRY_AFTER_MAX_S)
		retry_after_s = SHIP_RETRY_AFTER_MAX_S;
	least_ms = retry_after_s * 1000ull;
	most = most < SHIP_WAIT_MAX_MS ? most : SHIP_WAIT_MAX_MS;
	/* a delay requested by the server is spread as well */
	return WAIT_LEAST_MS + least_ms + random % (most - WAIT_LEAST_MS + 1);
}

void ship_urls_order(const struct ship_urls *u, uint64_t now_ns, uint64_t return_ns,
		     size_t *ret)
{
	bool back = u->current && now_ns - u->first_tried_ns >= return_ns;
	size_t n = 0;

	if (back)
		ret[n++] = 0;
	for (size_t i = 0; i < u->count; i++) {
		size_t k = (u->current + i) % u->count;
		if (!back || k)
			ret[n++] = k;
	}
}
