/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loop's events, tasks and hooks. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/loop.h"

struct test {
	struct loop *loop;
	atomic_bool stop;
	struct loop_watch a, b;
	struct loop_task task, other;
	struct loop_hook hook;
	int pipe_a[2], pipe_b[2];
	unsigned events, tasks, hooks;
	bool inside;
};

static struct test t;

static int setup(void **state)
{
	(void)state;
	t = (struct test){.events = 0};
	assert_int_equal(loop_new(&t.loop, NULL), 0);
	assert_int_equal(pipe(t.pipe_a) | pipe(t.pipe_b), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	loop_free(t.loop);
	for (int i = 0; i < 2; i++) {
		close(t.pipe_a[i]);
		close(t.pipe_b[i]);
	}
	return 0;
}

static void forget_both(struct loop_watch *w, uint32_t events)
{
	(void)w;
	(void)events;
	t.events++;
	loop_forget(t.loop, t.pipe_a[0], &t.a);
	loop_forget(t.loop, t.pipe_b[0], &t.b);
	atomic_store(&t.stop, true);
}

static void forgotten_watch_is_not_called_for_an_event_that_was_there(void **state)
{
	(void)state;
	t.a.ready = t.b.ready = forget_both;
	assert_int_equal(loop_watch(t.loop, t.pipe_a[0], EPOLLIN, &t.a), 0);
	assert_int_equal(loop_watch(t.loop, t.pipe_b[0], EPOLLIN, &t.b), 0);
	assert_int_equal(write(t.pipe_a[1], "x", 1), 1);
	assert_int_equal(write(t.pipe_b[1], "x", 1), 1);
	loop_run(t.loop, &t.stop);
	assert_int_equal(t.events, 1);
}

static void again(struct loop_task *task)
{
	t.inside = loop_inside(t.loop);
	if (++t.tasks < 3)
		loop_post(t.loop, task);
	else
		atomic_store(&t.stop, true);
}

static void task_may_post_itself(void **state)
{
	(void)state;
	t.task.run = again;
	loop_post(t.loop, &t.task);
	loop_post(t.loop, &t.task);
	loop_run(t.loop, &t.stop);
	assert_int_equal(t.tasks, 3);
	assert_true(t.inside);
	assert_false(loop_inside(t.loop));
}

static void count(struct loop_task *task)
{
	(void)task;
	t.tasks++;
}

static void stop(struct loop_task *task)
{
	(void)task;
	atomic_store(&t.stop, true);
}

#define POSTS 20000

static void *post(void *arg)
{
	static struct loop_task tasks[POSTS];

	(void)arg;
	for (size_t i = 0; i < POSTS; i++) {
		tasks[i].run = count;
		loop_post(t.loop, &tasks[i]);
	}
	t.other.run = stop;
	loop_post(t.loop, &t.other);
	return NULL;
}

static void no_task_of_another_thread_is_lost(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, post, NULL), 0);
	loop_run(t.loop, &t.stop);
	pthread_join(thread, NULL);
	assert_int_equal(t.tasks, POSTS);
}

static int tick(struct loop_hook *hook)
{
	(void)hook;
	if (++t.hooks == 5)
		atomic_store(&t.stop, true);
	return t.hooks < 3 ? 0 : 1;
}

static void hook_is_called_when_it_wants_to(void **state)
{
	(void)state;
	t.hook.run = tick;
	loop_add_hook(t.loop, &t.hook);
	uint64_t before = loop_now_ms(t.loop);
	loop_run(t.loop, &t.stop);
	assert_int_equal(t.hooks, 5);
	assert_true(loop_now_ms(t.loop) >= before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			forgotten_watch_is_not_called_for_an_event_that_was_there,
			setup, teardown),
		cmocka_unit_test_setup_teardown(task_may_post_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(no_task_of_another_thread_is_lost,
						setup, teardown),
		cmocka_unit_test_setup_teardown(hook_is_called_when_it_wants_to, setup,
						teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
