/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's side of the map is played here; the kernel itself is in
 * test/e2e/ebpf_net.sh. */
#include "daemon/groups/unit_net.h"

#include <errno.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "test/unit/group_lab.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define SLOTS 64u
#define STRIPES 2u

static char folder[SCRATCH_PATH];
static struct units *units;
static struct net_slots kernel; /* another mapping of the same map */
static struct unit_net *net;

static int open_net(void **state)
{
	const size_t bytes =
		(SLOTS + 1) * NET_KINDS * STRIPES * sizeof(struct net_counts);
	struct net_slots ours;
	bool made_new;
	struct err err;

	(void)state;
	scratch_make(folder);
	int dirfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_int_equal(units_open(dirfd, 16, &units, &made_new, &err), 0);
	close(dirfd);
	int fds[NET_FDS] = {group_lab_map(bytes), -1, -1, -1};
	int copies[NET_FDS] = {dup(fds[0]), -1, -1, -1};
	assert_int_equal(net_slots_open(&ours, fds, SLOTS, STRIPES, &err), 0);
	assert_int_equal(net_slots_open(&kernel, copies, SLOTS, STRIPES, &err), 0);
	assert_int_equal(unit_net_new(units, &ours, &net, &err), 0);
	return 0;
}

static int close_net(void **state)
{
	(void)state;
	unit_net_free(net);
	net_slots_close(&kernel);
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

static struct net_counts *stripe(uint32_t slot, enum net_kind kind, uint32_t n)
{
	return &kernel.counts[(slot * NET_KINDS + (uint32_t)kind) * STRIPES + n];
}

static void steps_of_a_unit_are_added_up_by_kind(void **state)
{
	uint32_t unit = add_unit("7");
	struct unit_net_total t = {0};

	(void)state;
	stripe(3, NET_TCP4, 0)->in_bytes = 10;
	stripe(3, NET_TCP4, 1)->in_bytes = 20;
	stripe(3, NET_UDP6, 1)->out_packets = 3;
	unit_net_add_slot(net, 3, &t);
	assert_int_equal(t.kinds[NET_TCP4].in_bytes, 30);
	unit_net_end_slot(net, 3, unit);
	stripe(4, NET_TCP4, 0)->in_bytes = 5;
	stripe(4, NET_TCP4, 0)->resent_bytes = 6;
	unit_net_end_slot(net, 4, unit);

	t = (struct unit_net_total){0};
	unit_net_add_ended(net, unit, &t);
	assert_int_equal(t.kinds[NET_TCP4].in_bytes, 35);
	assert_int_equal(t.kinds[NET_TCP4].resent_bytes, 6);
	assert_int_equal(t.kinds[NET_UDP6].out_packets, 3);
	assert_int_equal(t.kinds[NET_TCP6].in_bytes, 0);

	/* a slot is as new for the next step */
	t = (struct unit_net_total){0};
	unit_net_add_slot(net, 3, &t);
	assert_int_equal(t.kinds[NET_TCP4].in_bytes, 0);
}

static void what_is_of_nobody_is_no_units(void **state)
{
	uint32_t unit = add_unit("7");
	struct unit_net_total t = {0};

	(void)state;
	stripe(SLOTS, NET_TCP4, 1)->out_packets = 9;
	stripe(5, NET_TCP4, 0)->out_packets = 2;
	unit_net_end_slot(net, 5, UNITS_NONE);
	unit_net_end_slot(net, SLOTS, unit);
	unit_net_add_ended(net, unit, &t);
	assert_int_equal(t.kinds[NET_TCP4].out_packets, 0);
	unit_net_add_nobody(net, &t);
	assert_int_equal(t.kinds[NET_TCP4].out_packets, 9);
}

static void slots_and_units_that_are_none_are_ignored(void **state)
{
	struct unit_net_total t = {0};

	(void)state;
	unit_net_add_slot(net, UINT32_MAX, &t);
	unit_net_end_slot(net, UINT32_MAX, 0);
	unit_net_add_ended(net, UNITS_NONE, &t);
	assert_int_equal(t.kinds[NET_TCP4].in_bytes, 0);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	static const uint32_t sizes[][2] = {{0, 2},  {64, 0},       {63, 2},
					    {64, 3}, {1u << 30, 2}, {64, 32}};
	const int none[NET_FDS] = {-1, -1, -1, -1};
	struct net_slots n;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(
			net_slots_open(&n, none, sizes[i][0], sizes[i][1], &err),
			-EPROTO);
	assert_true(net_slots_open(&n, none, SLOTS, STRIPES, &err) < 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_net, close_net)
	const struct CMUnitTest tests[] = {
		T(steps_of_a_unit_are_added_up_by_kind),
		T(what_is_of_nobody_is_no_units),
		T(slots_and_units_that_are_none_are_ignored),
		T(sizes_that_cannot_be_are_refused),
	};
	return cmocka_run_group_tests_name("unit_net", tests, NULL, NULL);
}
