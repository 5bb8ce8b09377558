/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table with chains, and a list in order of use. Entries being requested are in
 * the table but not in the list, so that they are not evicted. */
#include "redfish_proxy/cache.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP_MAX 1024

struct cache_entry {
	struct cache_entry *chain;
	struct cache_entry *prev, *next; /* in the list, if there is a reply */
	struct reply *reply;
	uint64_t until_ns;
	struct cache_waiter *waiting;
	uint64_t hash;
	size_t url_len;
	char key[]; /* url, then path */
};

struct cache {
	pthread_mutex_t mutex;
	struct cache_entry **table;
	size_t mask;
	size_t max_entries, entries, max_bytes, bytes;
	struct cache_entry list; /* its head; oldest first */
};

struct cache *cache_new(size_t max_entries, size_t max_bytes)
{
	struct cache *c = calloc(1, sizeof(*c));
	size_t n = 16;

	if (!c)
		return NULL;
	while (n < max_entries)
		n *= 2;
	c->table = calloc(n, sizeof(*c->table));
	c->mask = n - 1;
	c->max_entries = max_entries;
	c->max_bytes = max_bytes;
	c->list.prev = c->list.next = &c->list;
	pthread_mutex_init(&c->mutex, NULL);
	if (!c->table) {
		cache_free(c);
		return NULL;
	}
	return c;
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; c->table && i <= c->mask; i++) {
		for (struct cache_entry *e = c->table[i], *next; e; e = next) {
			next = e->chain;
			reply_unref(e->reply);
			free(e);
		}
	}
	free(c->table);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

static uint64_t hash_cache_key(const char *url, const char *path)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; *url; url++)
		h = (h ^ (unsigned char)*url) * 0x100000001b3ull;
	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static size_t entry_cost(const struct cache_entry *e)
{
	return sizeof(*e) + strlen(e->key) +
	       (e->reply ? sizeof(*e->reply) + e->reply->body.cap : 0);
}

/* Removes it from the list: it is being requested, or will be freed. */
static void unlist_cache_entry(struct cache *c, struct cache_entry *e)
{
	if (!e->reply)
		return;
	c->bytes -= entry_cost(e);
	e->prev->next = e->next;
	e->next->prev = e->prev;
	reply_unref(e->reply);
	e->reply = NULL;
}

static void drop_cache_entry(struct cache *c, struct cache_entry *e)
{
	struct cache_entry **p = &c->table[e->hash & c->mask];

	unlist_cache_entry(c, e);
	while (*p != e)
		p = &(*p)->chain;
	*p = e->chain;
	c->entries--;
	free(e);
}

static struct cache_entry *find_cache_entry(struct cache *c, uint64_t h,
					    const char *url, const char *path)
{
	size_t url_len = strlen(url);

	for (struct cache_entry *e = c->table[h & c->mask]; e; e = e->chain) {
		if (e->hash == h && e->url_len == url_len &&
		    memcmp(e->key, url, url_len) == 0 &&
		    strcmp(e->key + url_len, path) == 0)
			return e;
	}
	return NULL;
}

static struct cache_entry *add_cache_entry(struct cache *c, uint64_t h, const char *url,
					   const char *path)
{
	size_t url_len = strlen(url), path_len = strlen(path);

	if (c->entries >= c->max_entries && c->list.next != &c->list)
		drop_cache_entry(c, c->list.next);
	if (c->entries >= c->max_entries)
		return NULL;
	struct cache_entry *e = calloc(1, sizeof(*e) + url_len + path_len + 1);
	if (!e)
		return NULL;
	(void)snprintf(e->key, url_len + path_len + 1, "%s%s", url, path);
	e->url_len = url_len;
	e->hash = h;
	e->chain = c->table[h & c->mask];
	c->table[h & c->mask] = e;
	c->entries++;
	return e;
}

struct reply *cache_get(struct cache *c, const char *url, const char *path,
			uint64_t now_ns)
{
	pthread_mutex_lock(&c->mutex);
	const struct cache_entry *e =
		find_cache_entry(c, hash_cache_key(url, path), url, path);
	struct reply *r =
		e && e->reply && e->until_ns > now_ns ? reply_ref(e->reply) : NULL;
	pthread_mutex_unlock(&c->mutex);
	return r;
}

enum cache_said cache_ask(struct cache *c, const char *url, const char *path,
			  uint64_t now_ns, struct cache_waiter *w,
			  struct reply **ret_reply, struct cache_entry **ret_entry)
{
	uint64_t h = hash_cache_key(url, path);
	enum cache_said said = CACHE_FIRST;

	pthread_mutex_lock(&c->mutex);
	struct cache_entry *e = find_cache_entry(c, h, url, path);
	if (e && e->reply && e->until_ns > now_ns) {
		*ret_reply = reply_ref(e->reply);
		pthread_mutex_unlock(&c->mutex);
		return CACHE_HIT;
	}
	if (e && !e->reply)
		said = CACHE_WAITS;
	else if (e)
		unlist_cache_entry(c, e); /* expired: request it again */
	else
		e = add_cache_entry(c, h, url, path);
	if (e) {
		w->next = e->waiting;
		e->waiting = w;
	}
	*ret_entry = e;
	pthread_mutex_unlock(&c->mutex);
	return e ? said : CACHE_FULL;
}

void cache_fill(struct cache *c, struct cache_entry *e, struct reply *reply,
		uint64_t until_ns)
{
	pthread_mutex_lock(&c->mutex);
	struct cache_waiter *w = e->waiting;
	e->waiting = NULL;
	if (until_ns) {
		e->reply = reply_ref(reply);
		e->until_ns = until_ns;
		e->next = &c->list;
		e->prev = c->list.prev;
		e->prev->next = e;
		c->list.prev = e;
		c->bytes += entry_cost(e);
	} else {
		drop_cache_entry(c, e);
	}
	while (c->bytes > c->max_bytes && c->list.next != &c->list)
		drop_cache_entry(c, c->list.next);
	pthread_mutex_unlock(&c->mutex);
	while (w) {
		/* it may be freed as soon as it is notified */
		struct cache_waiter *next = w->next;
		w->done(w->arg, reply_ref(reply));
		w = next;
	}
}

const char *cache_entry_path(const struct cache_entry *e)
{
	return e->key + e->url_len;
}

void cache_sweep(struct cache *c, uint64_t now_ns)
{
	pthread_mutex_lock(&c->mutex);
	struct cache_entry *e = c->list.next;
	for (int i = 0; i < SWEEP_MAX && e != &c->list; i++) {
		struct cache_entry *next = e->next;
		if (e->until_ns <= now_ns)
			drop_cache_entry(c, e);
		e = next;
	}
	pthread_mutex_unlock(&c->mutex);
}

void cache_size(struct cache *c, size_t *ret_entries, size_t *ret_bytes)
{
	pthread_mutex_lock(&c->mutex);
	*ret_entries = c->entries;
	*ret_bytes = c->bytes;
	pthread_mutex_unlock(&c->mutex);
}
