/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whatever happens to connections, the one that ends for another is the one that a look
 * at each of them finds. */
#include "lib/http/web_order.h"

#include <string.h>

#include "test/unit/unit.h"

#define ITEMS 48
#define ROUNDS 6000
#define PLACES 2

static struct web_order order;
static struct web_order_item items[ITEMS];
static uint64_t state_of_chance, clock_ns;

/* xorshift */
static uint64_t draw(uint64_t below)
{
	state_of_chance ^= state_of_chance << 13;
	state_of_chance ^= state_of_chance >> 7;
	state_of_chance ^= state_of_chance << 17;
	return state_of_chance % below;
}

/* ---- the reference: it looks at all ---------------------------------------------- */

struct merit {
	unsigned class;
	size_t weight;
	uint64_t seq;
};

static bool is_unproved(const struct web_order_item *k, size_t place)
{
	return k->in && !k->who && k->from.place == place;
}

static size_t count_client(size_t place, uint64_t client)
{
	size_t n = 0;

	for (size_t i = 0; i < ITEMS; i++)
		n += is_unproved(&items[i], place) && items[i].from.client == client;
	return n;
}

static size_t count_idle(size_t place, uint64_t net)
{
	size_t n = 0;

	for (size_t i = 0; i < ITEMS; i++)
		n += is_unproved(&items[i], place) && !items[i].busy &&
		     items[i].from.net == net;
	return n;
}

static size_t count_who(size_t place, uint64_t who)
{
	size_t n = 0;

	for (size_t i = 0; i < ITEMS; i++)
		n += items[i].in && items[i].from.place == place && items[i].who == who;
	return n;
}

/* False: it stays. */
static bool weigh_item(const struct web_order_item *k, struct merit *ret)
{
	const struct web_conn_from *f = &k->from;

	*ret = (struct merit){.seq = k->seq};
	if (k->who || f->front_end) {
		ret->class = 1;
		ret->weight = k->who ? count_who(f->place, k->who)
				     : count_client(f->place, f->client);
		return !k->busy;
	}
	if (k->busy) {
		ret->class = 2;
		ret->weight = count_client(f->place, f->client);
		return clock_ns - k->since_ns > WEB_ORDER_BUSY_NS;
	}
	ret->class = 3;
	ret->weight = count_idle(f->place, f->net);
	return true;
}

static bool is_among(const struct web_choice *among, const struct web_order_item *k)
{
	const struct web_conn_from *f = &k->from;

	return k->in && f->place == among->place &&
	       (!among->client || (!k->who && f->client == *among->client)) &&
	       (!among->who || k->who == *among->who) &&
	       (!among->strangers || (!k->who && !f->front_end));
}

static struct web_order_item *look_at_all(const struct web_choice *among)
{
	struct web_order_item *victim = NULL;
	struct merit worst = {0}, m;

	for (size_t i = 0; i < ITEMS; i++) {
		if (!is_among(among, &items[i]) || !weigh_item(&items[i], &m))
			continue;
		if (among->client)
			m.weight = 0;
		if (victim && (m.class < worst.class ||
			       (m.class == worst.class && m.weight < worst.weight) ||
			       (m.class == worst.class && m.weight == worst.weight &&
				m.seq > worst.seq)))
			continue;
		victim = &items[i];
		worst = m;
	}
	return victim;
}

/* ---- chance ---------------------------------------------------------------------- */

static void compare_choice(const struct web_choice *among)
{
	assert_ptr_equal(web_order_find(&order, among, clock_ns), look_at_all(among));
}

static void compare_counts(size_t place)
{
	size_t all = 0, strangers = 0;

	for (size_t i = 0; i < ITEMS; i++) {
		all += items[i].in && items[i].from.place == place;
		strangers += is_unproved(&items[i], place) && !items[i].from.front_end;
	}
	assert_int_equal(order.places[place].count, all);
	assert_int_equal(order.places[place].strangers, strangers);
	for (uint64_t n = 1; n < 6; n++) {
		const struct web_conn_from from = {.place = place, .client = n};
		assert_int_equal(web_order_of_client(&order, &from),
				 count_client(place, n));
		assert_int_equal(web_order_of_who(&order, place, n),
				 count_who(place, n));
	}
}

static void compare_all(void)
{
	for (size_t place = 0; place < PLACES; place++) {
		compare_counts(place);
		compare_choice(&(struct web_choice){.place = place});
		compare_choice(&(struct web_choice){.place = place, .strangers = true});
		for (uint64_t n = 1; n < 6; n++) {
			compare_choice(
				&(struct web_choice){.place = place, .client = &n});
			compare_choice(&(struct web_choice){.place = place, .who = &n});
		}
	}
}

static void add_item(struct web_order_item *k)
{
	memset(k, 0, sizeof(*k));
	k->from.place = draw(PLACES);
	k->from.client = 1 + draw(5);
	/* a network has several clients, and some clients are of several networks */
	k->from.net = draw(4) ? k->from.client / 2 : draw(3);
	k->from.front_end = draw(4) == 0;
	web_order_add(&order, k, clock_ns);
}

static void change_item(struct web_order_item *k)
{
	switch (draw(8)) {
	case 0:
		web_order_remove(&order, k);
		break;
	case 1:
	case 2:
		web_order_set_who(&order, k, draw(5));
		break;
	default:
		web_order_set_busy(&order, k, draw(2), clock_ns);
	}
}

static void change_something(void)
{
	struct web_order_item *k = &items[draw(ITEMS)];
	struct web_order_item *victim;

	clock_ns += draw(3) ? 0 : draw(1000000000);
	if (!k->in) {
		add_item(k);
	} else if (draw(5) == 0) {
		victim = web_order_find(
			&order, &(struct web_choice){.place = draw(PLACES)}, clock_ns);
		if (victim)
			web_order_remove(&order, victim);
	} else {
		change_item(k);
	}
}

static void start_order(uint64_t seed)
{
	state_of_chance = seed;
	clock_ns = 1;
	memset(items, 0, sizeof(items));
	web_order_init(&order, (const uint64_t[2]){seed, 1});
}

static void end_order(void)
{
	for (size_t i = 0; i < ITEMS; i++) {
		web_order_remove(&order, &items[i]);
		web_order_remove(&order, &items[i]); /* which is nothing */
	}
	for (size_t i = 0; i < WEB_ORDER_BUCKETS; i++)
		assert_null(order.buckets[i]);
	for (size_t i = 0; i < PLACES; i++) {
		assert_int_equal(order.places[i].count, 0);
		assert_null(order.places[i].busy.next->item);
		for (size_t k = 0; k < WEB_ORDER_CLASSES; k++)
			assert_int_equal(order.places[i].heaps[k].count, 0);
	}
	web_order_done(&order);
}

static void whatever_happens_the_same_one_ends_as_by_a_look_at_all(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 5; seed++) {
		start_order(seed * 0x9e3779b97f4a7c15);
		for (size_t i = 0; i < ROUNDS / 4; i++) {
			change_something();
			compare_all();
		}
		end_order();
	}
}

static void the_oldest_of_the_network_with_most_ends_first(void **state)
{
	(void)state;
	start_order(1);
	for (size_t i = 0; i < 5; i++) {
		items[i].from =
			(struct web_conn_from){.client = 1 + i, .net = i < 2 ? 1 : 2};
		web_order_add(&order, &items[i], clock_ns++);
	}
	const struct web_choice all = {.place = 0};
	static const size_t wanted[] = {2, 0, 3, 1, 4};
	for (size_t i = 0; i < 5; i++) {
		assert_ptr_equal(web_order_find(&order, &all, clock_ns),
				 &items[wanted[i]]);
		web_order_remove(&order, &items[wanted[i]]);
	}
	assert_null(web_order_find(&order, &all, clock_ns));
	end_order();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_of_the_network_with_most_ends_first),
		cmocka_unit_test(
			whatever_happens_the_same_one_ends_as_by_a_look_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
