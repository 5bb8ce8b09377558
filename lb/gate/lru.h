/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_LRU_H
#define CEEMS_LB_GATE_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"

/* Remembers bytes by bytes: bounded in number and in size, the longest unused goes
 * first, nothing is given after its time. Hashed with a key of its own, so that nobody
 * who chooses the keys can make it slow. Thread safe; in parts, so that threads seldom
 * meet. */

struct lru;

/* entries and bytes of all: at least one entry in each part, whatever they say. */
int lru_new(size_t entries_max, size_t bytes_max, struct lru **ret);
void lru_free(struct lru *l); /* accepts NULL */

/* The value into ret, which is emptied first; false: not there, or its time is over.
 * now_ms is of any clock that never steps back. */
bool lru_get(struct lru *l, const void *key, size_t key_len, uint64_t now_ms,
	     struct buf *ret);
/* The same into size bytes at ret; its length is in *ret_len. False also when it is
 * longer. */
bool lru_copy(struct lru *l, const void *key, size_t key_len, uint64_t now_ms,
	      void *ret, size_t size, size_t *ret_len);
/* Until until_ms. Replaces what is there. What there is no memory for is not kept. */
void lru_put(struct lru *l, const void *key, size_t key_len, const void *value,
	     size_t value_len, uint64_t until_ms);
void lru_clear(struct lru *l);
/* Other limits from now on. */
void lru_limit(struct lru *l, size_t entries_max, size_t bytes_max);

struct lru_state {
	uint64_t entries, bytes, evicted;
};
struct lru_state lru_state(struct lru *l);

#endif
