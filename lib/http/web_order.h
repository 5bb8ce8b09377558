/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_ORDER_H
#define CEEMS_LIB_HTTP_WEB_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * In which order connections end for others, kept so that neither a change nor the
 * question costs more for more of them than their number's logarithm: whoever floods us
 * with connections asks it for each. First ends
 *
 * 1. who proves nothing and asks for nothing: of the network that has most such, the
 *    oldest of them;
 * 2. who proves nothing and has asked for more than WEB_ORDER_BUSY_NS: of the client
 *    that has most connections that prove nothing, the oldest of them;
 * 3. who is proved, or is a front end, and asks for nothing: of whoever has most.
 *
 * Front ends that prove nothing are in 3 alone. Old: of being idle, or busy. Nobody
 * else ends. Of one client, or of one who is proved, the oldest of the first kind that
 * it has ends.
 *
 * Pure; not thread safe.
 */

#define WEB_PLACES_MAX 16
#define WEB_ORDER_BUSY_NS UINT64_C(5000000000)

struct web_conn_from {
	size_t place;
	uint64_t client; /* netaddr_key() */
	uint64_t net;    /* the same for all that one host could come from */
	bool front_end;  /* one of the site's list connects from there */
};

struct web_order_link {
	struct web_order_link *prev, *next; /* NULL: in no list */
	struct web_order_item *item;        /* NULL: a list's head */
};

struct web_group;

/* A connection: zeroed, and from filled in, before web_order_add(). Else read only. */
struct web_order_item {
	struct web_conn_from from;
	uint64_t who; /* 0: nothing is proved */
	bool busy, in;
	uint64_t since_ns; /* of being idle, or busy */
	uint64_t seq;      /* the order of that */
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
	struct web_place {
		size_t count, strangers;
		struct web_order_link busy; /* strangers, the oldest first */
		struct web_heap heaps[WEB_ORDER_CLASSES];
	} places[WEB_PLACES_MAX];
};

void web_order_init(struct web_order *o, const uint64_t hash_key[2]);
/* No item may be in it. Accepts one that was never initialised, zeroed. */
void web_order_done(struct web_order *o);

/* It is idle and proves nothing. now_ns is never less than the time before. Without
 * memory it is counted with its place alone, and never ends for another. */
void web_order_add(struct web_order *o, struct web_order_item *k, uint64_t now_ns);
void web_order_set_busy(struct web_order *o, struct web_order_item *k, bool busy,
			uint64_t now_ns);
void web_order_set_who(struct web_order *o, struct web_order_item *k, uint64_t who);
/* Nothing where it is not in. */
void web_order_remove(struct web_order *o, struct web_order_item *k);

/* Connections that prove nothing, of this client there; of whoever was proved. */
size_t web_order_of_client(const struct web_order *o, const struct web_conn_from *from);
size_t web_order_of_who(const struct web_order *o, size_t place, uint64_t who);

/* Among whom one is looked for that ends for another: of a place, and where one of the
 * others is given, of those alone. */
struct web_choice {
	size_t place;
	const uint64_t *client, *who; /* who prove nothing; who are that one */
	bool strangers;               /* who are no front ends and prove nothing */
};

/* NULL: none may end. */
struct web_order_item *web_order_find(struct web_order *o,
				      const struct web_choice *among, uint64_t now_ns);

#endif
