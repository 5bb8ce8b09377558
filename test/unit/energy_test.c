/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attribution, case by case, with numbers that can be followed by hand. */
#include "test/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "daemon/energy.h"

#define SEC 1000000000ull
#define WATT 1000000ull /* as microwatts, and for one second in microjoules */
#define DAY_NS (86400 * SEC)

struct bed {
	struct energy_node node;
	struct energy_config c;
	struct energy_account unit[3];
	struct energy_account *accounts[3];
	struct energy_use use[3];
	struct energy_tick tick;
	struct energy_work w;
};

/* 10 CPUs, 10 GiB; three units of 2, 3 and 0 CPUs; idle powers 0 unless a test says so
 */
static int setup(void **state)
{
	static struct bed b;
	static const uint32_t mcpu[] = {2000, 3000, 0};
	b = (struct bed){0};
	energy_node_init(&b.node);
	energy_config_defaults(&b.c);
	memset(b.c.idle_uw, 0, sizeof(b.c.idle_uw));
	for (size_t i = 0; i < 3; i++) {
		energy_account_init(&b.unit[i], 10 + i);
		b.accounts[i] = &b.unit[i];
		b.use[i] = (struct energy_use){.account = &b.unit[i],
					       .activity_ppm = ENERGY_ONE_PPM,
					       .alloc_mcpu = mcpu[i]};
	}
	b.tick = (struct energy_tick){
		.t1_ns = SEC, .node_mcpu = 10000, .node_memory_kib = 10 << 20};
	*state = &b;
	return 0;
}

static int teardown(void **state)
{
	struct bed *b = *state;
	energy_work_done(&b->w);
	return 0;
}

static int tick(struct bed *b)
{
	struct err err = {0};
	int r = energy_tick(&b->node, &b->c, &b->tick, b->use, 3, &b->w, &err);
	uint64_t dt = b->tick.t1_ns - b->tick.t0_ns;
	if (r == 0) {
		b->tick.t0_ns += dt;
		b->tick.t1_ns += dt;
	}
	return r;
}

static int close_host(struct bed *b, uint64_t uj)
{
	return energy_host_close(&b->node, &b->c, uj, 1, b->accounts, 3, &b->w);
}

static uint64_t settled(const struct bed *b, size_t i, enum energy_domain d)
{
	return b->unit[i].settled_uj[d];
}

static void left_over_microjoules_go_to_the_largest_remainders(void **state)
{
	(void)state;
	struct energy_slot s[] = {{.weight = 1, .key = 9},
				  {.weight = 1, .key = 7},
				  {.weight = 1, .key = 8},
				  {.weight = 0, .key = 1}};
	uint64_t shares[4];
	uint32_t order[4];
	assert_true(energy_split(5, s, 4, shares, order));
	assert_int_equal(shares[0], 1);
	assert_int_equal(shares[1], 2); /* the lowest keys */
	assert_int_equal(shares[2], 2);
	assert_int_equal(shares[3], 0);
	s[0].weight = 0;
	s[1].weight = 0;
	s[2].weight = 0;
	assert_false(energy_split(5, s, 4, shares, order));
	assert_int_equal(shares[0], 0);
}

static void splits_do_not_overflow_at_100_kw_for_years(void **state)
{
	struct bed *b = *state;
	/* 100 kW for 5 years in one tick, every weight as large as it goes */
	uint64_t year = 365 * DAY_NS, uj = energy_of_power(100000 * WATT, 5 * year);
	assert_int_equal(uj / 1000000, 100000ull * 5 * 365 * 86400);
	b->tick.t1_ns = 5 * year;
	b->tick.node_mcpu = 4096000;
	b->tick.node_memory_kib = UINT64_MAX;
	b->tick.package = (struct energy_meter){1, uj / 2};
	b->tick.dram = (struct energy_meter){1, uj / 2};
	b->c.idle_uw[ENERGY_PACKAGE] = 10000 * WATT;
	b->c.idle_uw[ENERGY_DRAM] = 10000 * WATT;
	b->tick.system_cpu_ns = UINT64_MAX;
	for (size_t i = 0; i < 2; i++) {
		b->use[i].cpu_ns = UINT64_MAX;
		b->use[i].activity_ppm = UINT32_MAX;
		b->use[i].alloc_mcpu = UINT32_MAX;
		b->use[i].alloc_kib = UINT64_MAX;
		b->use[i].memory_kib_ms = UINT64_MAX;
	}
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, uj), 0);
	for (size_t d = 0; d < ENERGY_DOMAINS; d++) {
		uint64_t sum = b->node.idle.settled_uj[d] +
			       b->node.system.settled_uj[d] + settled(b, 0, d) +
			       settled(b, 1, d);
		assert_int_equal(sum, b->node.measured_uj[d]);
	}
	assert_int_equal(b->node.measured_uj[ENERGY_HOST], uj);
	/* two equal units have equal shares */
	assert_in_range(settled(b, 0, ENERGY_PACKAGE) - settled(b, 1, ENERGY_PACKAGE),
			0, 2);
}

static void dynamic_package_energy_follows_cpu_time_and_activity(void **state)
{
	struct bed *b = *state;
	b->tick.package = (struct energy_meter){1, 100 * WATT};
	b->use[0].cpu_ns = SEC;
	b->use[1].cpu_ns = SEC;
	b->use[1].activity_ppm = 2 * ENERGY_ONE_PPM;
	b->tick.system_cpu_ns = SEC;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_PACKAGE), 25 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_PACKAGE), 50 * WATT);
	assert_int_equal(b->node.system.settled_uj[ENERGY_PACKAGE], 25 * WATT);
	assert_int_equal(b->node.idle.settled_uj[ENERGY_PACKAGE], 0);
}

static void idle_policies_charge_whom_they_say(void **state)
{
	struct bed *b = *state;
	b->tick.package = (struct energy_meter){1, 100 * WATT};
	b->c.idle_uw[ENERGY_PACKAGE] = 40 * WATT;
	b->use[0].cpu_ns = SEC;
	assert_int_equal(tick(b), 0);
	/* 60 dynamic; 40 idle by 2, 3 and 5 of 10 CPUs */
	assert_int_equal(settled(b, 0, ENERGY_PACKAGE), 68 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_PACKAGE), 12 * WATT);
	assert_int_equal(b->node.idle.settled_uj[ENERGY_PACKAGE], 20 * WATT);
	b->c.idle = ENERGY_IDLE_USAGE;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_PACKAGE), 168 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_PACKAGE), 12 * WATT);
	b->c.idle = ENERGY_IDLE_NONE;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_PACKAGE), 228 * WATT);
	assert_int_equal(b->node.idle.settled_uj[ENERGY_PACKAGE], 60 * WATT);
}

static void idle_memory_follows_allocated_memory_else_the_share_of_cpus(void **state)
{
	struct bed *b = *state;
	b->c.idle_uw[ENERGY_DRAM] = 10 * WATT;
	b->tick.dram = (struct energy_meter){1, 10 * WATT};
	b->use[0].alloc_kib = 5 << 20; /* half; the other has 3 of 10 CPUs */
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_DRAM), 5 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_DRAM), 3 * WATT);
	assert_int_equal(b->node.idle.settled_uj[ENERGY_DRAM], 2 * WATT);
}

static void idle_by_usage_counts_plain_cpu_time_in_every_domain(void **state)
{
	struct bed *b = *state;
	b->c.idle = ENERGY_IDLE_USAGE;
	b->c.idle_uw[ENERGY_PACKAGE] = b->c.idle_uw[ENERGY_OTHER] = 40 * WATT;
	b->tick.package = (struct energy_meter){1, 40 * WATT};
	b->use[0].cpu_ns = SEC;
	b->use[0].activity_ppm = 3 * ENERGY_ONE_PPM;
	b->use[1].cpu_ns = SEC;
	b->tick.system_cpu_ns = 2 * SEC;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 80 * WATT), 0);
	assert_int_equal(settled(b, 0, ENERGY_PACKAGE), 10 * WATT);
	assert_int_equal(settled(b, 0, ENERGY_OTHER), 10 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_OTHER), 10 * WATT);
	assert_int_equal(b->node.system.settled_uj[ENERGY_HOST], 40 * WATT);
}

static void edges_inside_a_tick_count_by_their_own_time(void **state)
{
	struct bed *b = *state;
	b->tick.package = (struct energy_meter){1, 100 * WATT};
	b->c.idle_uw[ENERGY_PACKAGE] = 100 * WATT;
	b->use[0].started_ns = SEC / 4;
	b->use[0].ended_ns = SEC / 2;
	b->use[1].started_ns = SEC * 9 / 10;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_PACKAGE), 5 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_PACKAGE), 3 * WATT);
	/* a stop that is learnt of late: its CPU time counts, no allocation any more */
	b->tick.package.energy_uj = 110 * WATT;
	b->use[0].cpu_ns = 1000;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_PACKAGE), 15 * WATT);
}

static void a_suspended_unit_pays_for_its_allocation_only(void **state)
{
	struct bed *b = *state;
	b->c.idle_uw[ENERGY_PACKAGE] = b->c.idle_uw[ENERGY_DRAM] = 10 * WATT;
	b->c.idle_uw[ENERGY_OTHER] = 20 * WATT;
	b->tick.package = (struct energy_meter){1, 50 * WATT};
	b->tick.dram = (struct energy_meter){1, 20 * WATT};
	b->use[0].memory_kib_ms = 1 << 20; /* resident, not running */
	b->use[1].cpu_ns = SEC;
	b->use[1].memory_kib_ms = 1;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 150 * WATT), 0);
	assert_int_equal(settled(b, 0, ENERGY_PACKAGE), 2 * WATT);
	assert_int_equal(settled(b, 0, ENERGY_DRAM), 2 * WATT);
	assert_int_equal(settled(b, 0, ENERGY_OTHER), 4 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_OTHER), 66 * WATT);
	assert_int_equal(settled(b, 0, ENERGY_HOST), 8 * WATT);
}

static void a_gpu_belongs_to_who_holds_it_and_shares_add_up_to_the_device(void **state)
{
	struct bed *b = *state;
	struct energy_meter gpus[] = {{1, 300 * WATT}, {1, 90 * WATT}, {0, 7 * WATT}};
	struct energy_gpu_share whole = {0, ENERGY_ONE_PPM, 0}, a = {1, 142857, 0},
				c = {1, 428571, 0};
	b->tick.gpus = gpus;
	b->tick.gpu_count = 3;
	b->c.idle_uw[ENERGY_GPU] = 14 * WATT;
	b->use[0].gpus = &whole;
	b->use[1].gpus = &a;
	b->use[2].gpus = &c;
	b->use[0].gpu_count = b->use[1].gpu_count = b->use[2].gpu_count = 1;
	assert_int_equal(tick(b), 0);
	/* 14 W idle: 1/7, 3/7 and nobody's 3/7; 76 W dynamic: 1 to 3 */
	assert_int_equal(settled(b, 0, ENERGY_GPU), 300 * WATT);
	assert_in_range(settled(b, 1, ENERGY_GPU), 21 * WATT - 20, 21 * WATT + 20);
	assert_in_range(settled(b, 2, ENERGY_GPU), 63 * WATT - 20, 63 * WATT + 20);
	assert_in_range(b->node.idle.settled_uj[ENERGY_GPU], 6 * WATT - 20,
			6 * WATT + 20);
	assert_int_equal(b->node.measured_uj[ENERGY_GPU], 390 * WATT);
}

/* 50 W, but 400 W from 0.2 to 0.5 s: 155 J; readings go on for a while behind */
static struct energy_history burst_of_a_device(void)
{
	static struct energy_point points[14];
	uint64_t uj = 0;

	for (size_t i = 0; i < 14; i++) {
		/* the first is before the tick */
		points[i] = (struct energy_point){SEC + i * SEC / 10 - SEC / 10, uj};
		uj += (i > 2 && i < 6 ? 40 : 5) * WATT;
	}
	return (struct energy_history){points, 14, SEC, 2 * SEC};
}

static void a_gpu_is_charged_by_what_it_took_while_it_was_held(void **state)
{
	struct bed *b = *state;
	struct energy_history h = burst_of_a_device();
	struct energy_meter gpu = {1, 155 * WATT};
	struct energy_gpu_share whole = {0, ENERGY_ONE_PPM, 0};
	b->tick.t0_ns = SEC;
	b->tick.t1_ns = 2 * SEC;
	b->tick.gpus = &gpu;
	b->tick.gpu_count = 1;
	b->tick.histories = &h;
	b->use[0].gpus = b->use[1].gpus = &whole;
	b->use[0].gpu_count = b->use[1].gpu_count = 1;
	b->use[0].started_ns = SEC + SEC / 5;
	b->use[0].ended_ns = SEC + SEC / 2;
	b->use[1].started_ns = SEC + SEC / 2 + SEC / 10;
	b->use[1].ended_ns = SEC + SEC / 2 + SEC / 5;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_GPU), 120 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_GPU), 5 * WATT);
	assert_int_equal(b->node.idle.settled_uj[ENERGY_GPU], 30 * WATT);
}

/* What is learned changes nothing for who holds all of a device; of a part, idle power
 * is paid by that part, and nobody pays for it where the policy says so. */
static void a_gpus_learned_idle_power_is_charged_by_policy(void **state)
{
	struct bed *b = *state;
	const uint64_t learned = 50 * WATT;
	struct energy_history h = burst_of_a_device();
	struct energy_meter gpu = {1, 155 * WATT};
	struct energy_gpu_share whole = {0, ENERGY_ONE_PPM, 0}, half = {0, 500000, 0};
	b->tick.t0_ns = SEC;
	b->tick.t1_ns = 2 * SEC;
	b->tick.gpus = &gpu;
	b->tick.gpu_count = 1;
	b->tick.histories = &h;
	b->tick.gpu_idle_uw = &learned;
	b->c.idle_uw[ENERGY_GPU] = ENERGY_LEARN;
	b->use[0].gpus = b->use[1].gpus = &whole;
	b->use[0].gpu_count = b->use[1].gpu_count = 1;
	b->use[0].started_ns = SEC + SEC / 5;
	b->use[0].ended_ns = SEC + SEC / 2;
	b->use[1].started_ns = SEC + SEC / 2 + SEC / 10;
	b->use[1].ended_ns = SEC + SEC / 2 + SEC / 5;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_GPU), 120 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_GPU), 5 * WATT);
	assert_int_equal(b->node.idle.settled_uj[ENERGY_GPU], 30 * WATT);
	/* of the whole 0.3 s half of the idle 15 J, and all of what is above */
	b->use[0].gpus = &half;
	b->use[1].gpu_count = 0;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_GPU), (120 + 105) * WATT + WATT * 15 / 2);
	b->use[0].gpus = &whole;
	b->c.idle = ENERGY_IDLE_NONE;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_GPU),
			 (120 + 105 + 105) * WATT + WATT * 15 / 2);
	assert_int_equal(b->node.measured_uj[ENERGY_GPU], 3 * 155 * WATT);
}

static void who_shares_a_gpu_shares_what_it_took_meanwhile(void **state)
{
	struct bed *b = *state;
	struct energy_history h = burst_of_a_device();
	struct energy_meter gpu = {1, 155 * WATT};
	struct energy_gpu_share one = {0, 100000, 0}, three = {0, 300000, 0};
	b->tick.t0_ns = SEC;
	b->tick.t1_ns = 2 * SEC;
	b->tick.gpus = &gpu;
	b->tick.gpu_count = 1;
	b->tick.histories = &h;
	b->use[0].gpus = &one;
	b->use[1].gpus = &three;
	b->use[0].gpu_count = b->use[1].gpu_count = 1;
	/* the first all the time, the second in the burst: 120 J in parts of 1 and 3 */
	b->use[1].started_ns = SEC + SEC / 5;
	b->use[1].ended_ns = SEC + SEC / 2;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_GPU), (30 + 35) * WATT);
	assert_int_equal(settled(b, 1, ENERGY_GPU), 90 * WATT);
	assert_int_equal(b->node.idle.settled_uj[ENERGY_GPU], 0);
	/* without readings that reach back so far: by time */
	b->tick.histories = &(struct energy_history){h.points + 12, 2, SEC, 2 * SEC};
	b->use[1].ended_ns = 0;
	assert_int_equal(tick(b), 0);
	assert_in_range(settled(b, 1, ENERGY_GPU), 90 * WATT + 155 * WATT * 3 / 4 - 1,
			90 * WATT + 155 * WATT * 3 / 4 + 1);
}

static void
what_is_measured_of_a_shared_gpu_divides_all_but_its_idle_power(void **state)
{
	struct bed *b = *state;
	struct energy_history h = burst_of_a_device();
	struct energy_meter gpu = {1, 155 * WATT};
	struct energy_gpu_share four = {0, 400000, 900000}, three = {0, 300000, 100000};
	b->tick.t0_ns = SEC;
	b->tick.t1_ns = 2 * SEC;
	b->tick.gpus = &gpu;
	b->tick.gpu_count = 1;
	b->use[0].gpus = &four;
	b->use[1].gpus = &three;
	b->use[0].gpu_count = b->use[1].gpu_count = 1;
	b->c.idle_uw[ENERGY_GPU] = 55 * WATT;
	assert_int_equal(tick(b), 0);
	/* idle power by slices, 3 of 10 are nobody's; the rest 9 to 1 */
	assert_int_equal(settled(b, 0, ENERGY_GPU), 22 * WATT + 90 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_GPU), 16500000 + 10 * WATT);
	assert_int_equal(b->node.idle.settled_uj[ENERGY_GPU], 16500000);
	/* the same by the device's history */
	b->c.idle_uw[ENERGY_GPU] = 0;
	b->tick.histories = &h;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 0, ENERGY_GPU), 112 * WATT + 139500000);
	/* who did nothing of what others did pays nothing of it */
	three.use_ppm = 0;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 1, ENERGY_GPU), 26500000 + 15500000);
	/* while nobody does anything they pay by slices */
	four.use_ppm = 0;
	b->tick.histories = NULL;
	gpu.energy_uj = 70 * WATT;
	assert_int_equal(tick(b), 0);
	assert_int_equal(settled(b, 1, ENERGY_GPU), 42000000 + 30 * WATT);
}

static void the_host_sensor_includes_gpus_only_when_declared(void **state)
{
	struct bed *b = *state;
	struct energy_meter gpu = {1, 300 * WATT};
	b->tick.gpus = &gpu;
	b->tick.gpu_count = 1;
	b->use[0].cpu_ns = 1;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	b->c.host_includes_gpu = true;
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 350 * WATT), 0);
	assert_int_equal(b->node.measured_uj[ENERGY_OTHER], 50 * WATT);
	b->c.host_includes_gpu = false;
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 350 * WATT), 0);
	assert_int_equal(b->node.measured_uj[ENERGY_OTHER], 400 * WATT);
	assert_int_equal(b->node.measured_uj[ENERGY_HOST], 700 * WATT);
}

static void a_host_interval_is_split_also_to_units_that_ended_in_it(void **state)
{
	struct bed *b = *state;
	b->tick.package = (struct energy_meter){1, 10 * WATT};
	b->use[0].cpu_ns = b->use[1].cpu_ns = SEC;
	b->use[0].ended_ns = SEC; /* lives in the first of three ticks */
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	b->use[0].cpu_ns = 0;
	assert_int_equal(tick(b), 0);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 140 * WATT), 0);
	/* other 110 by 2 x 1 and 3 x 3 CPU-seconds */
	assert_int_equal(settled(b, 0, ENERGY_OTHER), 20 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_OTHER), 90 * WATT);
	assert_int_equal(settled(b, 0, ENERGY_HOST), 25 * WATT);
	assert_false(energy_account_open(&b->unit[0]));
}

static void without_a_package_sensor_the_host_follows_activity(void **state)
{
	struct bed *b = *state;
	b->use[0].cpu_ns = SEC;
	b->use[1].cpu_ns = SEC;
	b->use[1].activity_ppm = 3 * ENERGY_ONE_PPM;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 100 * WATT), 0);
	assert_int_equal(settled(b, 0, ENERGY_HOST), 25 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_HOST), 75 * WATT);
}

static void other_follows_cpu_time_where_idle_is_not_charged_by_allocation(void **state)
{
	struct bed *b = *state;
	b->c.idle = ENERGY_IDLE_NONE;
	b->tick.package = (struct energy_meter){1, 4 * WATT};
	b->use[0].cpu_ns = SEC;
	b->use[1].cpu_ns = 3 * SEC;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 44 * WATT), 0);
	assert_int_equal(settled(b, 0, ENERGY_OTHER), 10 * WATT);
	b->c.other = ENERGY_OTHER_ALLOCATION;
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 44 * WATT), 0);
	assert_int_equal(settled(b, 0, ENERGY_OTHER), 26 * WATT);
}

static void a_deficit_is_carried_and_paid_back(void **state)
{
	struct bed *b = *state;
	b->tick.package = (struct energy_meter){1, 100 * WATT};
	b->use[0].cpu_ns = SEC;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 70 * WATT), 0);
	assert_int_equal(b->node.deficit_uj, 30 * WATT);
	assert_int_equal(b->node.measured_uj[ENERGY_OTHER], 0);
	assert_int_equal(settled(b, 0, ENERGY_HOST), 70 * WATT);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 150 * WATT), 0);
	assert_int_equal(b->node.deficit_uj, 0);
	assert_int_equal(settled(b, 0, ENERGY_OTHER), 20 * WATT);
	assert_int_equal(settled(b, 0, ENERGY_HOST), 220 * WATT);
}

static void provisional_and_correction_are_the_settled_value(void **state)
{
	struct bed *b = *state;
	uint64_t provisional;
	b->use[0].cpu_ns = SEC;
	b->tick.package = (struct energy_meter){1, 10 * WATT};
	b->tick.host_fresh = true;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(energy_account_now(&b->unit[0], ENERGY_OTHER, &provisional),
			 0);
	assert_int_equal(close_host(b, 40 * WATT), 0); /* other: 30 W from now on */
	assert_int_equal(tick(b), 0);
	assert_int_equal(energy_account_now(&b->unit[0], ENERGY_OTHER, &provisional),
			 60 * WATT);
	assert_int_equal(provisional, 30 * WATT);
	assert_int_equal(energy_account_now(&b->unit[0], ENERGY_HOST, &provisional),
			 80 * WATT);
	assert_int_equal(provisional, 40 * WATT);
	assert_int_equal(close_host(b, 35 * WATT), 0); /* it was 25 */
	assert_int_equal(settled(b, 0, ENERGY_OTHER), 55 * WATT);
	assert_int_equal(b->unit[0].told_other_uj, 30 * WATT);
	assert_int_equal(b->unit[0].correction_other_uj, 25 * (int64_t)WATT);
	assert_int_equal(settled(b, 0, ENERGY_HOST), 75 * WATT);
	assert_int_equal(b->unit[0].told_host_uj +
				 (uint64_t)b->unit[0].correction_host_uj,
			 75 * WATT);
}

static void a_moment_is_no_base_for_provisional_shares(void **state)
{
	struct bed *b = *state;
	b->use[0].cpu_ns = SEC;
	b->tick.host_fresh = true;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	b->tick.t1_ns = 1000;
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 40 * WATT), 0); /* 40 MW, if it were power */
	b->tick.t1_ns = SEC;
	assert_int_equal(tick(b), 0);
	assert_int_equal(energy_account_now(&b->unit[0], ENERGY_OTHER, NULL),
			 40 * WATT);
}

static void an_answer_that_comes_late_closes_what_was_marked(void **state)
{
	struct bed *b = *state;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	b->use[0].cpu_ns = SEC;
	assert_int_equal(tick(b), 0);
	energy_host_mark(&b->node, b->accounts, 3);
	b->use[0].cpu_ns = 0; /* another unit runs while the sensor thinks */
	b->use[1].cpu_ns = SEC;
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 100 * WATT), 0);
	assert_int_equal(settled(b, 0, ENERGY_HOST), 100 * WATT);
	assert_int_equal(settled(b, 1, ENERGY_HOST), 0);
	assert_int_equal(close_host(b, 80 * WATT), 0);
	assert_int_equal(settled(b, 1, ENERGY_HOST), 80 * WATT);
}

static void
a_stale_host_ends_integration_and_takes_back_what_was_provisional(void **state)
{
	struct bed *b = *state;
	b->use[0].cpu_ns = SEC;
	b->tick.host_fresh = true;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 40 * WATT), 0);
	assert_int_equal(tick(b), 0);
	b->tick.host_fresh = false; /* nothing is repeated */
	assert_int_equal(tick(b), 0);
	assert_int_equal(energy_account_now(&b->unit[0], ENERGY_HOST, NULL), 80 * WATT);
	energy_host_restart(&b->node, ENERGY_NO_SOURCE, b->accounts, 3);
	assert_int_equal(energy_account_now(&b->unit[0], ENERGY_HOST, NULL), 40 * WATT);
	assert_int_equal(b->unit[0].correction_other_uj, 0);
	assert_int_equal(b->unit[0].told_other_uj, 40 * WATT);
	assert_int_equal(close_host(b, 1000 * WATT), -ESTALE);
	assert_int_equal(tick(b), 0);
	assert_false(energy_account_open(&b->unit[0]));
	assert_int_equal(b->node.measured_uj[ENERGY_HOST], 40 * WATT);
}

static void a_source_that_goes_or_changes_makes_no_jump(void **state)
{
	struct bed *b = *state;
	b->c.idle_uw[ENERGY_PACKAGE] = ENERGY_LEARN;
	b->tick.t1_ns = 10 * SEC;
	b->tick.package = (struct energy_meter){1, 400 * WATT};
	assert_int_equal(tick(b), 0);
	bool known;
	assert_int_equal(energy_idle_uw(&b->node, &b->c, ENERGY_PACKAGE, &known),
			 40 * WATT);
	assert_true(known);
	b->tick.package.source = ENERGY_NO_SOURCE; /* whatever is in the field */
	assert_int_equal(tick(b), 0);
	assert_int_equal(b->node.measured_uj[ENERGY_PACKAGE], 400 * WATT);
	assert_int_equal(b->node.changes, 0);
	b->tick.package = (struct energy_meter){2, 5 * WATT};
	b->use[0].cpu_ns = 10 * SEC;
	assert_int_equal(tick(b), 0);
	assert_int_equal(b->node.measured_uj[ENERGY_PACKAGE], 405 * WATT);
	assert_int_equal(b->node.changes, 1);
	(void)energy_idle_uw(&b->node, &b->c, ENERGY_PACKAGE, &known);
	assert_false(known);
	/* another host sensor does not pay the old one's debts */
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 1 * WATT), 0);
	assert_int_equal(b->node.deficit_uj, 4 * WATT);
	energy_host_restart(&b->node, 2, b->accounts, 3);
	assert_int_equal(b->node.deficit_uj, 0);
	assert_int_equal(b->node.forgiven_uj, 4 * WATT);
	assert_int_equal(close_host(b, WATT), -ESTALE);
}

static void
idle_power_is_learned_from_quiet_time_and_outliers_do_not_count(void **state)
{
	struct bed *b = *state;
	bool known;
	b->c.idle_uw[ENERGY_PACKAGE] = ENERGY_LEARN;
	b->tick.package = (struct energy_meter){1, 300 * WATT};
	b->tick.system_cpu_ns = SEC / 2; /* 5 % of 10 CPUs: not quiet */
	for (int i = 0; i < 30; i++)
		assert_int_equal(tick(b), 0);
	(void)energy_idle_uw(&b->node, &b->c, ENERGY_PACKAGE, &known);
	assert_false(known);
	b->tick.system_cpu_ns = SEC / 10;
	for (int i = 0; i < 200; i++) {
		/* one window without energy: a sensor that hung */
		b->tick.package.energy_uj =
			(i / 10 == 7 ? 0 : 40 + (uint64_t)i / 10) * WATT;
		assert_int_equal(tick(b), 0);
	}
	/* windows 4 to 19 are kept: 0, 44, 45, 46 W ... */
	assert_int_equal(energy_idle_uw(&b->node, &b->c, ENERGY_PACKAGE, &known),
			 46 * WATT);
	assert_true(known);
}

static void a_folded_unit_is_settled_in_ended(void **state)
{
	struct bed *b = *state;
	b->use[0].cpu_ns = SEC;
	b->tick.package = (struct energy_meter){1, 10 * WATT};
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_true(energy_account_open(&b->unit[0]));
	energy_fold(&b->node, &b->unit[0]);
	energy_account_init(&b->unit[0], 99);
	assert_int_equal(close_host(b, 30 * WATT), 0);
	assert_int_equal(b->node.ended.settled_uj[ENERGY_PACKAGE], 10 * WATT);
	assert_int_equal(b->node.ended.settled_uj[ENERGY_OTHER], 20 * WATT);
	assert_int_equal(b->node.ended.settled_uj[ENERGY_HOST], 30 * WATT);
	assert_int_equal(settled(b, 0, ENERGY_HOST), 0);
}

static void a_unit_folded_while_the_sensor_thinks_keeps_its_share(void **state)
{
	struct bed *b = *state;
	b->use[0].cpu_ns = SEC;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	energy_host_mark(&b->node, b->accounts, 3);
	energy_fold(&b->node, &b->unit[0]);
	energy_account_init(&b->unit[0], 99);
	assert_int_equal(close_host(b, 30 * WATT), 0);
	assert_int_equal(b->node.ended.settled_uj[ENERGY_HOST], 30 * WATT);
}

static void idle_power_of_other_is_learned_from_quiet_host_intervals(void **state)
{
	struct bed *b = *state;
	bool known;
	b->c.idle_uw[ENERGY_OTHER] = ENERGY_LEARN;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	for (int i = 0; i < 10; i++)
		assert_int_equal(tick(b), 0);
	b->use[0].cpu_ns = 5 * SEC; /* the last tick is busy */
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 2000 * WATT), 0);
	(void)energy_idle_uw(&b->node, &b->c, ENERGY_OTHER, &known);
	assert_false(known);
	b->use[0].cpu_ns = 0;
	for (int i = 0; i < 10; i++)
		assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 900 * WATT), 0);
	assert_int_equal(energy_idle_uw(&b->node, &b->c, ENERGY_OTHER, &known),
			 90 * WATT);
	assert_true(known);
}

static void
another_host_sensor_gives_no_provisional_share_before_its_first_close(void **state)
{
	struct bed *b = *state;
	b->use[0].cpu_ns = SEC;
	b->tick.host_fresh = true;
	energy_host_restart(&b->node, 1, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(close_host(b, 40 * WATT), 0);
	energy_host_restart(&b->node, 2, b->accounts, 3);
	assert_int_equal(tick(b), 0);
	assert_int_equal(energy_account_now(&b->unit[0], ENERGY_OTHER, NULL),
			 40 * WATT);
	assert_int_equal(
		energy_host_close(&b->node, &b->c, 7 * WATT, 2, b->accounts, 3, &b->w),
		0);
	assert_int_equal(tick(b), 0);
	assert_int_equal(energy_account_now(&b->unit[0], ENERGY_OTHER, NULL),
			 54 * WATT);
}

static void wrong_input_changes_nothing(void **state)
{
	struct bed *b = *state;
	struct energy_gpu_share bad = {5, 1, 0};
	b->tick.package = (struct energy_meter){1, 10 * WATT};
	b->use[0].cpu_ns = SEC;
	assert_int_equal(tick(b), 0);
	struct bed was = *b;
	b->tick.t0_ns -= 1; /* overlaps */
	assert_int_equal(tick(b), -EINVAL);
	b->tick.t0_ns = b->tick.t1_ns;
	assert_int_equal(tick(b), -EINVAL);
	b->tick = was.tick;
	b->tick.node_mcpu = 0;
	assert_int_equal(tick(b), -EINVAL);
	b->tick = was.tick;
	b->use[1].gpus = &bad;
	b->use[1].gpu_count = 1;
	assert_int_equal(tick(b), -EINVAL);
	b->use[1].gpu_count = 0;
	b->unit[0].key = 1; /* system's */
	assert_int_equal(tick(b), -EINVAL);
	b->unit[0].key = was.unit[0].key;
	assert_memory_equal(&was.node, &b->node, sizeof(was.node));
	assert_memory_equal(was.unit, b->unit, sizeof(was.unit));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(left_over_microjoules_go_to_the_largest_remainders),
		TEST(splits_do_not_overflow_at_100_kw_for_years),
		TEST(dynamic_package_energy_follows_cpu_time_and_activity),
		TEST(idle_policies_charge_whom_they_say),
		TEST(idle_memory_follows_allocated_memory_else_the_share_of_cpus),
		TEST(idle_by_usage_counts_plain_cpu_time_in_every_domain),
		TEST(edges_inside_a_tick_count_by_their_own_time),
		TEST(a_suspended_unit_pays_for_its_allocation_only),
		TEST(a_gpu_belongs_to_who_holds_it_and_shares_add_up_to_the_device),
		TEST(a_gpu_is_charged_by_what_it_took_while_it_was_held),
		TEST(a_gpus_learned_idle_power_is_charged_by_policy),
		TEST(who_shares_a_gpu_shares_what_it_took_meanwhile),
		TEST(what_is_measured_of_a_shared_gpu_divides_all_but_its_idle_power),
		TEST(the_host_sensor_includes_gpus_only_when_declared),
		TEST(a_host_interval_is_split_also_to_units_that_ended_in_it),
		TEST(without_a_package_sensor_the_host_follows_activity),
		TEST(other_follows_cpu_time_where_idle_is_not_charged_by_allocation),
		TEST(a_deficit_is_carried_and_paid_back),
		TEST(provisional_and_correction_are_the_settled_value),
		TEST(a_moment_is_no_base_for_provisional_shares),
		TEST(an_answer_that_comes_late_closes_what_was_marked),
		TEST(a_stale_host_ends_integration_and_takes_back_what_was_provisional),
		TEST(a_source_that_goes_or_changes_makes_no_jump),
		TEST(idle_power_is_learned_from_quiet_time_and_outliers_do_not_count),
		TEST(a_folded_unit_is_settled_in_ended),
		TEST(a_unit_folded_while_the_sensor_thinks_keeps_its_share),
		TEST(idle_power_of_other_is_learned_from_quiet_host_intervals),
		TEST(another_host_sensor_gives_no_provisional_share_before_its_first_close),
		TEST(wrong_input_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
