/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/blocked.h"

#include "profiler/session.h"
#include "test/unit/unit.h"

static uint64_t told_ns[8], told_count;

static void take_told(void *arg, const struct session_stack *stack)
{
	(void)arg;
	assert_int_equal(stack->count, 2);
	assert_int_equal(stack->frames[1], stack->thread);
	told_ns[told_count++ % 8] = stack->blocked_ns;
}

static void block_thread(struct blocked *b, uint64_t cgroup, uint32_t thread,
			 uint64_t since_ns, uint32_t one_in)
{
	struct session_stack stack = {
		.cgroup = cgroup, .thread = thread, .count = 2, .frames = {7, thread}};

	blocked_begin(b, &stack, since_ns, one_in);
}

static struct blocked new_blocked(void)
{
	told_count = 0;
	return (struct blocked){.on_stack = take_told};
}

static void a_wait_is_told_when_it_ends_as_often_as_it_counts(void **state)
{
	struct blocked b = new_blocked();

	(void)state;
	block_thread(&b, 1, 10, 1000, 4);
	block_thread(&b, 1, 10 + BLOCKED_LISTS, 1500, 1);
	assert_int_equal(told_count, 0);
	blocked_end(&b, 10, 1000, 50);
	blocked_end(&b, 10, 1000, 50); /* it has run since */
	assert_int_equal(told_count, 1);
	assert_int_equal(told_ns[0], 200);
	blocked_end(&b, 10 + BLOCKED_LISTS, 1400, 7); /* an earlier wait's end */
	assert_int_equal(told_count, 1);
	blocked_end(&b, 10 + BLOCKED_LISTS, 1500, 7);
	assert_int_equal(told_ns[1], 7);
	assert_int_equal(b.bytes + b.lost + b.count, 0);
}

static void who_waits_still_is_told_in_parts_that_add_up(void **state)
{
	struct blocked b = new_blocked();

	(void)state;
	block_thread(&b, 1, 10, 1000, 1);
	block_thread(&b, 2, 11, 1000, 1);
	blocked_settle(&b, 1, 1300);
	blocked_settle(&b, 1, 1300);
	assert_int_equal(told_count, 1);
	assert_int_equal(told_ns[0], 300);
	blocked_end(&b, 10, 1000, 450);
	assert_int_equal(told_ns[1], 150);
	blocked_forget(&b, 2);
	blocked_end(&b, 11, 1000, 1);
	assert_int_equal(told_count, 2);
	assert_int_equal(b.bytes + b.lost, 0);
}

static void ends_that_are_lost_are_counted_and_not_time(void **state)
{
	struct blocked b = new_blocked();

	(void)state;
	block_thread(&b, 1, 10, 1000, 1);
	block_thread(&b, 1, 10, 2000, 1);
	assert_int_equal(b.lost, 1);
	block_thread(&b, 1, 11, 2000, 1);
	blocked_lose(&b);
	assert_int_equal(b.lost, 3);
	blocked_settle(&b, 1, 9000);
	assert_int_equal(told_count, 0);
	assert_int_equal(b.bytes, 0);
}

static void more_threads_than_there_is_room_for_are_counted(void **state)
{
	struct blocked b = new_blocked();
	uint32_t thread = 0;

	(void)state;
	while (!b.lost && thread < 1000000)
		block_thread(&b, 1, ++thread, 1000, 1);
	assert_int_equal(b.lost, 1);
	assert_true(b.bytes < BLOCKED_BYTES_MAX + 4096);
	blocked_end(&b, 1, 1000, 5);
	assert_int_equal(told_count, 1);
	block_thread(&b, 1, thread, 1000, 1);
	assert_int_equal(b.lost, 1);
	blocked_forget(&b, 0);
	assert_int_equal(b.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_told_when_it_ends_as_often_as_it_counts),
		cmocka_unit_test(who_waits_still_is_told_in_parts_that_add_up),
		cmocka_unit_test(ends_that_are_lost_are_counted_and_not_time),
		cmocka_unit_test(more_threads_than_there_is_room_for_are_counted),
	};

	return cmocka_run_group_tests_name("blocked_test", tests, NULL, NULL);
}
