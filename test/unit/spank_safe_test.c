/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What spank_ceems.so must not do whatever it meets: fail a hook, touch what is not its
 * own, leave anything behind. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/cleanup.h"
#include "test/unit/spank_world.h"

/* ---- the ring is not there, or not ours ------------------------------------------ */

static void whole_step(struct world *w)
{
	make_v1(w);
	assert_int_equal(init(w, NULL, NULL), 0);
	fork_task(TASK_PID);
	end_task(0);
	leave();
}

/* one line at verbose, the others at debug, none that a user would see */
static void expect_quiet_failure(void)
{
	assert_int_equal(fake_logged(FAKE_INFO), 0);
	assert_int_equal(fake_logged(FAKE_VERBOSE), 1);
	assert_int_equal(fake_logged(FAKE_DEBUG), 3);
	assert_non_null(fake_log_line("not recorded"));
}

static void missing_ring_costs_a_log_line(void **state)
{
	struct world *w = *state;
	remove_ring(w->ring);
	whole_step(w);
	expect_quiet_failure();
	assert_int_equal(access(w->ring, F_OK), -1); /* a plugin never makes one */
}

static void things_that_are_no_ring_are_left_alone(void **state)
{
	struct world *w = *state;
	char other[128];
	snprintf(other, sizeof(other), "%s/other", w->folder);
	for (int kind = 0; kind < 6; kind++) {
		fake_reset();
		remove_ring(w->ring);
		remove(w->ring);
		switch (kind) {
		case 0: /* a fifo must not block the launch */
			assert_int_equal(mkfifo(w->ring, 0600), 0);
			break;
		case 1:
			assert_int_equal(mkdir(w->ring, 0700), 0);
			break;
		case 2:
			world_put(w, "ring", "CEEMSRNG");
			chmod(w->ring, 0600);
			break;
		case 3:
			world_put(w, "ring", "");
			chmod(w->ring, 0600);
			assert_int_equal(truncate(w->ring, 4198400), 0);
			break;
		case 4:
			world_put(w, "other", "kept");
			assert_int_equal(symlink(other, w->ring), 0);
			break;
		case 5:
			assert_int_equal(symlink("/dev/full", w->ring), 0);
			break;
		}
		whole_step(w);
		expect_quiet_failure();
	}
}

static void ring_of_another_owner_or_mode_is_not_touched(void **state)
{
	struct world *w = *state;
	chmod(w->ring, 0666);
	whole_step(w);
	expect_quiet_failure();
	world_expect_nothing(w);
	if (geteuid() != 0)
		return;
	fake_reset();
	chmod(w->ring, 0600);
	assert_int_equal(chown(w->ring, 65534, 65534), 0);
	whole_step(w);
	expect_quiet_failure();
	world_expect_nothing(w);
}

static void full_ring_is_counted_and_costs_a_log_line(void **state)
{
	struct world *w = *state;
	struct record r;
	for (unsigned i = 0; i < WORLD_SLOTS; i++) {
		fake_reset();
		init(w, NULL, NULL);
		fork_task(TASK_PID);
	}
	fake_reset();
	whole_step(w);
	expect_quiet_failure();
	assert_int_equal(w->consumer.header->dropped, 3);
	for (unsigned i = 0; i < WORLD_SLOTS; i++)
		world_expect(w, RECORD_STEP_START, &r);
	world_expect_nothing(w);
}

static void ring_replaced_during_a_step_gets_its_stop(void **state)
{
	struct world *w = *state;
	struct record r;
	bool made;
	make_v1(w);
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	remove_ring(w->ring);
	ring_consumer_close(&w->consumer);
	assert_int_equal(
		ring_consumer_open(w->ring, WORLD_SLOTS, &w->consumer, &made, &w->err),
		0);
	assert_true(made);
	end_task(0);
	world_expect(w, RECORD_STEP_STOP, &r);
	assert_int_equal(r.uid, 1000); /* all facts are in the stop too */
	assert_string_equal(record_cgroup(&r, CGROUP_CPUACCT), V1_STEP);
}

static void hooks_as_the_user_do_not_touch_the_ring(void **state)
{
	struct world *w = *state;
	if (geteuid() != 0)
		skip();
	make_v1(w);
	chmod(w->folder, 0755);
	init(w, NULL, NULL);
	assert_int_equal(seteuid(65534), 0);
	fork_task(TASK_PID);
	end_task(0);
	leave();
	assert_int_equal(seteuid(0), 0);
	world_expect_nothing(w);
	assert_int_equal(fake_logged(FAKE_VERBOSE), 1); /* but it is said, once */
}

/* ---- other contexts -------------------------------------------------------------- */

static void slurmd_gets_nothing_and_clients_get_options_only(void **state)
{
	struct world *w = *state;
	static const enum spank_context contexts[] = {S_CTX_SLURMD, S_CTX_LOCAL,
						      S_CTX_ALLOCATOR, S_CTX_JOB_SCRIPT,
						      S_CTX_ERROR};
	make_v1(w);
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		bool client =
			contexts[i] == S_CTX_LOCAL || contexts[i] == S_CTX_ALLOCATOR;
		fake_reset();
		fake.context = contexts[i];
		assert_int_equal(init(w, "perf=always", NULL), 0);
		if (client)
			assert_int_equal(fake.option_count, 3);
		if (contexts[i] == S_CTX_SLURMD)
			assert_int_equal(fake.option_count, 0);
		fork_task(TASK_PID);
		end_task(0);
		leave();
		world_expect_nothing(w);
		assert_int_equal(fake.log_count, 0);
	}
}

/* ---- what hooks leave behind ----------------------------------------------------- */

struct traces {
	char maps[1 << 16];
	char fds[4096];
	size_t threads;
	char **environment;
	void (*handlers[NSIG])(int);
	int handler_flags[NSIG];
};

static void list_folder(const char *path, char *ret, size_t size, size_t *ret_count)
{
	auto_closedir DIR *d = opendir(path);
	struct dirent *e;
	size_t used = 0, n = 0;
	assert_non_null(d);
	ret[0] = '\0';
	while ((e = readdir(d)) && used < size) {
		used += (size_t)snprintf(ret + used, size - used, "%s ", e->d_name);
		n++;
	}
	*ret_count = n;
}

static void take_traces(struct traces *t)
{
	size_t n;
	char names[4096];
	memset(t, 0, sizeof(*t));
	list_folder("/proc/self/fd", t->fds, sizeof(t->fds), &n);
	list_folder("/proc/self/task", names, sizeof(names), &t->threads);
	t->environment = environ;
	for (int s = 1; s < NSIG; s++) {
		struct sigaction a = {0};
		if (sigaction(s, NULL, &a) < 0)
			continue; /* the C library's own */
		t->handlers[s] = a.sa_handler;
		t->handler_flags[s] = a.sa_flags;
	}
	auto_close int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;
	while ((got = read(fd, t->maps + used, sizeof(t->maps) - 1 - used)) > 0)
		used += (size_t)got;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static unsigned mentions(const char *text, const char *what)
{
	unsigned n = 0;
	while ((text = strstr(text, what))) {
		text++;
		n++;
	}
	return n;
}
#endif

static void expect_same_traces(const struct traces *a, const struct traces *b)
{
	assert_string_equal(a->fds, b->fds);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	/* their own allocators map as they go */
	assert_int_equal(mentions(a->maps, "/ring"), mentions(b->maps, "/ring"));
#else
	assert_string_equal(a->maps, b->maps);
#endif
	assert_int_equal(a->threads, b->threads);
	assert_ptr_equal(a->environment, b->environment);
	assert_memory_equal(a->handlers, b->handlers, sizeof(a->handlers));
	assert_memory_equal(a->handler_flags, b->handler_flags,
			    sizeof(a->handler_flags));
}

static void hooks_leave_no_descriptor_mapping_thread_handler_or_variable(void **state)
{
	struct world *w = *state;
	static struct traces before, after;
	void (*const makers[])(struct world *) = {make_v1, make_v2};
	whole_step(w); /* the first round may grow the heap */
	for (int round = 0; round < 3; round++) {
		struct record r;
		while (world_take(w, &r))
			continue;
		if (round < 2)
			makers[round](w);
		else
			remove_ring(w->ring);
		fake_reset();
		take_traces(&before);
		init(w, "env=HOME", NULL);
		take_traces(&after);
		expect_same_traces(&before, &after);
		fork_task(TASK_PID);
		take_traces(&after);
		expect_same_traces(&before, &after);
		end_task(0);
		take_traces(&after);
		expect_same_traces(&before, &after);
		leave();
		take_traces(&after);
		expect_same_traces(&before, &after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_NODE(missing_ring_costs_a_log_line),
		ON_A_NODE(things_that_are_no_ring_are_left_alone),
		ON_A_NODE(ring_of_another_owner_or_mode_is_not_touched),
		ON_A_NODE(full_ring_is_counted_and_costs_a_log_line),
		ON_A_NODE(ring_replaced_during_a_step_gets_its_stop),
		ON_A_NODE(hooks_as_the_user_do_not_touch_the_ring),
		ON_A_NODE(slurmd_gets_nothing_and_clients_get_options_only),
		ON_A_NODE(hooks_leave_no_descriptor_mapping_thread_handler_or_variable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
