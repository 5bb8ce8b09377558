/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's side of the map is played here, as the network programs have it; the
 * kernel itself is in test/e2e/ebpf_net.sh and ebpf_perf.sh. */
#include "daemon/groups/unit_counts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/records/group_slots.h"
#include "lib/records/hardware_cells.h"
#include "lib/records/io_cells.h"
#include "lib/records/net_slots.h"
#include "lib/records/perf_cells.h"
#include "test/unit/group_lab.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define SLOTS 64u
#define STRIPES 2u

static char folder[SCRATCH_PATH];
static struct units *units;
static struct slot_counts kernel; /* another mapping of the same map */
static struct unit_counts *counts;

static void open_mapping(int fd, struct slot_counts *ret)
{
	struct err err;

	*ret = (struct slot_counts){.slots = SLOTS,
				    .stripes = STRIPES,
				    .kinds = NET_KINDS,
				    .spare = 1,
				    .fd_count = 2,
				    .fds = {fd, -1}};
	assert_int_equal(slot_counts_open(ret, &err), 0);
}

static int open_counts(void **state)
{
	struct slot_counts ours;
	bool made_new;
	struct err err;

	(void)state;
	scratch_make(folder);
	int dirfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_int_equal(units_open(dirfd, 16, &units, &made_new, &err), 0);
	close(dirfd);
	int fd = group_lab_map((SLOTS + 1) * NET_KINDS * STRIPES *
			       sizeof(struct net_counts));
	open_mapping(dup(fd), &kernel);
	open_mapping(fd, &ours);
	assert_int_equal(unit_counts_new(units, &ours, &counts, &err), 0);
	return 0;
}

static int close_counts(void **state)
{
	(void)state;
	unit_counts_free(counts);
	slot_counts_close(&kernel);
	units_close(units);
	scratch_remove(folder);
	return 0;
}

static uint32_t add_unit(const char *id)
{
	static uint64_t pos;
	struct record r;
	struct err err;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), id);
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.boottime_ns = r.realtime_ns = NSEC_PER_SEC;
	assert_int_equal(
		units_apply(units, &r, pos++, NSEC_PER_SEC, NSEC_PER_SEC, &err), 0);
	return units_find_newest(units, MANAGER_SLURM, "n1", id);
}

static struct net_counts *net_stripe(uint32_t slot, enum net_kind kind, uint32_t n)
{
	struct net_counts *map = (struct net_counts *)kernel.words;

	return &map[(slot * NET_KINDS + (uint32_t)kind) * STRIPES + n];
}

/* One kind of what is added by one of the functions below */
enum whose { OF_SLOT, OF_ENDED, OF_NOBODY };

static struct net_counts sum_of(enum whose whose, uint32_t which, enum net_kind kind)
{
	unsigned long long words[NET_KINDS * COUNTS_WORDS] = {0};
	struct net_counts sum;

	if (whose == OF_SLOT)
		unit_counts_add_slot(counts, which, words);
	else if (whose == OF_ENDED)
		unit_counts_add_ended(counts, which, words);
	else
		unit_counts_add_nobodys(counts, words);
	memcpy(&sum, &words[kind * COUNTS_WORDS], sizeof(sum));
	return sum;
}

static void steps_of_a_unit_are_added_up_by_kind(void **state)
{
	uint32_t unit = add_unit("7");

	(void)state;
	net_stripe(3, NET_TCP4, 0)->in_bytes = 10;
	net_stripe(3, NET_TCP4, 1)->in_bytes = 20;
	net_stripe(3, NET_UDP6, 1)->out_packets = 3;
	assert_int_equal(sum_of(OF_SLOT, 3, NET_TCP4).in_bytes, 30);
	unit_counts_end_slot(counts, 3, unit);
	net_stripe(4, NET_TCP4, 0)->in_bytes = 5;
	net_stripe(4, NET_TCP4, 0)->resent_bytes = 6;
	unit_counts_end_slot(counts, 4, unit);

	assert_int_equal(sum_of(OF_ENDED, unit, NET_TCP4).in_bytes, 35);
	assert_int_equal(sum_of(OF_ENDED, unit, NET_TCP4).resent_bytes, 6);
	assert_int_equal(sum_of(OF_ENDED, unit, NET_UDP6).out_packets, 3);
	assert_int_equal(sum_of(OF_ENDED, unit, NET_TCP6).in_bytes, 0);

	/* a slot is as new for the next step */
	assert_int_equal(sum_of(OF_SLOT, 3, NET_TCP4).in_bytes, 0);
}

static void the_next_unit_in_a_place_of_the_table_has_nothing_of_the_last(void **state)
{
	const struct units_policy at_once = {0};
	uint32_t unit = add_unit("7"), next;

	(void)state;
	net_stripe(3, NET_TCP4, 0)->in_bytes = 10;
	unit_counts_end_slot(counts, 3, unit);
	units_step_lost(units, steps_next(units, 0), 2 * NSEC_PER_SEC,
			2 * NSEC_PER_SEC);
	units_drop_anchors(units, 2 * NSEC_PER_SEC, 2 * NSEC_PER_SEC);
	for (unsigned i = 1; units_used(units) && i < 100; i++)
		units_expire(units, i * 100 * NSEC_PER_SEC, &at_once);
	next = add_unit("8");
	assert_int_equal(next, unit);
	assert_int_equal(sum_of(OF_ENDED, next, NET_TCP4).in_bytes, 0);
	unit_counts_end_slot(counts, 4, next);
	assert_int_equal(sum_of(OF_ENDED, next, NET_TCP4).in_bytes, 0);
}

static void what_is_of_nobody_is_no_units(void **state)
{
	uint32_t unit = add_unit("7");

	(void)state;
	net_stripe(SLOTS, NET_TCP4, 1)->out_packets = 9;
	net_stripe(5, NET_TCP4, 0)->out_packets = 2;
	unit_counts_end_slot(counts, 5, UNITS_NONE);
	unit_counts_end_slot(counts, SLOTS, unit);
	assert_int_equal(sum_of(OF_ENDED, unit, NET_TCP4).out_packets, 0);
	assert_int_equal(sum_of(OF_NOBODY, 0, NET_TCP4).out_packets, 9);
}

static void slots_and_units_that_are_none_are_ignored(void **state)
{
	(void)state;
	unit_counts_end_slot(counts, UINT32_MAX, 0);
	assert_int_equal(sum_of(OF_SLOT, UINT32_MAX, NET_TCP4).in_bytes, 0);
	assert_int_equal(sum_of(OF_ENDED, UNITS_NONE, NET_TCP4).in_bytes, 0);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	static const uint32_t sizes[][2] = {{0, 2},  {64, 0},       {63, 2},
					    {64, 3}, {1u << 30, 2}, {64, 32}};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct slot_counts c = {.slots = sizes[i][0],
					.stripes = sizes[i][1],
					.kinds = 1,
					.fd_count = 1,
					.fds = {-1}};
		assert_int_equal(slot_counts_open(&c, &err), -EPROTO);
	}
	struct slot_counts c = {.slots = SLOTS,
				.stripes = STRIPES,
				.kinds = 1,
				.fd_count = 1,
				.fds = {-1}};
	assert_int_equal(slot_counts_open(&c, &err), -EBADF);
}

/* As the headers in lib/records say it, with the default number of slots */
static void all_counters_of_256_cpus_fit_into_64_mb(void **state)
{
	(void)state;
	const size_t slots = 4096, cells = slots * IO_CELLS_PER_SLOT;
	const size_t groups_of_events = 3 + 7;
	size_t sum = slots * (sizeof(struct group_slot) + sizeof(uint64_t));

	sum += cells * (IO_STRIPES_MAX * sizeof(struct io_counts) +
			sizeof(struct io_mount) + sizeof(uint64_t));
	sum += slots *
	       (IO_STRIPES_MAX * (sizeof(struct io_counts) + sizeof(struct io_names)) +
		IO_ROW * sizeof(uint64_t));
	sum += (cells + slots) * (IO_TIMES_STRIPES_MAX * sizeof(struct io_times) +
				  sizeof(struct io_errors));
	sum += IO_BEGUN_PLACES * sizeof(uint64_t);
	sum += (slots + 1) * NET_KINDS * NET_STRIPES_MAX * sizeof(struct net_counts);
	/* counted by system calls: what each socket had, by its address */
	sum += NET_SOCKETS_MAX * (size_t)128;
	sum += slots * PERF_STRIPES_MAX * sizeof(struct perf_counts);
	sum += slots * groups_of_events * HARDWARE_STRIPES_MAX *
	       sizeof(struct hardware_counts);
	assert_true(sum < 64u * 1000 * 1000);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_counts, close_counts)
	const struct CMUnitTest tests[] = {
		T(steps_of_a_unit_are_added_up_by_kind),
		T(the_next_unit_in_a_place_of_the_table_has_nothing_of_the_last),
		T(what_is_of_nobody_is_no_units),
		T(slots_and_units_that_are_none_are_ignored),
		T(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(all_counters_of_256_cpus_fit_into_64_mb),
	};
	return cmocka_run_group_tests_name("unit_counts", tests, NULL, NULL);
}
