/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "courier/ship.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

static void nodes_are_spread_over_the_interval(void **state)
{
	(void)state;
	enum { NODES = 10000, PARTS = 50 };
	static unsigned part[PARTS];
	char name[32];

	for (unsigned i = 0; i < NODES; i++) {
		snprintf(name, sizeof(name), "node%04u", i);
		uint64_t ms = ship_offset_ms(name, 300000);
		assert_true(ms < 300000);
		assert_int_equal(ms, ship_offset_ms(name, 300000));
		part[ms * PARTS / 300000]++;
	}
	for (unsigned i = 0; i < PARTS; i++)
		assert_in_range(part[i], NODES / PARTS / 2, NODES / PARTS * 3 / 2);
}

static void the_next_moment_is_within_an_interval(void **state)
{
	(void)state;
	assert_int_equal(ship_until_slot_ms(1000000, 7, 100), 7);
	assert_int_equal(ship_until_slot_ms(1000007, 7, 100), 0);
	assert_int_equal(ship_until_slot_ms(1000008, 7, 100), 99);
	assert_int_equal(ship_until_slot_ms(1000008, 7, 0), 0);
	for (uint64_t t = 0; t < 1000; t++) {
		uint64_t w = ship_until_slot_ms(t, 42, 100);
		assert_true(w < 100);
		assert_int_equal((t + w) % 100, 42);
	}
}

static void waits_grow_to_a_minute_and_are_jittered(void **state)
{
	(void)state;
	uint64_t most = 0;

	for (unsigned failures = 1; failures < 40; failures++) {
		uint64_t longest = ship_wait_ms(failures, 0, UINT64_MAX);
		most = 0;
		for (uint64_t r = 0; r < 200000; r += 977) {
			uint64_t w = ship_wait_ms(failures, 0, r);
			assert_in_range(w, 100, SHIP_WAIT_MAX_MS);
			most = w > most ? w : most;
		}
		assert_true(longest <= SHIP_WAIT_MAX_MS);
	}
	assert_true(most > SHIP_WAIT_MAX_MS * 9 / 10);
	assert_true(ship_wait_ms(1, 0, 12345678) <= 1000);
	/* not sooner than they ask, but not for ever either */
	assert_true(ship_wait_ms(1, 30, 0) >= 30000);
	assert_true(ship_wait_ms(1, UINT32_MAX, 0) < 700000);
}

static void who_answered_is_asked_first_and_the_first_again_later(void **state)
{
	(void)state;
	struct ship_urls u = {.count = 3, .current = 0};
	size_t order[SHIP_URLS_MAX];

	ship_urls_order(&u, 1000, 100, order);
	assert_memory_equal(order, ((size_t[]){0, 1, 2}), 3 * sizeof(size_t));
	u.current = 2;
	u.first_tried_ns = 950;
	ship_urls_order(&u, 1000, 100, order);
	assert_memory_equal(order, ((size_t[]){2, 0, 1}), 3 * sizeof(size_t));
	u.first_tried_ns = 900;
	ship_urls_order(&u, 1000, 100, order);
	assert_memory_equal(order, ((size_t[]){0, 2, 1}), 3 * sizeof(size_t));
	u = (struct ship_urls){.count = 1};
	ship_urls_order(&u, 1000, 100, order);
	assert_int_equal(order[0], 0);
}

static enum ship_verdict verdict(unsigned status, const char *body)
{
	struct ship_answer a;

	ship_answer_read(status, body, strlen(body), 0, 3, NULL, &a);
	return a.verdict;
}

#define GOOD "{\"status\":\"success\",\"data\":[{\"accepted\":3,\"refused\":[]}]}"
#define GIVEN(data) ("{\"status\":\"success\",\"data\":[" data "]}")
#define ERROR "{\"status\":\"error\",\"error\":\"no\"}"

static void only_an_aggregators_word_ends_a_record(void **state)
{
	(void)state;
	assert_int_equal(verdict(200, GOOD), SHIP_TAKEN);
	assert_int_equal(verdict(200, "{\"status\":\"success\",\"data\":[{\"accepted\":"
				      "3}],\"warnings\":[]}"),
			 SHIP_TAKEN);
	static const char *const none[] = {
		"",
		"<html>welcome</html>",
		"{}",
		"[]",
		ERROR,
		"{\"status\":\"success\"}",
		"{\"status\":\"success\",\"data\":[]}",
		"{\"status\":\"success\",\"data\":{\"accepted\":3}}",
		"{\"status\":\"success\",\"data\":[{\"accepted\":4}]}",
		"{\"status\":\"success\",\"data\":[{\"accepted\":-1}]}",
		"{\"status\":\"success\",\"data\":[{\"accepted\":\"3\"}]}",
		"{\"status\":\"success\",\"data\":[{\"accepted\":3,\"refused\":7}]}",
		GIVEN("{\"accepted\":2,\"refused\":[{\"index\":3}]}"),
		GIVEN("{\"accepted\":0,\"refused\":[{},{},{},{}]}"),
		"{\"status\":\"success\",\"data\":[{\"accepted\":3,\"refused\":[",
	};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(verdict(200, none[i]), SHIP_LATER);
	static const unsigned others[] = {100, 201, 204, 301, 302, 307, 404,
					  405, 408, 409, 418, 429, 500, 503};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(verdict(others[i], GOOD), SHIP_LATER);
}

static void a_batch_without_sense_is_told_from_a_proxys_refusal(void **state)
{
	(void)state;
	assert_int_equal(verdict(400, ERROR), SHIP_HALVE);
	assert_int_equal(verdict(415, ERROR), SHIP_HALVE);
	assert_int_equal(verdict(413, "<html>too large</html>"), SHIP_HALVE);
	assert_int_equal(verdict(400, "<html>bad request</html>"), SHIP_LATER);
	assert_int_equal(verdict(415, ""), SHIP_LATER);
	assert_int_equal(verdict(401, ERROR), SHIP_DENIED);
	assert_int_equal(verdict(403, ""), SHIP_DENIED);
}

static void refusals_come_with_bounded_printable_reasons(void **state)
{
	(void)state;
	struct ship_answer a;
	static const char body[] =
		"{\"status\":\"success\",\"data\":[{\"accepted\":18,\"refused\":["
		"{\"index\":4,\"reason\":\"a\\nb\\u0007\\u00e9\"},{\"index\":19}]}]}";

	ship_answer_read(200, body, sizeof(body) - 1, 0, 20, NULL, &a);
	assert_int_equal(a.verdict, SHIP_TAKEN);
	assert_int_equal(a.accepted, 18);
	assert_int_equal(a.refused, 2);
	assert_int_equal(a.reasons[0].index, 4);
	assert_string_equal(a.reasons[0].text, "a?b???");
	assert_string_equal(a.reasons[1].text, "");
	static const char more[] =
		"{\"status\":\"success\",\"data\":[{\"accepted\":10,\"refused\":["
		"{\"index\":4,\"reason\":\"x\"}],\"refused_count\":9}]}";
	ship_answer_read(200, more, sizeof(more) - 1, 0, 20, NULL, &a);
	assert_int_equal(a.refused, 9);
	assert_int_equal(a.reason_count, 1);
	ship_answer_read(503, "", 0, 0, 20, "17", &a);
	assert_int_equal(a.retry_after_s, 17);
	ship_answer_read(503, "", 0, 0, 20, "Sun, 22 Nov 2026 00:00:00 GMT", &a);
	assert_int_equal(a.retry_after_s, 0);
}

static void an_aggregator_that_does_not_know_our_clocks_costs_nothing(void **state)
{
	(void)state;
	struct ship_answer a;
	static const char old[] =
		"{\"status\":\"success\",\"data\":[{\"accepted\":2,\"refused\":["
		"{\"index\":0,\"reason\":\"unknown type of record: 20\"},"
		"{\"index\":3,\"reason\":\"x\"}],\"refused_count\":2}]}";

	ship_answer_read(200, old, sizeof(old) - 1, 1, 3, NULL, &a);
	assert_int_equal(a.verdict, SHIP_TAKEN);
	assert_int_equal(a.accepted, 2);
	assert_int_equal(a.refused, 1);
	assert_int_equal(a.reason_count, 1);
	assert_int_equal(a.reasons[0].index, 2);
	static const char all[] =
		"{\"status\":\"success\",\"data\":[{\"accepted\":0,\"refused\":["
		"{\"index\":1},{\"index\":1}]}]}";
	ship_answer_read(200, all, sizeof(all) - 1, 1, 1, NULL, &a);
	assert_int_equal(a.verdict, SHIP_LATER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_spread_over_the_interval),
		cmocka_unit_test(the_next_moment_is_within_an_interval),
		cmocka_unit_test(waits_grow_to_a_minute_and_are_jittered),
		cmocka_unit_test(who_answered_is_asked_first_and_the_first_again_later),
		cmocka_unit_test(only_an_aggregators_word_ends_a_record),
		cmocka_unit_test(a_batch_without_sense_is_told_from_a_proxys_refusal),
		cmocka_unit_test(refusals_come_with_bounded_printable_reasons),
		cmocka_unit_test(
			an_aggregator_that_does_not_know_our_clocks_costs_nothing),
	};
	return cmocka_run_group_tests_name("ship_test", tests, NULL, NULL);
}
