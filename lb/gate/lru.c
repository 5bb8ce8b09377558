/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sixteen shards, each with a lock and a list from the most to the least recently
 * used. */
#include "lb/gate/lru.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/siphash.h"

#define PARTS 16u

struct entry {
	struct entry *next; /* in its bucket */
	struct entry *newer, *older;
	uint64_t hash, until_ms;
	uint32_t key_len, value_len;
	char bytes[]; /* key, value */
};

struct part {
	pthread_mutex_t mutex;
	struct entry **buckets; /* a power of two */
	size_t mask, count, bytes, entries_max, bytes_max;
	struct entry *newest, *oldest;
	uint64_t evicted;
};

struct lru {
	uint64_t k[2];
	struct part parts[PARTS];
};

/* ---- the tables ------------------------------------------------------------------ */

int lru_new(size_t entries_max, size_t bytes_max, struct lru **ret)
{
	struct lru *l = calloc(1, sizeof(*l));
	size_t buckets = 16;

	if (!l)
		return -ENOMEM;
	while (buckets < entries_max / PARTS && buckets < (size_t)1 << 24)
		buckets *= 2;
	for (unsigned i = 0; i < PARTS; i++) {
		pthread_mutex_init(&l->parts[i].mutex, NULL);
		l->parts[i].mask = buckets - 1;
		l->parts[i].buckets = calloc(buckets, sizeof(struct entry *));
	}
	lru_limit(l, entries_max, bytes_max);
	for (unsigned i = 0; i < PARTS; i++)
		if (!l->parts[i].buckets ||
		    getrandom(l->k, sizeof(l->k), 0) != sizeof(l->k)) {
			lru_free(l);
			return -ENOMEM;
		}
	*ret = l;
	return 0;
}

static void unlist_lru_entry(struct part *p, struct entry *e)
{
	*(e->newer ? &e->newer->older : &p->newest) = e->older;
	*(e->older ? &e->older->newer : &p->oldest) = e->newer;
}

static void list_newest(struct part *p, struct entry *e)
{
	e->newer = NULL;
	e->older = p->newest;
	*(p->newest ? &p->newest->newer : &p->oldest) = e;
	p->newest = e;
}

static size_t bytes_of(const struct entry *e)
{
	return sizeof(*e) + e->key_len + e->value_len;
}

static struct entry **place_of(struct part *p, uint64_t hash, const void *key,
			       size_t key_len)
{
	struct entry **at = &p->buckets[hash & p->mask];

	while (*at && ((*at)->hash != hash || (*at)->key_len != key_len ||
		       memcmp((*at)->bytes, key, key_len) != 0))
		at = &(*at)->next;
	return at;
}

static void drop_lru_entry(struct part *p, struct entry **at)
{
	struct entry *e = *at;

	if (!e) /* whatever is in the list is in its bucket */
		return;
	*at = e->next;
	unlist_lru_entry(p, e);
	p->count--;
	p->bytes -= bytes_of(e);
	free(e);
}

static void drop_oldest(struct part *p)
{
	struct entry *e = p->oldest;

	drop_lru_entry(p, place_of(p, e->hash, e->bytes, e->key_len));
	p->evicted++;
}

void lru_clear(struct lru *l)
{
	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &l->parts[i];

		pthread_mutex_lock(&p->mutex);
		while (p->oldest)
			drop_lru_entry(p, place_of(p, p->oldest->hash, p->oldest->bytes,
						   p->oldest->key_len));
		pthread_mutex_unlock(&p->mutex);
	}
}

void lru_free(struct lru *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &l->parts[i];

		while (p->oldest)
			drop_lru_entry(p, place_of(p, p->oldest->hash, p->oldest->bytes,
						   p->oldest->key_len));
		free(p->buckets);
		pthread_mutex_destroy(&p->mutex);
	}
	free(l);
}

void lru_limit(struct lru *l, size_t entries_max, size_t bytes_max)
{
	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &l->parts[i];

		pthread_mutex_lock(&p->mutex);
		p->entries_max = entries_max / PARTS + 1;
		p->bytes_max = bytes_max / PARTS + 1;
		while (p->oldest &&
		       (p->count > p->entries_max || p->bytes > p->bytes_max))
			drop_oldest(p);
		pthread_mutex_unlock(&p->mutex);
	}
}

static struct part *part_of(struct lru *l, uint64_t hash)
{
	return &l->parts[hash >> 60];
}

/* Mutex held. NULL: not there. */
static const struct entry *find_lru_entry(struct part *p, uint64_t hash,
					  const void *key, size_t key_len,
					  uint64_t now_ms)
{
	struct entry **at = place_of(p, hash, key, key_len), *e = *at;

	if (!e)
		return NULL;
	if (now_ms >= e->until_ms) {
		drop_lru_entry(p, at);
		return NULL;
	}
	if (p->newest != e) {
		unlist_lru_entry(p, e);
		list_newest(p, e);
	}
	return e;
}

bool lru_get(struct lru *l, const void *key, size_t key_len, uint64_t now_ms,
	     struct buf *ret)
{
	uint64_t hash = siphash13(l->k, key, key_len);
	struct part *p = part_of(l, hash);
	const struct entry *e;

	buf_reset(ret);
	pthread_mutex_lock(&p->mutex);
	e = find_lru_entry(p, hash, key, key_len, now_ms);
	if (e)
		buf_put(ret, e->bytes + e->key_len, e->value_len);
	pthread_mutex_unlock(&p->mutex);
	return e && !buf_error(ret);
}

bool lru_copy(struct lru *l, const void *key, size_t key_len, uint64_t now_ms,
	      void *ret, size_t size, size_t *ret_len)
{
	uint64_t hash = siphash13(l->k, key, key_len);
	struct part *p = part_of(l, hash);
	const struct entry *e;
	bool good;

	pthread_mutex_lock(&p->mutex);
	e = find_lru_entry(p, hash, key, key_len, now_ms);
	good = e && e->value_len <= size;
	if (good) {
		memcpy(ret, e->bytes + e->key_len, e->value_len);
		*ret_len = e->value_len;
	}
	pthread_mutex_unlock(&p->mutex);
	return good;
}

void lru_put(struct lru *l, const void *key, size_t key_len, const void *value,
	     size_t value_len, uint64_t until_ms)
{
	uint64_t hash = siphash13(l->k, key, key_len);
	struct part *p = part_of(l, hash);
	struct entry *e = NULL, **at;

	if (key_len < UINT32_MAX / 2 && value_len < UINT32_MAX / 2)
		e = malloc(sizeof(*e) + key_len + value_len);
	if (e) {
		*e = (struct entry){.hash = hash,
				    .until_ms = until_ms,
				    .key_len = (uint32_t)key_len,
				    .value_len = (uint32_t)value_len};
		memcpy(e->bytes, key, key_len);
		memcpy(e->bytes + key_len, value, value_len);
	}
	pthread_mutex_lock(&p->mutex);
	at = place_of(p, hash, key, key_len);
	if (*at)
		drop_lru_entry(p, at);
	while (e && p->oldest &&
	       (p->count >= p->entries_max || p->bytes + bytes_of(e) > p->bytes_max))
		drop_oldest(p);
	if (e && bytes_of(e) > p->bytes_max) {
		free(e);
	} else if (e) {
		e->next = p->buckets[hash & p->mask];
		p->buckets[hash & p->mask] = e;
		list_newest(p, e);
		p->count++;
		p->bytes += bytes_of(e);
	}
	pthread_mutex_unlock(&p->mutex);
}

struct lru_state lru_state(struct lru *l)
{
	struct lru_state s = {0};

	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &l->parts[i];

		pthread_mutex_lock(&p->mutex);
		s.entries += p->count;
		s.bytes += p->bytes;
		s.evicted += p->evicted;
		pthread_mutex_unlock(&p->mutex);
	}
	return s;
}
