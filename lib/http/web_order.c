/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections in lists by network, client and proved user, oldest first, and these
 * groups in a heap per place and class, largest first. */
#include "lib/http/web_order.h"

#include <stdlib.h>
#include <string.h>

#include "lib/siphash.h"

#define NOWHERE SIZE_MAX
#define HEAP_FIRST 16

enum class { CLASS_IDLE, CLASS_LONG, CLASS_KNOWN };
enum kind { KIND_NET, KIND_CLIENT, KIND_WHO };

/* The members of a group in one class. */
struct web_rank {
	struct web_group *group;
	struct web_order_link list; /* the oldest first */
	enum class class;
	size_t at; /* of the heap */
};

struct web_group {
	struct web_group *next; /* of the bucket */
	struct web_place *place;
	uint64_t key;
	enum kind kind;
	size_t count; /* its weight */
	/* CLASS_IDLE of a network, CLASS_LONG of a client; CLASS_KNOWN of a client that
	 * is a front end, or of a proved user */
	struct web_rank strangers, known;
	struct web_order_link idle; /* of a client: CLASS_IDLE, by owner */
};

/* ---- lists ----------------------------------------------------------------------- */

static void make_list(struct web_order_link *head)
{
	*head = (struct web_order_link){.prev = head, .next = head};
}

static struct web_order_item *get_oldest(const struct web_order_link *head)
{
	return head->next->item;
}

/* Usually it is the newest. */
static void link_in(struct web_order_link *head, struct web_order_link *l,
		    struct web_order_item *k)
{
	struct web_order_link *after = head->prev;

	while (after->item && after->item->seq > k->seq)
		after = after->prev;
	l->item = k;
	l->prev = after;
	l->next = after->next;
	l->prev->next = l->next->prev = l;
}

static void link_out(struct web_order_link *l)
{
	if (!l->next)
		return;
	l->prev->next = l->next;
	l->next->prev = l->prev;
	l->prev = l->next = NULL;
}

/* ---- heaps ----------------------------------------------------------------------- */

static bool is_before(const struct web_rank *a, const struct web_rank *b)
{
	if (a->group->count != b->group->count)
		return a->group->count > b->group->count;
	return get_oldest(&a->list)->seq < get_oldest(&b->list)->seq;
}

static void put_rank(struct web_heap *h, size_t at, struct web_rank *r)
{
	h->ranks[at] = r;
	r->at = at;
}

static void sift_up(struct web_heap *h, struct web_rank *r)
{
	size_t at = r->at;

	while (at && is_before(r, h->ranks[(at - 1) / 2])) {
		put_rank(h, at, h->ranks[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put_rank(h, at, r);
}

static void sift_group_down(struct web_heap *h, struct web_rank *r)
{
	size_t at = r->at;

	for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
		if (child + 1 < h->count &&
		    is_before(h->ranks[child + 1], h->ranks[child]))
			child++;
		if (!is_before(h->ranks[child], r))
			break;
		put_rank(h, at, h->ranks[child]);
	}
	put_rank(h, at, r);
}

/* False: no memory. */
static bool push_rank(struct web_heap *h, struct web_rank *r)
{
	if (h->count == h->room) {
		size_t room = h->room ? 2 * h->room : HEAP_FIRST;
		struct web_rank **more = reallocarray(h->ranks, room, sizeof(*more));
		if (!more)
			return false;
		h->ranks = more;
		h->room = room;
	}
	put_rank(h, h->count++, r);
	return true;
}

static void pull_rank(struct web_heap *h, struct web_rank *r)
{
	struct web_rank *last = h->ranks[--h->count];
	size_t at = r->at;

	r->at = NOWHERE;
	if (last == r)
		return;
	put_rank(h, at, last);
	sift_up(h, last);
	sift_group_down(h, last);
}

/* Call after each change of its group's count or list. */
static void mend_rank(struct web_rank *r)
{
	struct web_heap *h = &r->group->place->heaps[r->class];

	if (!get_oldest(&r->list)) {
		if (r->at != NOWHERE)
			pull_rank(h, r);
		return;
	}
	if (r->at == NOWHERE && !push_rank(h, r))
		return;
	sift_up(h, r);
	sift_group_down(h, r);
}

static void mend_group(struct web_group *g)
{
	mend_rank(&g->strangers);
	mend_rank(&g->known);
}

/* ---- groups ---------------------------------------------------------------------- */

static size_t find_bucket(const struct web_order *o, enum kind kind,
			  const struct web_place *place, uint64_t key)
{
	const uint64_t whole[3] = {kind, (uint64_t)(place - o->places), key};
	return siphash13(o->hash_key, whole, sizeof(whole)) & (WEB_ORDER_BUCKETS - 1);
}

static struct web_group *find_connection_group(const struct web_order *o,
					       enum kind kind,
					       const struct web_place *place,
					       uint64_t key)
{
	struct web_group *g = o->buckets[find_bucket(o, kind, place, key)];

	while (g && (g->kind != kind || g->place != place || g->key != key))
		g = g->next;
	return g;
}

static void init_rank(struct web_rank *r, struct web_group *g, enum class class)
{
	*r = (struct web_rank){.group = g, .class = class, .at = NOWHERE};
	make_list(&r->list);
}

static struct web_group *make_group(struct web_order *o, enum kind kind,
				    struct web_place *place, uint64_t key)
{
	struct web_group **bucket = &o->buckets[find_bucket(o, kind, place, key)];
	struct web_group *g = o->spare ? o->spare : calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	o->spare = NULL;
	*g = (struct web_group){.next = *bucket};
	*bucket = g;
	g->place = place;
	g->key = key;
	g->kind = kind;
	init_rank(&g->strangers, g, kind == KIND_NET ? CLASS_IDLE : CLASS_LONG);
	init_rank(&g->known, g, CLASS_KNOWN);
	make_list(&g->idle);
	return g;
}

/* Adds one; NULL: no memory. */
static struct web_group *enter_group(struct web_order *o, enum kind kind,
				     struct web_place *place, uint64_t key)
{
	struct web_group *g = find_connection_group(o, kind, place, key);

	if (!g)
		g = make_group(o, kind, place, key);
	if (!g)
		return NULL;
	g->count++;
	mend_group(g);
	return g;
}

static void leave_group(struct web_order *o, struct web_group *g)
{
	if (!g)
		return;
	g->count--;
	mend_group(g);
	if (g->count)
		return;
	struct web_group **at = &o->buckets[find_bucket(o, g->kind, g->place, g->key)];
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	free(o->spare);
	o->spare = g;
}

/* ---- connections ----------------------------------------------------------------- */

static void link_long(struct web_order_item *k)
{
	link_in(&k->owner->strangers.list, &k->by_owner, k);
	mend_rank(&k->owner->strangers);
}

/* Inserts it by its present state. */
static void link_item(struct web_order *o, struct web_order_item *k)
{
	if (!k->owner)
		return;
	if (!k->who && !k->from.front_end && k->busy) {
		link_in(&o->places[k->from.place].busy, &k->by_owner, k);
	} else if (!k->who && !k->from.front_end) {
		link_in(&k->owner->idle, &k->by_owner, k);
		if (!k->net)
			return;
		link_in(&k->net->strangers.list, &k->by_net, k);
		mend_rank(&k->net->strangers);
	} else if (!k->busy) {
		link_in(&k->owner->known.list, &k->by_owner, k);
		mend_rank(&k->owner->known);
	}
}

static void unlink_item(struct web_order_item *k)
{
	link_out(&k->by_owner);
	link_out(&k->by_net);
	if (k->owner)
		mend_group(k->owner);
	if (k->net)
		mend_group(k->net);
}

/* Removes it from its old position and inserts it by its present state, unless it
 * left. */
static void move_item(struct web_order *o, struct web_order_item *k, bool was_stranger)
{
	struct web_place *p = &o->places[k->from.place];
	struct web_group *owner = k->owner, *net = k->net;
	bool stranger = k->in && !k->who && !k->from.front_end;

	unlink_item(k);
	p->strangers += (size_t)stranger - was_stranger;
	k->owner = k->net = NULL;
	if (k->in)
		k->owner = enter_group(o, k->who ? KIND_WHO : KIND_CLIENT, p,
				       k->who ? k->who : k->from.client);
	if (k->in && !k->who && !k->busy)
		k->net = enter_group(o, KIND_NET, p, k->from.net);
	if (k->in)
		link_item(o, k);
	leave_group(o, owner);
	leave_group(o, net);
}

static bool is_stranger(const struct web_order_item *k)
{
	return k->in && !k->who && !k->from.front_end;
}

static void set_since(struct web_order *o, struct web_order_item *k, uint64_t now_ns)
{
	k->since_ns = now_ns;
	k->seq = ++o->seq;
}

void web_order_init(struct web_order *o, const uint64_t hash_key[2])
{
	*o = (struct web_order){.hash_key = {hash_key[0], hash_key[1]}};
	for (size_t i = 0; i < WEB_PLACES_MAX; i++)
		make_list(&o->places[i].busy);
}

void web_order_done(struct web_order *o)
{
	for (size_t i = 0; i < WEB_PLACES_MAX; i++) {
		for (size_t k = 0; k < WEB_ORDER_CLASSES; k++)
			free(o->places[i].heaps[k].ranks);
	}
	free(o->spare);
}

void web_order_add(struct web_order *o, struct web_order_item *k, uint64_t now_ns)
{
	k->in = true;
	set_since(o, k, now_ns);
	o->places[k->from.place].count++;
	move_item(o, k, false);
}

void web_order_set_busy(struct web_order *o, struct web_order_item *k, bool busy,
			uint64_t now_ns)
{
	bool was_stranger = is_stranger(k);

	if (k->busy == busy)
		return;
	/* its position in the list depends on this */
	unlink_item(k);
	k->busy = busy;
	set_since(o, k, now_ns);
	/* a proved one stays in its user's group */
	if (k->who)
		link_item(o, k);
	else
		move_item(o, k, was_stranger);
}

void web_order_set_who(struct web_order *o, struct web_order_item *k, uint64_t who)
{
	bool was_stranger = is_stranger(k);

	if (k->who == who)
		return;
	k->who = who;
	move_item(o, k, was_stranger);
}

void web_order_remove(struct web_order *o, struct web_order_item *k)
{
	bool was_stranger = is_stranger(k);

	if (!k->in)
		return;
	k->in = false;
	o->places[k->from.place].count--;
	move_item(o, k, was_stranger);
}

/* ---- questions ------------------------------------------------------------------- */

static size_t count_group(const struct web_order *o, enum kind kind, size_t place,
			  uint64_t key)
{
	const struct web_group *g =
		find_connection_group(o, kind, &o->places[place], key);
	return g ? g->count : 0;
}

size_t web_order_of_client(const struct web_order *o, const struct web_conn_from *from)
{
	return count_group(o, KIND_CLIENT, from->place, from->client);
}

size_t web_order_of_who(const struct web_order *o, size_t place, uint64_t who)
{
	return count_group(o, KIND_WHO, place, who);
}

/* Each busy connection once in its life. */
static void age_busy(struct web_place *p, uint64_t now_ns)
{
	struct web_order_item *k;

	while ((k = get_oldest(&p->busy)) && now_ns > k->since_ns + WEB_ORDER_BUSY_NS) {
		link_out(&k->by_owner);
		link_long(k);
	}
}

static struct web_order_item *get_top(const struct web_place *p, enum class class)
{
	const struct web_heap *h = &p->heaps[class];
	return h->count ? get_oldest(&h->ranks[0]->list) : NULL;
}

static struct web_order_item *find_of_client(const struct web_group *g)
{
	struct web_order_item *k = get_oldest(&g->idle);

	if (!k)
		k = get_oldest(&g->strangers.list);
	return k ? k : get_oldest(&g->known.list);
}

struct web_order_item *web_order_find(struct web_order *o,
				      const struct web_choice *among, uint64_t now_ns)
{
	struct web_place *p = &o->places[among->place];
	const struct web_group *g;

	age_busy(p, now_ns);
	if (among->client) {
		g = find_connection_group(o, KIND_CLIENT, p, *among->client);
		return g ? find_of_client(g) : NULL;
	}
	if (among->who) {
		g = find_connection_group(o, KIND_WHO, p, *among->who);
		return g ? get_oldest(&g->known.list) : NULL;
	}
	struct web_order_item *k = get_top(p, CLASS_IDLE);
	if (!k)
		k = get_top(p, CLASS_LONG);
	return k || among->strangers ? k : get_top(p, CLASS_KNOWN);
}
