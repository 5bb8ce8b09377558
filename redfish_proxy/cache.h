/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_CACHE_H
#define CEEMS_REDFISH_PROXY_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "redfish_proxy/reply.h"

/* Caches answers by BMC and path for a short time and merges concurrent requests: only
 * one is sent for each path. Bounded in entries and bytes; the oldest go first. Thread
 * safe. */

struct cache;
struct cache_entry;

/* A waiting request, owned by the caller until done is called, with a reference of its
 * own, on the thread of cache_fill(). */
struct cache_waiter {
	struct cache_waiter *next;
	void (*done)(void *arg, struct reply *reply);
	void *arg;
};

enum cache_said {
	CACHE_HIT,   /* *ret_reply, with a reference */
	CACHE_FIRST, /* waits; the caller must ask and call cache_fill(*ret_entry) */
	CACHE_WAITS, /* waits; somebody else is asking */
	CACHE_FULL,  /* all entries are being asked for; does not wait */
};

struct cache *cache_new(size_t max_entries, size_t max_bytes); /* NULL: no memory */
/* No request may be running. Accepts NULL. */
void cache_free(struct cache *c);

/* A cached answer, with a reference; NULL: none. */
struct reply *cache_get(struct cache *c, const char *url, const char *path,
			uint64_t now_ns);

enum cache_said cache_ask(struct cache *c, const char *url, const char *path,
			  uint64_t now_ns, struct cache_waiter *w,
			  struct reply **ret_reply, struct cache_entry **ret_entry);

/* The answer for an entry: wakes everything that waits, and is kept until until_ns (0:
 * not at all). reply's reference stays the caller's. */
void cache_fill(struct cache *c, struct cache_entry *e, struct reply *reply,
		uint64_t until_ns);

/* The path of the entry; valid until cache_fill(). */
const char *cache_entry_path(const struct cache_entry *e);

/* Drops expired entries, some at a time. */
void cache_sweep(struct cache *c, uint64_t now_ns);

void cache_size(struct cache *c, size_t *ret_entries, size_t *ret_bytes);

#endif
