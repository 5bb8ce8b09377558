/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_ORDER_H
#define CEEMS_LIB_HTTP_WEB_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The order in which connections are closed to make room. Changes and look-ups take
 * logarithmic time, since whoever floods us with connections causes one for each. First
 * to go is
 *
 * 1. who proves nothing and asks for nothing: of the network that has most such, the
 *    oldest of them;
 * 2. who proves nothing and has asked for more than WEB_ORDER_BUSY_NS: of the client
 *    that has most connections that prove nothing, the oldest of them;
 * 3. who is proved, or is a front end, and asks for nothing: of whoever has most.
 *
 * Front ends that prove nothing are in 3 only. Age counts from when the connection
 * became idle, or busy. No other connection is closed. Within one client or proved
 * user, the oldest connection of its first class goes.
 *
 * Pure; not thread safe.
 */

#define WEB_PLACES_MAX 16
#define WEB_ORDER_BUSY_NS UINT64_C(5000000000)

struct web_conn_from {
	size_t place;
	uint64_t client; /* netaddr_key() */
	uint64_t net;    /* key of all addresses that one host could use */
	bool front_end;  /* from the configured address of a front end */
};

struct web_order_link {
	struct web_order_link *prev, *next; /* NULL: in no list */
	struct web_order_item *item;        /* NULL: a list's head */
};

struct web_group;

/* A connection: zero it and set from before web_order_add(); read-only otherwise. */
struct web_order_item {
	struct web_conn_from from;
	uint64_t who; /* 0: nothing is proved */
	bool busy, in;
	uint64_t since_ns; /* when it became idle, or busy */
	uint64_t seq;      /* order of since_ns */
	struct web_group *owner, *net;
	struct web_order_link by_owner, by_net;
};

struct web_rank;

struct web_heap {
	struct web_rank **ranks;
	size_t count, room;
};

#define WEB_ORDER_CLASSES 3
#define WEB_ORDER_BUCKETS 4096 /* a power of two */

struct web_order {
	uint64_t hash_key[2]; /* random: strangers choose keys */
	uint64_t seq;
	struct web_group *buckets[WEB_ORDER_BUCKETS];
	struct web_group *spare; /* memory of one that ended: most often one comes */
	struct web_place {
		size_t count, strangers;
		struct web_order_link busy; /* strangers, the oldest first */
		struct web_heap heaps[WEB_ORDER_CLASSES];
	} places[WEB_PLACES_MAX];
};

void web_order_init(struct web_order *o, const uint64_t hash_key[2]);
/* It must be empty. Accepts a zeroed one. */
void web_order_done(struct web_order *o);

/* Adds it as idle and without proof. now_ns never decreases between calls. Without
 * memory it only counts in its place and is never closed for another. */
void web_order_add(struct web_order *o, struct web_order_item *k, uint64_t now_ns);
void web_order_set_busy(struct web_order *o, struct web_order_item *k, bool busy,
			uint64_t now_ns);
void web_order_set_who(struct web_order *o, struct web_order_item *k, uint64_t who);
/* Does nothing if it is not in. */
void web_order_remove(struct web_order *o, struct web_order_item *k);

/* Connections of this client without proof; of a proved user. */
size_t web_order_of_client(const struct web_order *o, const struct web_conn_from *from);
size_t web_order_of_who(const struct web_order *o, size_t place, uint64_t who);

/* Where to look for a connection to close: in a place, and within one client or user if
 * given. */
struct web_choice {
	size_t place;
	const uint64_t *client, *who; /* only those without proof; only that user's */
	bool strangers; /* only those without proof that are no front ends */
};

/* NULL: none may be closed. */
struct web_order_item *web_order_find(struct web_order *o,
				      const struct web_choice *among, uint64_t now_ns);

#endif
