/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/tables.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/unit/unit.h"

/* The kernel's arrays, as files in memory */
struct world {
	int fds[PROFILE_FDS];
	struct tables t;
	uint32_t gone, gone_mappings;
};

static const struct profile_room room = {
	.rows = 4096, .processes = 256, .mappings = 2048, .ring_bytes = 4096};

static void count_gone(void *arg, const struct profile_mapping *m, uint32_t count)
{
	struct world *w = arg;

	(void)m;
	w->gone++;
	w->gone_mappings += count;
}

static void open_world(struct world *w)
{
	struct err err;

	memset(w, 0, sizeof(*w));
	for (int i = 0; i < PROFILE_FDS; i++) {
		w->fds[i] = memfd_create("table", MFD_CLOEXEC);
		assert_true(w->fds[i] >= 0);
		assert_int_equal(ftruncate(w->fds[i], 1 << 20), 0);
	}
	w->t.gone = count_gone;
	w->t.arg = w;
	assert_int_equal(tables_open(&w->t, w->fds, &room, &err), 0);
}

static void close_world(struct world *w)
{
	tables_close(&w->t);
	for (int i = 0; i < PROFILE_FDS; i++)
		close(w->fds[i]);
}

static void put(struct world *w, uint32_t pid, uint32_t count, uint32_t now_s)
{
	static struct profile_mapping m[2048];

	for (uint32_t i = 0; i < count; i++)
		m[i] = (struct profile_mapping){.start = 0x1000 * (i + 1),
						.end = 0x1000 * (i + 1) + 0x800,
						.base = pid};
	assert_int_equal(tables_put(&w->t, pid, m, count, now_s), 0);
}

static void a_process_is_found_by_its_pid_and_its_serial(void **state)
{
	struct world w;
	(void)state;

	open_world(&w);
	put(&w, 42, 3, 1);
	const struct known_process *k = tables_find(&w.t, 42);
	assert_non_null(k);
	assert_ptr_equal(tables_find_serial(&w.t, k->serial), k);
	const struct profile_process *p = &w.t.processes[k - w.t.known];
	assert_int_equal(p->pid, 42);
	assert_int_equal(p->count, 3);
	assert_int_equal(p->serial, k->serial);
	assert_null(tables_find(&w.t, 43));
	close_world(&w);
}

static void an_address_is_in_a_mapping_or_in_none(void **state)
{
	struct world w;
	(void)state;

	open_world(&w);
	put(&w, 42, 5, 1);
	const struct known_process *k = tables_find(&w.t, 42);
	assert_null(tables_mapping(&w.t, k, 0xfff));
	assert_int_equal(tables_mapping(&w.t, k, 0x3000)->start, 0x3000);
	assert_int_equal(tables_mapping(&w.t, k, 0x37ff)->start, 0x3000);
	assert_null(tables_mapping(&w.t, k, 0x3800));
	assert_null(tables_mapping(&w.t, k, UINT64_MAX));
	close_world(&w);
}

static void
a_process_that_is_looked_at_again_has_one_place_and_another_serial(void **state)
{
	struct world w;
	(void)state;

	open_world(&w);
	put(&w, 42, 3, 1);
	uint32_t before = tables_find(&w.t, 42)->serial;
	put(&w, 42, 20, 2);
	assert_int_equal(w.t.known_count, 1);
	assert_int_not_equal(tables_find(&w.t, 42)->serial, before);
	assert_int_equal(tables_find(&w.t, 42)->looks, 2);
	assert_null(tables_find_serial(&w.t, before));
	assert_int_equal(w.gone_mappings, 3);
	tables_forget(&w.t, 42);
	assert_int_equal(w.t.known_count, 0);
	assert_int_equal(w.gone, 2);
	close_world(&w);
}

static void of_50000_processes_the_latest_are_known_and_the_rest_counted(void **state)
{
	struct world w;
	(void)state;

	open_world(&w);
	for (uint32_t pid = 1; pid <= 50000; pid++)
		put(&w, pid, 5, pid / 100);
	assert_true(w.t.known_count <= room.processes);
	assert_int_equal(w.t.forgotten + w.t.known_count, 50000);
	assert_int_equal(w.gone, w.t.forgotten);
	assert_non_null(tables_find(&w.t, 50000));
	assert_null(tables_find(&w.t, 1));
	close_world(&w);
}

static void mappings_of_who_was_not_seen_for_longest_make_room(void **state)
{
	struct world w;
	(void)state;

	open_world(&w);
	/* 64 of 2048 each: the 33rd takes what one of the first had */
	for (uint32_t pid = 1; pid <= 40; pid++)
		put(&w, pid, 60, pid * 100);
	assert_non_null(tables_find(&w.t, 40));
	assert_int_equal(w.t.forgotten, 8);
	close_world(&w);
}

static void forget_pids(struct world *w, uint32_t first, uint32_t last)
{
	for (uint32_t pid = first; pid <= last; pid++)
		tables_forget(&w->t, pid);
	assert_int_equal(w->t.known_count, 0);
}

static void room_of_large_processes_is_small_ones_afterwards(void **state)
{
	struct world w;
	(void)state;

	open_world(&w);
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t pid = 1; pid <= 4; pid++)
			put(&w, pid, 512, 1);
		forget_pids(&w, 1, 4);
		for (uint32_t pid = 1; pid <= 128; pid++)
			put(&w, pid, 16, 1);
		forget_pids(&w, 1, 128);
		put(&w, 1, 2048, 1);
		forget_pids(&w, 1, 1);
	}
	assert_int_equal(w.t.forgotten, 0);
	close_world(&w);
}

static void large_processes_make_room_for_small_ones_and_not_the_reverse(void **state)
{
	struct profile_mapping m[513] = {0};
	struct world w;
	(void)state;

	open_world(&w);
	for (uint32_t pid = 1; pid <= 4; pid++)
		put(&w, pid, 512, 100);
	put(&w, 5, 16, 100); /* all are seen at present */
	assert_int_equal(w.t.forgotten, 1);
	for (uint32_t pid = 6; pid <= 128; pid++)
		put(&w, pid, 16, 100);
	assert_int_equal(w.t.forgotten, 4);
	assert_int_equal(w.t.known_count, 124);
	assert_int_equal(tables_put(&w.t, 1, m, 513, 100), -ENOSPC);
	assert_int_equal(w.t.known_count, 124);
	assert_int_equal(tables_put(&w.t, 1, m, 513, 200), 0);
	close_world(&w);
}

static void groups_change_at_once(void **state)
{
	const struct profile_group two[] = {{.cgroup = 7, .hz = 19},
					    {.cgroup = 9, .hz = 97}};
	struct world w;
	(void)state;

	open_world(&w);
	assert_int_equal(tables_set_groups(&w.t, two, 2, 97), 0);
	unsigned table = w.t.control->tables, found = 0;
	for (unsigned i = 0; i < PROFILE_GROUPS_MAX; i++)
		found += w.t.wanted[table * PROFILE_GROUPS_MAX + i].cgroup != 0;
	assert_int_equal(found, 2);
	assert_int_equal(w.t.control->hz, 97);
	assert_int_equal(tables_set_groups(&w.t, NULL, 0, 0), 0);
	assert_int_not_equal(w.t.control->tables, table);
	assert_int_equal(w.t.control->generation, 2);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_found_by_its_pid_and_its_serial),
		cmocka_unit_test(an_address_is_in_a_mapping_or_in_none),
		cmocka_unit_test(
			a_process_that_is_looked_at_again_has_one_place_and_another_serial),
		cmocka_unit_test(
			of_50000_processes_the_latest_are_known_and_the_rest_counted),
		cmocka_unit_test(mappings_of_who_was_not_seen_for_longest_make_room),
		cmocka_unit_test(room_of_large_processes_is_small_ones_afterwards),
		cmocka_unit_test(
			large_processes_make_room_for_small_ones_and_not_the_reverse),
		cmocka_unit_test(groups_change_at_once),
	};
	return cmocka_run_group_tests_name("tables_test", tests, NULL, NULL);
}
