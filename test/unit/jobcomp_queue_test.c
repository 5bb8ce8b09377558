/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the queue of completion records keeps when it is full: ends before starts. */
#include "jobcomp/queue.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

static int put_named(struct queue *q, char name, uint32_t flags)
{
	return queue_put(q, &name, 1, 0, 0, flags);
}

static int put_end(struct queue *q, char name)
{
	return put_named(q, name, 0);
}

static int put_start(struct queue *q, char name)
{
	return put_named(q, name, QUEUE_START);
}

/* What the writer gets next, 0: nothing */
static char peek_name(struct queue *q)
{
	const struct queue_item *i = queue_peek(q, 0);

	return i ? (char)i->data[0] : 0;
}

/* Everything that it gets, in order */
static const char *write_all(struct queue *q, char ret[32])
{
	size_t n = 0;

	while (n < 31 && (ret[n] = peek_name(q))) {
		queue_written(q);
		n++;
	}
	ret[n] = 0;
	return ret;
}

static void assert_lost(struct queue *q, uint64_t all, uint64_t starts)
{
	struct queue_lost lost = queue_lost(q);

	assert_int_equal(lost.all, all);
	assert_int_equal(lost.starts, starts);
}

static void an_end_takes_the_place_of_the_oldest_start(void **state)
{
	struct queue q;
	char got[32];

	(void)state;
	assert_int_equal(queue_init(&q, 4, 0), 0);
	for (char c = 'a'; c < 'e'; c++)
		assert_int_equal(put_start(&q, c), 0);
	assert_int_equal(put_start(&q, 'e'), -ENOBUFS);
	assert_int_equal(put_end(&q, 'A'), 0);
	assert_int_equal(put_end(&q, 'B'), 0);
	assert_int_equal(put_end(&q, 'C'), 0);
	assert_lost(&q, 4, 4);
	assert_int_equal(queue_count(&q), 4);
	assert_string_equal(write_all(&q, got), "ABCd");
	queue_free_written(&q);
	assert_int_equal(queue_count(&q), 0);
	assert_int_equal(q.bytes, 0);
	queue_done(&q);
}

static void without_starts_the_newest_end_is_refused(void **state)
{
	struct queue q;
	char got[32];

	(void)state;
	assert_int_equal(queue_init(&q, 2, 0), 0);
	assert_int_equal(put_end(&q, 'A'), 0);
	assert_int_equal(put_start(&q, 'a'), 0);
	assert_int_equal(put_end(&q, 'B'), 0);
	assert_int_equal(put_end(&q, 'C'), -ENOBUFS);
	assert_int_equal(put_start(&q, 'c'), -ENOBUFS);
	assert_lost(&q, 3, 2);
	assert_string_equal(write_all(&q, got), "AB");
	queue_done(&q);
}

static void a_start_that_is_being_written_stays(void **state)
{
	struct queue q;
	char got[32];

	(void)state;
	assert_int_equal(queue_init(&q, 3, 0), 0);
	for (char c = 'a'; c < 'd'; c++)
		assert_int_equal(put_start(&q, c), 0);
	assert_int_equal(peek_name(&q), 'a');
	queue_written(&q);
	assert_int_equal(peek_name(&q), 'b'); /* the writer has it; a is written */
	assert_int_equal(put_end(&q, 'A'), 0);
	assert_lost(&q, 1, 1);
	assert_int_equal(put_end(&q, 'B'), -ENOBUFS);
	assert_lost(&q, 2, 1);
	queue_written(&q);
	assert_string_equal(write_all(&q, got), "A");
	queue_rewind(&q); /* the sync failed: all that is left again */
	assert_string_equal(write_all(&q, got), "Aab");
	queue_free_written(&q);
	assert_int_equal(queue_count(&q), 0);
	assert_int_equal(put_start(&q, 'x'), 0);
	assert_string_equal(write_all(&q, got), "x");
	queue_done(&q);
}

static void as_many_starts_go_as_an_end_needs_bytes(void **state)
{
	char large[600] = "A";
	struct queue q;
	char got[32];

	(void)state;
	assert_int_equal(queue_init(&q, 0, 0), 0);
	assert_int_equal(put_start(&q, 'a'), 0);
	q.bytes_max = 6 * q.bytes;
	for (char c = 'b'; c < 'g'; c++)
		assert_int_equal(put_start(&q, c), 0);
	assert_int_equal(put_start(&q, 'g'), -ENOBUFS);
	uint64_t one = q.bytes / 6, lost = 1;
	assert_int_equal(queue_put(&q, large, sizeof(large), 0, 0, 0), 0);
	lost += (sizeof(large) - 1 + 2 * one - 1) / one;
	assert_in_range(q.bytes, 1, q.bytes_max);
	assert_lost(&q, lost, lost);
	assert_int_equal(*write_all(&q, got), 'A');
	assert_int_equal(strlen(got) + lost, 8);
	queue_done(&q);
}

static void what_is_given_up_is_counted_as_what_it_was(void **state)
{
	struct queue q;
	char got[32];

	(void)state;
	assert_int_equal(queue_init(&q, 0, 0), 0);
	assert_int_equal(put_end(&q, 'A'), 0);
	assert_int_equal(put_start(&q, 'a'), 0);
	assert_int_equal(put_start(&q, 'b'), 0);
	assert_int_equal(peek_name(&q), 'A');
	queue_drop(&q);
	assert_lost(&q, 1, 0);
	assert_int_equal(peek_name(&q), 'a');
	queue_written(&q);
	assert_int_equal(peek_name(&q), 'b');
	queue_drop(&q);
	assert_lost(&q, 2, 1);
	assert_int_equal(put_start(&q, 'c'), 0);
	assert_string_equal(write_all(&q, got), "c");
	queue_free_written(&q);
	assert_int_equal(queue_count(&q), 0);
	queue_done(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_takes_the_place_of_the_oldest_start),
		cmocka_unit_test(without_starts_the_newest_end_is_refused),
		cmocka_unit_test(a_start_that_is_being_written_stays),
		cmocka_unit_test(as_many_starts_go_as_an_end_needs_bytes),
		cmocka_unit_test(what_is_given_up_is_counted_as_what_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
