/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_CACHE_H
#define CEEMS_REDFISH_PROXY_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "redfish_proxy/reply.h"

/* Answers by BMC and path for a short while, and who waits for one that is under way:
 * one question at a time is asked for each. Bounded in entries and bytes; the oldest
 * go first. Thread safe. */

struct cache;
struct cache_entry;

/* One who waits; the caller's storage until done is called, with a reference of its
 * own, on the thread of cache_fill(). */
struct cache_waiter {
	struct cache_waiter *next;
	void (*done)(void *arg, struct reply *reply);
	void *arg;
};

enum cache_said {
	CACHE_HIT,   /* *ret_reply, with a reference */
	CACHE_FIRST, /* waits; the caller asks and calls cache_fill(*ret_entry) */
	CACHE_WAITS, /* somebody else asks already */
	CACHE_FULL,  /* all that is in it is under way; nothing waits */
};

struct cache *cache_new(size_t max_entries, size_t max_bytes); /* NULL: no memory */
/* Nothing may be under way. Accepts NULL. */
void cache_free(struct cache *c);

/* An answer that is there, with a reference; NULL: there is none. */
struct reply *cache_get(struct cache *c, const char *url, const char *path,
			uint64_t now_ns);

enum cache_said cache_ask(struct cache *c, const char *url, const char *path,
			  uint64_t now_ns, struct cache_waiter *w,
			  struct reply **ret_reply, struct cache_entry **ret_entry);

/* The answer for an entry: wakes all that wait, and keeps it until until_ns (0: not at
 * all). reply's reference stays the caller's. */
void cache_fill(struct cache *c, struct cache_entry *e, struct reply *reply,
		uint64_t until_ns);

/* What a question is about; valid until cache_fill(). */
const char *cache_entry_path(const struct cache_entry *e);

/* Drops what is over, some at a time. */
void cache_sweep(struct cache *c, uint64_t now_ns);

void cache_size(struct cache *c, size_t *ret_entries, size_t *ret_bytes);

#endif
