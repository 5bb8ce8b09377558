/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_LRU_H
#define CEEMS_LB_GATE_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"

/* A cache from bytes to bytes: bounded in number and size, least recently used goes
 * first, entries expire. Hashed with a secret key, so that chosen keys cannot make it
 * slow. Thread safe; sharded, so that threads rarely contend. */

struct lru;

/* Limits in all; each shard holds at least one entry whatever they are. */
int lru_new(size_t entries_max, size_t bytes_max, struct lru **ret);
void lru_free(struct lru *l); /* accepts NULL */

/* The value into ret, which is emptied first; false: not there, or expired. now_ms is
 * from a monotonic clock. */
bool lru_get(struct lru *l, const void *key, size_t key_len, uint64_t now_ms,
	     struct buf *ret);
/* The same into size bytes at ret; *ret_len is its length. False also if it does not
 * fit. */
bool lru_copy(struct lru *l, const void *key, size_t key_len, uint64_t now_ms,
	      void *ret, size_t size, size_t *ret_len);
/* Valid until until_ms. Replaces an existing entry. Does nothing if there is no
 * memory. */
void lru_put(struct lru *l, const void *key, size_t key_len, const void *value,
	     size_t value_len, uint64_t until_ms);
void lru_clear(struct lru *l);
/* Changes the limits. */
void lru_limit(struct lru *l, size_t entries_max, size_t bytes_max);

struct lru_state {
	uint64_t entries, bytes, evicted;
};
struct lru_state lru_state(struct lru *l);

#endif
