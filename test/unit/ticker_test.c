/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <unistd.h>

#include "daemon/ticker/ticker.h"

#include "daemon/found.h"
#include "lib/fs.h"

#include "test/unit/energy_lab.h"

static struct lab lab;
static const struct collector none = {.close = lab_close};

static int up(void **state)
{
	(void)state;
	lab_init(&lab);
	return 0;
}

static int down(void **state)
{
	(void)state;
	lab_done(&lab, &none);
	return 0;
}

static void packages(uint64_t uj)
{
	if (lab_sensors[LAB_RAPL].count)
		lab_add(LAB_RAPL, 0, uj);
	else
		lab_set(LAB_RAPL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0, uj);
}

/* Idle power is 0 unless a test says otherwise. */
static void no_idle(void)
{
	static char zero[] = "package:0,dram:0,psys:0,other:0";
	lab.tree.node.options.energy_idle_watts = zero;
	ticker_free(lab.ticker);
	lab_ticker_open(&lab);
}

static void a_ticks_energy_goes_by_cpu_time_and_the_rest_is_the_systems(void **state)
{
	(void)state;
	no_idle();
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	lab_apply(&lab, RECORD_STEP_START, "2", 0, 1, 0);
	lab_used(&lab, "1", 0, 200);
	lab_used(&lab, "2", 0, 600);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 200));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), 2 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "2", ENERGY_PACKAGE), 6 * WATT);
	assert_int_equal(lab_node(&lab)->system.settled_uj[ENERGY_PACKAGE], 2 * WATT);
	lab_adds_up(&lab);
}

static void cpu_time_weighs_as_its_events_say(void **state)
{
	static uint32_t ppm[1024];
	(void)state;
	assert_in_range(units_capacity(lab.units), 2, 1024);
	for (uint32_t i = 0; i < 1024; i++)
		ppm[i] = ENERGY_ONE_PPM;
	lab.tree.node.env.activity_ppm = ppm;
	no_idle();
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	lab_apply(&lab, RECORD_STEP_START, "2", 0, 1, 0);
	ppm[lab_unit(&lab, "1")] = ENERGY_ONE_PPM / 2;
	ppm[lab_unit(&lab, "2")] = ENERGY_ONE_PPM * 3 / 2;
	lab_used(&lab, "1", 0, 400);
	lab_used(&lab, "2", 0, 400);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 200));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), 2 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "2", ENERGY_PACKAGE), 6 * WATT);
	assert_int_equal(lab_node(&lab)->system.settled_uj[ENERGY_PACKAGE], 2 * WATT);
	lab_adds_up(&lab);
}

static void nothing_used_before_the_first_tick_is_charged(void **state)
{
	(void)state;
	no_idle();
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	lab_used(&lab, "1", 0, 90000);
	lab_apply(&lab, RECORD_STEP_START, "2", 0, 1, 0);
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_used(&lab, "1", 0, 90100);
	lab_used(&lab, "2", 0, 300);
	packages(4 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), WATT);
	assert_int_equal(lab_unit_uj(&lab, "2", ENERGY_PACKAGE), 3 * WATT);
	lab_adds_up(&lab);
}

static void a_discovered_step_is_charged_from_where_it_was_found(void **state)
{
	(void)state;
	struct record r;
	no_idle();
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "9");
	r.boottime_ns = tree_boottime();
	assert_int_equal(units_apply(lab.units, &r, UINT64_MAX, tree_boottime(),
				     tree_realtime(), NULL),
			 0);
	lab_used(&lab, "9", 0, 3600000);
	lab.cpu_ns -= 3600000 * NSEC_PER_MSEC; /* the node's was long ago */
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 500));
	assert_int_equal(lab_unit_uj(&lab, "9", ENERGY_PACKAGE), 0);
	found_read_units(&lab.tree.node.env, NULL, NULL, true);
	lab_used(&lab, "9", 0, 3600500);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 500));
	assert_int_equal(lab_unit_uj(&lab, "9", ENERGY_PACKAGE), 5 * WATT);
	lab_adds_up(&lab);
}

static void a_unit_that_came_and_went_between_two_ticks_has_its_energy(void **state)
{
	(void)state;
	no_idle();
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	tree_turn_ms(300);
	lab_apply(&lab, RECORD_STEP_START, "1", RECORD_STEP_EXTERN, 1, 0);
	tree_turn_ms(4);
	lab_apply(&lab, RECORD_STEP_STOP, "1", RECORD_STEP_EXTERN, 1, 250);
	lab.cpu_ns += 250 * NSEC_PER_MSEC;
	const struct units_policy at_once = {0, 0, 2000};
	units_expire(lab.units, tree_boottime(), &at_once);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 700, 750));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), WATT * 5 / 2);
	units_expire(lab.units, tree_boottime(), &at_once);
	assert_int_equal(units_used(lab.units), 0);
	assert_int_equal(lab_node(&lab)->ended.settled_uj[ENERGY_PACKAGE],
			 WATT * 5 / 2);
	lab_adds_up(&lab);
}

static void idle_power_goes_to_who_holds_the_cpus(void **state)
{
	(void)state;
	static char idle[] = "package:8";
	lab.tree.node.options.energy_idle_watts = idle;
	ticker_free(lab.ticker);
	lab_ticker_open(&lab);
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	packages(8 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), 2 * WATT);
	assert_int_equal(lab_node(&lab)->idle.settled_uj[ENERGY_PACKAGE], 6 * WATT);
	lab_adds_up(&lab);
}

static void a_tick_waits_a_while_for_its_sensor(void **state)
{
	(void)state;
	no_idle();
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_sensors[LAB_RAPL].absent = true;
	assert_false(lab_tick(&lab, 1000, 0));
	assert_false(lab_tick(&lab, 1000, 0));
	lab_sensors[LAB_RAPL].absent = false;
	packages(6 * WATT);
	assert_true(lab_tick(&lab, 200, 1000));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_PACKAGE], 6 * WATT);
	/* gone for good: others are not held up */
	lab_sensors[LAB_RAPL].absent = true;
	assert_true(lab_tick(&lab, 3000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_PACKAGE], 6 * WATT);
	lab_adds_up(&lab);
}

static void without_any_sensor_nothing_is_ticked_and_it_begins_anew(void **state)
{
	(void)state;
	no_idle();
	assert_false(lab_tick(&lab, 1000, 0));
	packages(0);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_true(ticker_view(lab.ticker).going);
	lab_sensors[LAB_RAPL].absent = true;
	assert_true(lab_tick(&lab, 60000, 0));
	assert_false(ticker_view(lab.ticker).going);
	lab_sensors[LAB_RAPL].absent = false;
	packages(500 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	packages(5 * WATT);
	assert_true(lab_tick(&lab, 1000, 1000));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_PACKAGE], 5 * WATT);
	lab_adds_up(&lab);
}

static void the_host_is_divided_when_its_slow_sensor_has_answered(void **state)
{
	(void)state;
	no_idle();
	packages(0);
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 30 * WATT);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, LAB_CPUS, 0);
	lab_sensors[LAB_IPMI].absent = true; /* no new reading for four ticks */
	for (uint64_t i = 1; i <= 4; i++) {
		lab_used(&lab, "1", 0, 1000 * i);
		packages(10 * WATT);
		assert_true(lab_tick(&lab, 1000, 0));
		assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 0);
		lab_adds_up(&lab);
	}
	lab_sensors[LAB_IPMI].absent = false;
	lab_used(&lab, "1", 0, 5000);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 150 * WATT);
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_OTHER], 100 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_HOST), 150 * WATT);
	assert_int_equal(lab_step_uj(&lab, "1", 0, ENERGY_HOST), 150 * WATT);
	lab_adds_up(&lab);
}

static void a_host_sensor_that_dies_stops_and_another_takes_over(void **state)
{
	(void)state;
	no_idle();
	packages(0);
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 30 * WATT);
	assert_true(lab_tick(&lab, 0, 0));
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 500));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 30 * WATT);
	lab_sensors[LAB_IPMI].absent = true;
	for (int i = 0; i < 20; i++) {
		packages(10 * WATT);
		assert_true(lab_tick(&lab, 1000, 500));
	}
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 30 * WATT);
	assert_int_equal(lab_node(&lab)->source[ENERGY_HOST], ENERGY_NO_SOURCE);
	lab_adds_up(&lab);
	lab_set(LAB_MODEL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 7777 * WATT);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 500));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 30 * WATT);
	lab_add(LAB_MODEL, 0, 25 * WATT);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 500));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 55 * WATT);
	assert_string_equal(meters_source_name(lab_node(&lab)->source[ENERGY_HOST]),
			    "model");
	lab_adds_up(&lab);
}

static void with_a_host_sensor_alone_ticks_follow_it(void **state)
{
	(void)state;
	no_idle();
	lab_set(LAB_MODEL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 2, 0);
	lab_used(&lab, "1", 0, 750);
	lab_add(LAB_MODEL, 0, 100 * WATT);
	assert_true(lab_tick(&lab, 1000, 250));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 100 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_HOST), 75 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_OTHER), 75 * WATT);
	lab_adds_up(&lab);
}

static void a_model_knows_its_idle_power(void **state)
{
	(void)state;
	lab_set(LAB_MODEL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 0);
	lab_set(LAB_MODEL, 1, SOURCE_POWER_IDLE, SOURCE_DOMAIN_HOST, 0, 40 * WATT);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	lab_used(&lab, "1", 0, 750);
	lab_add(LAB_MODEL, 0, 100 * WATT);
	assert_true(lab_tick(&lab, 1000, 250));
	/* it holds one of four CPUs, and used three quarters of what was used */
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_HOST), 10 * WATT + 45 * WATT);
	assert_int_equal(lab_node(&lab)->idle.settled_uj[ENERGY_HOST], 30 * WATT);
	lab_adds_up(&lab);
	/* what is configured wins */
	static char idle[] = "other:0";
	lab.tree.node.options.energy_idle_watts = idle;
	ticker_free(lab.ticker);
	lab_ticker_open(&lab);
	assert_true(lab_tick(&lab, 1000, 0));
	lab_used(&lab, "1", 0, 1000);
	lab_add(LAB_MODEL, 0, 100 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_node(&lab)->idle.settled_uj[ENERGY_HOST], 30 * WATT);
	lab_adds_up(&lab);
}

static void steps_pay_for_their_own_cpu_time_and_the_cpus_they_hold(void **state)
{
	(void)state;
	static char idle[] = "package:8";
	lab.tree.node.options.energy_idle_watts = idle;
	ticker_free(lab.ticker);
	lab_ticker_open(&lab);
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", RECORD_STEP_EXTERN, 4, 0);
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 4, 0);
	steps_get(lab.units, steps_find(lab.units, lab_unit(&lab, "1"), 0))->cpus = 1;
	lab_apply(&lab, RECORD_STEP_START, "1", 1, 4, 0);
	steps_get(lab.units, steps_find(lab.units, lab_unit(&lab, "1"), 1))->cpus = 2;
	lab_used(&lab, "1", 0, 300);
	lab_used(&lab, "1", 1, 100);
	packages(16 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), 16 * WATT);
	/* 8 J dynamic as 3:1, 8 J idle as 1:2 of 4 CPUs; a CPU that no step holds */
	assert_int_equal(lab_step_uj(&lab, "1", 0, ENERGY_PACKAGE), (6 + 2) * WATT);
	assert_int_equal(lab_step_uj(&lab, "1", 1, ENERGY_PACKAGE), (2 + 4) * WATT);
	assert_int_equal(lab_step_uj(&lab, "1", RECORD_STEP_EXTERN, ENERGY_PACKAGE), 0);
	lab_adds_up(&lab);
}

static void gpus_are_charged_to_who_holds_them(void **state)
{
	(void)state;
	no_idle();
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, 0, 0);
	lab_set(LAB_CRAY, 1, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, 1, 0);
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	snprintf(units_get(lab.units, lab_unit(&lab, "1"))->gpus, RECORD_GPUS_MAX, "1");
	lab_add(LAB_CRAY, 0, 40 * WATT);
	lab_add(LAB_CRAY, 1, 60 * WATT);
	packages(WATT);
	assert_true(lab_tick(&lab, 1000, 100));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_GPU), 60 * WATT);
	assert_int_equal(lab_step_uj(&lab, "1", 0, ENERGY_GPU), 60 * WATT);
	assert_int_equal(lab_node(&lab)->idle.settled_uj[ENERGY_GPU], 40 * WATT);
	lab_adds_up(&lab);
}

static void hold(const char *id, const char *share)
{
	struct unit *unit = units_get(lab.units, lab_unit(&lab, id));

	snprintf(unit->gpus, sizeof(unit->gpus), "0");
	snprintf(unit->gpu_share, sizeof(unit->gpu_share), "%s", share);
}

/* slurmd -G says how many shards the device has: 3. It is not waited for. */
/* 80 intervals, in which the GPU takes 100 or 400 W and the host so much more for each
 * of its watts */
static enum host_check_result watch_host(uint64_t percent, uint64_t gpu_high)
{
	no_idle();
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, 0, 0);
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 300 * WATT);
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	for (unsigned i = 0; i < 80; i++) {
		uint64_t gpu = i % 20 < 10 ? 100 : gpu_high;
		assert_int_equal(ticker_view(lab.ticker).host_seems,
				 i < 20 ? HOST_CHECK_UNSURE
					: ticker_view(lab.ticker).host_seems);
		lab_add(LAB_CRAY, 0, gpu * WATT);
		lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0,
			(300 + gpu * percent / 100) * WATT);
		packages(100 * WATT);
		assert_true(lab_tick(&lab, 1000, 100));
	}
	return ticker_view(lab.ticker).host_seems;
}

static void a_host_that_follows_its_gpus_includes_them(void **state)
{
	(void)state;
	assert_int_equal(watch_host(105, 400), HOST_INCLUDES_GPUS);
}

static void a_host_that_does_not_is_without_them(void **state)
{
	(void)state;
	assert_int_equal(watch_host(10, 400), HOST_WITHOUT_GPUS);
}

static void of_gpus_that_always_take_the_same_nothing_is_concluded(void **state)
{
	(void)state;
	assert_int_equal(watch_host(100, 110), HOST_CHECK_UNSURE);
}

static void shards_of_a_gpu_pay_by_their_number(void **state)
{
	(void)state;
	char script[128], text[512], cwd[256];
	uint64_t was = 0;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(script, sizeof(script), "%s/slurmd", lab.tree.root);
	snprintf(text, sizeof(text),
		 "#!/bin/sh\n"
		 "cat %s/test/fixture/gpus/slurmd-G/22.05-shardnodev.txt >&2\n",
		 cwd);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, script, text, strlen(text), 0755, NULL),
		0);
	lab.tree.node.options.slurmd_path = script;
	no_idle();
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, 0, 0);
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	lab_apply(&lab, RECORD_STEP_START, "2", 0, 1, 0);
	hold("1", "shard:1");
	hold("2", "shard:2");
	for (int i = 0; i < 6000; i++) {
		uint64_t now = lab_unit_uj(&lab, "1", ENERGY_GPU);
		if (now - was == 10 * WATT)
			break;
		was = now;
		usleep(10000);
		packages(WATT);
		lab_add(LAB_CRAY, 0, 30 * WATT);
		assert_true(lab_tick(&lab, 1000, 0));
	}
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_GPU) - was, 10 * WATT);
	lab_adds_up(&lab);
}

static void a_suspended_unit_pays_for_what_it_holds_only(void **state)
{
	(void)state;
	static char idle[] = "package:4";
	lab.tree.node.options.energy_idle_watts = idle;
	ticker_free(lab.ticker);
	lab_ticker_open(&lab);
	packages(0);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	lab_apply(&lab, RECORD_STEP_START, "2", 0, 1, 0);
	lab_used(&lab, "2", 0, 1000);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), WATT);
	assert_int_equal(lab_unit_uj(&lab, "2", ENERGY_PACKAGE), 7 * WATT);
	lab_adds_up(&lab);
}

static void a_day_of_a_busy_node_adds_up_at_every_tick(void **state)
{
	(void)state;
	uint64_t seed = 7, uj = 0;
	static uint32_t ppm[1024];
	char id[16];
	assert_in_range(units_capacity(lab.units), 2, 1024);
	lab.tree.node.env.activity_ppm = ppm;
	packages(0);
	lab_set(LAB_RAPL, 1, SOURCE_ENERGY, SOURCE_DOMAIN_DRAM, 0, 0);
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 90 * WATT);
	assert_true(lab_tick(&lab, 0, 0));
	for (unsigned k = 0; k < 3000; k++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		unsigned dice = (unsigned)(seed >> 33);
		snprintf(id, sizeof(id), "%u", dice / 16 % 40 + k / 50);
		if (dice % 4 == 0)
			lab_apply(&lab, RECORD_STEP_STOP, id, dice / 4 % 4, 1,
				  k + dice % 977);
		else if (dice % 4 == 1)
			lab_apply(&lab, RECORD_STEP_START, id,
				  dice % 8 == 1 ? RECORD_STEP_EXTERN : dice / 4 % 4, 1,
				  0);
		if (k % 97 == 0)
			lab_restart(&lab);
		lab_sensors[LAB_IPMI].absent = dice % 5 != 0;
		lab_sensors[LAB_IPMI].channels[0].value = (80 + dice % 40) * WATT;
		uint64_t was = lab_node(&lab)->measured_uj[ENERGY_PACKAGE];
		lab_add(LAB_RAPL, 0, dice % 30011);
		lab_add(LAB_RAPL, 1, dice % 3001);
		ppm[dice % 1024] = 250000 + dice % 3750001;
		lab_tick(&lab, 50 + dice % 2000, dice % 100);
		assert_true(lab_node(&lab)->measured_uj[ENERGY_PACKAGE] >= was);
		lab_adds_up(&lab);
		const struct units_policy p = {5000, dice % 2 ? 100 : 0, 30};
		units_expire(lab.units, tree_boottime(), &p);
		lab_adds_up(&lab);
	}
	uj = lab_node(&lab)->measured_uj[ENERGY_PACKAGE];
	assert_true(uj > 0);
	assert_true(lab_node(&lab)->ended.settled_uj[ENERGY_PACKAGE] > 0);
	assert_true(lab_node(&lab)->measured_uj[ENERGY_HOST] > 0);
}

static void a_restart_in_the_middle_of_a_host_interval_loses_nothing_of_it(void **state)
{
	(void)state;
	no_idle();
	packages(0);
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 30 * WATT);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, LAB_CPUS, 0);
	lab_used(&lab, "1", 0, 1000);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 30 * WATT);
	lab_sensors[LAB_IPMI].absent = true;
	lab_used(&lab, "1", 0, 2000);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	lab_restart(&lab);
	/* the sensor answers only after the first ticks */
	assert_true(lab_tick(&lab, 500, 0));
	lab_used(&lab, "1", 0, 3000);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	lab_adds_up(&lab);
	lab_sensors[LAB_IPMI].absent = false;
	lab_used(&lab, "1", 0, 4000);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 135 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_HOST), 135 * WATT);
	lab_adds_up(&lab);
}

static void after_a_long_time_a_host_interval_begins_anew(void **state)
{
	(void)state;
	no_idle();
	packages(0);
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 30 * WATT);
	assert_true(lab_tick(&lab, 0, 0));
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	lab_restart(&lab);
	assert_true(lab_tick(&lab, 60000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 30 * WATT);
	packages(10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 60 * WATT);
	lab_adds_up(&lab);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
	const struct CMUnitTest tests[] = {
		T(a_ticks_energy_goes_by_cpu_time_and_the_rest_is_the_systems),
		T(cpu_time_weighs_as_its_events_say),
		T(nothing_used_before_the_first_tick_is_charged),
		T(a_discovered_step_is_charged_from_where_it_was_found),
		T(a_unit_that_came_and_went_between_two_ticks_has_its_energy),
		T(idle_power_goes_to_who_holds_the_cpus),
		T(a_tick_waits_a_while_for_its_sensor),
		T(without_any_sensor_nothing_is_ticked_and_it_begins_anew),
		T(the_host_is_divided_when_its_slow_sensor_has_answered),
		T(a_host_sensor_that_dies_stops_and_another_takes_over),
		T(with_a_host_sensor_alone_ticks_follow_it),
		T(a_restart_in_the_middle_of_a_host_interval_loses_nothing_of_it),
		T(after_a_long_time_a_host_interval_begins_anew),
		T(a_model_knows_its_idle_power),
		T(steps_pay_for_their_own_cpu_time_and_the_cpus_they_hold),
		T(gpus_are_charged_to_who_holds_them),
		T(a_host_that_follows_its_gpus_includes_them),
		T(a_host_that_does_not_is_without_them),
		T(of_gpus_that_always_take_the_same_nothing_is_concluded),
		T(shards_of_a_gpu_pay_by_their_number),
		T(a_suspended_unit_pays_for_what_it_holds_only),
		T(a_day_of_a_busy_node_adds_up_at_every_tick),
	};
	return cmocka_run_group_tests_name("ticker", tests, NULL, NULL);
}
