/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "redfish_proxy/cache.h"

#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

static unsigned told;
static struct reply *last;

static void on_done(void *arg, struct reply *reply)
{
	(void)arg;
	told++;
	reply_unref(last);
	last = reply;
}

static struct cache_waiter waiter(void)
{
	return (struct cache_waiter){.done = on_done};
}

static int forget(void **state)
{
	(void)state;
	reply_unref(last);
	last = NULL;
	told = 0;
	return 0;
}

/* Asks as the first and fills it with text until until_ns. */
static void put(struct cache *c, const char *path, const char *text, uint64_t until_ns)
{
	struct cache_waiter w = waiter();
	struct cache_entry *e = NULL;
	struct reply *r = NULL;

	assert_int_equal(
		cache_ask(c, "u", path, until_ns ? until_ns - 1 : 1, &w, &r, &e),
		CACHE_FIRST);
	r = reply_new(200, REPLY_JSON, text);
	cache_fill(c, e, r, until_ns);
	reply_unref(r);
}

static void one_asks_and_all_are_told(void **state)
{
	(void)state;
	struct cache *c = cache_new(8, 65536);
	struct cache_waiter w[5];
	struct cache_entry *e = NULL, *none = NULL;
	struct reply *r = NULL;

	for (int i = 0; i < 5; i++)
		w[i] = waiter();
	assert_int_equal(cache_ask(c, "u", "/a", 1, &w[0], &r, &e), CACHE_FIRST);
	assert_string_equal(cache_entry_path(e), "/a");
	for (int i = 1; i < 5; i++)
		assert_int_equal(cache_ask(c, "u", "/a", 1, &w[i], &r, &none),
				 CACHE_WAITS);
	assert_null(cache_get(c, "u", "/a", 1));
	r = reply_new(200, REPLY_JSON, "x");
	cache_fill(c, e, r, 100);
	reply_unref(r);
	assert_int_equal(told, 5);
	assert_string_equal(last->body.data, "x");
	r = cache_get(c, "u", "/a", 99);
	assert_non_null(r);
	reply_unref(r);
	cache_free(c);
}

static void answer_expires_and_is_asked_anew(void **state)
{
	(void)state;
	struct cache *c = cache_new(8, 65536);

	put(c, "/a", "1", 100);
	assert_null(cache_get(c, "u", "/a", 100));
	put(c, "/a", "2", 200);
	assert_string_equal(last->body.data, "2");
	cache_free(c);
}

static void answer_that_is_not_kept_reaches_only_who_waited(void **state)
{
	(void)state;
	struct cache *c = cache_new(8, 65536);
	size_t entries, bytes;

	put(c, "/a", "1", 0);
	assert_int_equal(told, 1);
	cache_size(c, &entries, &bytes);
	assert_int_equal(entries, 0);
	assert_int_equal(bytes, 0);
	cache_free(c);
}

static void url_and_path_do_not_run_into_each_other(void **state)
{
	(void)state;
	struct cache *c = cache_new(8, 65536);
	struct cache_waiter w = waiter();
	struct cache_entry *e = NULL;
	struct reply *r = reply_new(200, REPLY_JSON, "x");

	assert_int_equal(cache_ask(c, "ua", "/b", 1, &w, &r, &e), CACHE_FIRST);
	cache_fill(c, e, r, 100);
	reply_unref(r);
	assert_null(cache_get(c, "u", "a/b", 1));
	cache_free(c);
}

static void entries_are_bounded_and_what_is_under_way_stays(void **state)
{
	(void)state;
	struct cache *c = cache_new(4, 1 << 20);
	struct cache_waiter w[5];
	struct cache_entry *e[5] = {0};
	struct reply *r = NULL;
	char path[16];
	size_t entries, bytes;

	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		put(c, path, "x", 1000);
	}
	cache_size(c, &entries, &bytes);
	assert_int_equal(entries, 4);
	assert_null(cache_get(c, "u", "/95", 1));
	r = cache_get(c, "u", "/99", 1);
	assert_non_null(r);
	reply_unref(r);
	for (int i = 0; i < 5; i++) {
		w[i] = waiter();
		snprintf(path, sizeof(path), "/new%d", i);
		assert_int_equal(cache_ask(c, "u", path, 1, &w[i], &r, &e[i]),
				 i < 4 ? CACHE_FIRST : CACHE_FULL);
	}
	r = reply_new(200, REPLY_JSON, "x");
	for (int i = 0; i < 4; i++)
		cache_fill(c, e[i], r, 0);
	reply_unref(r);
	cache_free(c);
}

static void bytes_are_bounded(void **state)
{
	(void)state;
	struct cache *c = cache_new(1000, 20000);
	char text[3000], path[16];
	size_t entries, bytes;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 50; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		put(c, path, text, 1000);
		cache_size(c, &entries, &bytes);
		assert_true(bytes <= 20000);
	}
	assert_true(entries >= 2);
	cache_sweep(c, 1000);
	cache_size(c, &entries, &bytes);
	assert_int_equal(entries, 0);
	assert_int_equal(bytes, 0);
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(one_asks_and_all_are_told, forget),
		cmocka_unit_test_teardown(answer_expires_and_is_asked_anew, forget),
		cmocka_unit_test_teardown(
			answer_that_is_not_kept_reaches_only_who_waited, forget),
		cmocka_unit_test_teardown(url_and_path_do_not_run_into_each_other,
					  forget),
		cmocka_unit_test_teardown(
			entries_are_bounded_and_what_is_under_way_stays, forget),
		cmocka_unit_test_teardown(bytes_are_bounded, forget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
