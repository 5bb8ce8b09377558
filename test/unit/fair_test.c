/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/fair.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

struct thing {
	struct fair_item item;
	unsigned number;
};

static void push_all(struct fair *f, struct thing *things, const char *keys)
{
	for (unsigned i = 0; keys[i]; i++) {
		things[i].number = i;
		assert_int_equal(fair_push(f, &things[i].item, (uint64_t)keys[i]), 0);
	}
}

/* The keys in the order in which they are popped. */
static void pop_all(struct fair *f, char *ret)
{
	struct fair_item *i;

	while ((i = fair_pop(f)))
		*ret++ = (char)i->key;
	*ret = '\0';
	assert_int_equal(f->count, 0);
}

static void each_key_is_served_before_any_is_served_again(void **state)
{
	static const struct {
		const char *pushed, *popped;
	} cases[] = {
		{"", ""},
		{"a", "a"},
		{"aaa", "aaa"},
		{"aaab", "abaa"},
		{"aaabbb", "ababab"},
		{"aaaabcbc", "abcabcaa"},
		{"abcabcabc", "abcabcabc"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fair f = {.most = 100, .lane_most = 100};
		struct thing things[16];
		char got[16];
		push_all(&f, things, cases[i].pushed);
		pop_all(&f, got);
		assert_string_equal(got, cases[i].popped);
	}
}

static void a_newcomer_waits_for_one_of_each_other(void **state)
{
	struct fair f = {.most = 100, .lane_most = 100};
	struct thing things[8], late;
	char got[16];

	(void)state;
	push_all(&f, things, "aaabb");
	assert_int_equal(fair_pop(&f)->key, 'a');
	assert_int_equal(fair_push(&f, &late.item, 'z'), 0);
	pop_all(&f, got);
	const char *at = strchr(got, 'z');
	assert_non_null(at);
	assert_true(at - got <= 2);
}

static void a_full_lane_refuses_its_key_alone(void **state)
{
	struct fair f = {.most = 8, .lane_most = 3};
	struct thing things[8], more;

	(void)state;
	push_all(&f, things, "aaabb");
	assert_int_equal(fair_push(&f, &more.item, 'a'), -EBUSY);
	assert_int_equal(fair_push(&f, &more.item, 'b'), 0);
	assert_int_equal(f.count, 6);
}

static void a_full_queue_refuses_all(void **state)
{
	struct fair f = {.most = 4, .lane_most = 3};
	struct thing things[8], more;

	(void)state;
	push_all(&f, things, "abcd");
	assert_int_equal(fair_push(&f, &more.item, 'a'), -EBUSY);
	assert_int_equal(fair_push(&f, &more.item, 'e'), -EBUSY);
	assert_non_null(fair_pop(&f));
	assert_int_equal(fair_push(&f, &more.item, 'e'), 0);
}

static int has_number(const struct fair_item *item, const void *arg)
{
	return ((const struct thing *)(const void *)item)->number ==
	       *(const unsigned *)arg;
}

static void items_are_found_in_any_lane(void **state)
{
	struct fair f = {.most = 100, .lane_most = 100};
	struct thing things[8];
	unsigned none = 77;

	(void)state;
	assert_null(fair_find(&f, has_number, &none));
	push_all(&f, things, "aabbcc");
	for (unsigned i = 0; i < 6; i++)
		assert_ptr_equal(fair_find(&f, has_number, &i), &things[i].item);
	assert_null(fair_find(&f, has_number, &none));
}

/* Against a plain model: per key first in, first out, nothing lost. */
static void any_order_keeps_each_keys_order(void **state)
{
	enum { N = 512, KEYS = 9 };
	struct fair f = {.most = 64, .lane_most = 20};
	static struct thing things[N];
	unsigned seed = 7, pushed = 0, popped = 0, last[KEYS] = {0};

	(void)state;
	for (unsigned step = 0; pushed < N || f.count; step++) {
		seed = seed * 1103515245 + 12345;
		bool push = pushed < N && (seed >> 16) % 5 < 3;
		if (push) {
			struct thing *t = &things[pushed];
			t->number = pushed + 1;
			if (fair_push(&f, &t->item, (seed >> 8) % KEYS) == 0)
				pushed++;
			continue;
		}
		struct thing *t = (struct thing *)fair_pop(&f);
		if (!t)
			continue;
		popped++;
		assert_true(t->number > last[t->item.key]);
		last[t->item.key] = t->number;
	}
	assert_int_equal(popped, N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_is_served_before_any_is_served_again),
		cmocka_unit_test(a_newcomer_waits_for_one_of_each_other),
		cmocka_unit_test(a_full_lane_refuses_its_key_alone),
		cmocka_unit_test(a_full_queue_refuses_all),
		cmocka_unit_test(items_are_found_in_any_lane),
		cmocka_unit_test(any_order_keeps_each_keys_order),
	};
	return cmocka_run_group_tests_name("fair_test", tests, NULL, NULL);
}
