/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Energy over a restart of the daemon: what sensors counted while none ran is divided
 * by what was used meanwhile, as far as the counters prove it. */
#include "daemon/steps_energy.h"
#include "daemon/ticker/ticker.h"
#include "daemon/ticker/usage_deltas.h"

#include "test/unit/energy_lab.h"

static struct lab lab;
static const struct collector none = {.close = lab_close};

static int up(void **state)
{
	(void)state;
	static char zero[] = "package:0,dram:0,psys:0,other:0";
	lab_init(&lab);
	lab.tree.node.options.energy_idle_watts = zero;
	ticker_free(lab.ticker);
	lab_ticker_open(&lab);
	return 0;
}

static int down(void **state)
{
	(void)state;
	lab_done(&lab, &none);
	return 0;
}

static uint64_t package_uj(void)
{
	return lab_node(&lab)->measured_uj[ENERGY_PACKAGE];
}

static uint64_t gaps(const char *source)
{
	return ticker_view(lab.ticker).gaps[meters_source_number(source)];
}

/* A package counter, and a job on one CPU that has been charged with 10 J. */
static void begin(uint64_t range_uj)
{
	lab_set(LAB_RAPL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0, 0);
	lab_sensors[LAB_RAPL].channels[0].range_uj = range_uj;
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1", 0, 1, 0);
	lab_used(&lab, "1", 0, 500);
	lab_add(LAB_RAPL, 0, 10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), 10 * WATT);
}

static void what_was_measured_over_a_restart_is_divided_by_what_was_used(void **state)
{
	(void)state;
	begin(0);
	lab_restart(&lab);
	lab_used(&lab, "1", 0, 500 + 6000);
	lab_add(LAB_RAPL, 0, 90 * WATT);
	assert_true(lab_tick(&lab, 9000, 3000));
	assert_int_equal(package_uj(), 100 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), 70 * WATT);
	assert_int_equal(lab_step_uj(&lab, "1", 0, ENERGY_PACKAGE), 70 * WATT);
	assert_int_equal(lab_node(&lab)->system.settled_uj[ENERGY_PACKAGE], 30 * WATT);
	lab_adds_up(&lab);
	lab_used(&lab, "1", 0, 500 + 6000 + 500);
	lab_add(LAB_RAPL, 0, 10 * WATT);
	assert_true(lab_tick(&lab, 1000, 500));
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), 75 * WATT);
	assert_int_equal(package_uj(), 110 * WATT);
	assert_int_equal(gaps("rapl"), 0);
	lab_adds_up(&lab);
}

static void a_job_that_came_and_went_meanwhile_has_its_energy(void **state)
{
	(void)state;
	const struct units_policy at_once = {0, 0, 2000};
	begin(0);
	lab_restart(&lab);
	tree_turn_ms(2000);
	lab_apply(&lab, RECORD_STEP_START, "2", RECORD_STEP_EXTERN, 1, 0);
	tree_turn_ms(1000);
	lab_apply(&lab, RECORD_STEP_STOP, "2", RECORD_STEP_EXTERN, 1, 1000);
	lab.cpu_ns += 1000 * NSEC_PER_MSEC;
	units_expire(lab.units, tree_boottime(), &at_once);
	lab_used(&lab, "1", 0, 500 + 3000);
	lab_add(LAB_RAPL, 0, 40 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_unit_uj(&lab, "2", ENERGY_PACKAGE), 10 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_PACKAGE), 40 * WATT);
	lab_adds_up(&lab);
}

static void one_turn_of_a_counter_is_seen(void **state)
{
	(void)state;
	begin(65 * 1000 * WATT); /* at 1 kW: 65 s */
	lab_sensors[LAB_RAPL].channels[0].raw = 64 * 1000 * WATT;
	lab_tick(&lab, 1000, 0);
	uint64_t was_uj = package_uj();
	lab_restart(&lab);
	lab_add(LAB_RAPL, 0, 30 * 1000 * WATT);
	assert_true(lab_tick(&lab, 60000, 0));
	assert_int_equal(package_uj() - was_uj, 30 * 1000 * WATT);
	assert_int_equal(gaps("rapl"), 0);
	lab_adds_up(&lab);
}

static void more_turns_than_one_are_not_guessed(void **state)
{
	(void)state;
	begin(65 * 1000 * WATT);
	lab_restart(&lab);
	lab_add(LAB_RAPL, 0, 5 * WATT);
	assert_true(lab_tick(&lab, 70000, 0));
	assert_int_equal(package_uj(), 10 * WATT);
	assert_int_equal(gaps("rapl"), 1);
	lab_add(LAB_RAPL, 0, 5 * WATT);
	assert_true(lab_tick(&lab, 1000, 100));
	assert_int_equal(package_uj(), 15 * WATT);
	lab_adds_up(&lab);
}

static void no_jump(const char *what)
{
	assert_true(lab_tick(&lab, 5000, 0));
	if (package_uj() != 10 * WATT || gaps("rapl") != 1)
		fail_msg("%s: %llu uJ, %llu gaps", what,
			 (unsigned long long)package_uj(),
			 (unsigned long long)gaps("rapl"));
	lab_add(LAB_RAPL, 0, 3 * WATT);
	assert_true(lab_tick(&lab, 1000, 100));
	assert_int_equal(package_uj(), 13 * WATT);
	lab_adds_up(&lab);
}

static void a_counter_that_was_set_back_makes_no_jump(void **state)
{
	(void)state;
	begin(0);
	lab_restart(&lab);
	lab_sensors[LAB_RAPL].channels[0].raw = 7;
	no_jump("set back");
}

static void a_counter_of_another_range_makes_no_jump(void **state)
{
	(void)state;
	begin(65 * 1000 * WATT);
	lab_restart(&lab);
	lab_sensors[LAB_RAPL].channels[0].range_uj = 262 * 1000 * WATT;
	lab_add(LAB_RAPL, 0, 5 * WATT);
	no_jump("another range");
}

static void a_leap_that_no_hardware_can_draw_is_none(void **state)
{
	(void)state;
	begin(0);
	lab_restart(&lab);
	lab_add(LAB_RAPL, 0, 1ull << 40);
	no_jump("a leap");
}

static void a_counter_that_begins_with_the_daemon_makes_no_jump(void **state)
{
	(void)state;
	begin(0);
	lab_restart(&lab);
	lab_sensors[LAB_RAPL].channels[0].worst_uw = 0;
	lab_add(LAB_RAPL, 0, 5 * WATT);
	no_jump("perf");
}

static void hardware_that_was_started_anew_makes_no_jump(void **state)
{
	(void)state;
	begin(0);
	lab_restart(&lab);
	lab_sensors[LAB_RAPL].channels[0].epoch = 1;
	lab_add(LAB_RAPL, 0, 5 * WATT);
	assert_true(lab_tick(&lab, 5000, 0) || lab_tick(&lab, 1000, 0));
	assert_int_equal(package_uj(), 10 * WATT);
	for (int i = 0; i < 60; i++)
		lab_tick(&lab, 1000, 0);
	assert_int_equal(package_uj(), 10 * WATT);
	assert_int_equal(gaps("rapl"), 1);
	lab_adds_up(&lab);
}

static void gpus_that_came_or_went_meanwhile_do_not_disturb_the_others(void **state)
{
	(void)state;
	begin(0);
	for (unsigned i = 0; i < 2; i++)
		lab_set(LAB_CRAY, i, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, i, 100 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_true(lab_tick(&lab, 1000, 0));
	lab_restart(&lab);
	lab_add(LAB_CRAY, 0, 7 * WATT);
	/* the second was taken out, a third put in */
	lab_set(LAB_CRAY, 1, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, 2, 900 * WATT);
	lab_sensors[LAB_CRAY].channels[1].value = 0;
	assert_true(lab_tick(&lab, 5000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_GPU], 7 * WATT);
	lab_add(LAB_CRAY, 0, 1 * WATT);
	lab_add(LAB_CRAY, 1, 2 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_GPU], 10 * WATT);
	lab_adds_up(&lab);
}

static void what_another_source_measured_is_not_counted_twice(void **state)
{
	(void)state;
	begin(0);
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0, 0);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_true(lab_tick(&lab, 1000, 0));
	uint64_t was_uj = package_uj();
	lab_restart(&lab);
	lab_sensors[LAB_RAPL].absent = true;
	lab_add(LAB_RAPL, 0, 50 * WATT);
	lab_add(LAB_CRAY, 0, 51 * WATT);
	for (int i = 0; i < 60; i++)
		lab_tick(&lab, 1000, 0);
	lab_add(LAB_CRAY, 0, 1 * WATT);
	lab_tick(&lab, 1000, 0);
	assert_int_equal(package_uj() - was_uj, 52 * WATT);
	lab_sensors[LAB_RAPL].absent = false;
	lab_add(LAB_RAPL, 0, 1 * WATT);
	lab_add(LAB_CRAY, 0, 1 * WATT);
	lab_tick(&lab, 1000, 0);
	lab_add(LAB_RAPL, 0, 1 * WATT);
	lab_add(LAB_CRAY, 0, 1 * WATT);
	lab_tick(&lab, 1000, 0);
	assert_true(package_uj() - was_uj <= 54 * WATT);
	lab_adds_up(&lab);
}

static void a_sensor_that_answers_late_is_waited_for_over_several_restarts(void **state)
{
	(void)state;
	begin(0);
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 1000);
	assert_true(lab_tick(&lab, 1000, 0));
	lab_add(LAB_CRAY, 0, 20 * WATT);
	assert_true(lab_tick(&lab, 1000, 100));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 20 * WATT);
	lab_sensors[LAB_CRAY].absent = true;
	for (int i = 0; i < 3; i++) {
		lab_restart(&lab);
		for (int k = 0; k < 10; k++) {
			lab_add(LAB_RAPL, 0, 1 * WATT);
			assert_true(lab_tick(&lab, 1000, 100));
			lab_adds_up(&lab);
		}
	}
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 20 * WATT);
	lab_sensors[LAB_CRAY].absent = false;
	lab_add(LAB_RAPL, 0, 1 * WATT);
	lab_add(LAB_CRAY, 0, 600 * WATT);
	assert_true(lab_tick(&lab, 1000, 100));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 620 * WATT);
	assert_int_equal(gaps("cray_pm_counters"), 0);
	lab_adds_up(&lab);
}

/* A mark of the dead daemon is of a reading that nobody will get. */
static void a_host_interval_goes_on_whole_when_its_reading_was_on_the_way(void **state)
{
	(void)state;
	begin(0);
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 0);
	assert_true(lab_tick(&lab, 1000, 0));
	lab_sensors[LAB_CRAY].absent = true;
	lab_used(&lab, "1", 0, 1500);
	lab_add(LAB_RAPL, 0, 10 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	struct energy_state *draft = units_energy_draft(lab.units);
	struct usage_deltas uses = {0};
	assert_int_equal(usage_deltas_accounts(&uses, lab.units, NULL), 0);
	energy_host_mark(&draft->node, uses.accounts, uses.account_count);
	steps_energy_mark(lab.units);
	units_energy_commit(lab.units);
	usage_deltas_done(&uses);
	lab_restart(&lab);
	lab_sensors[LAB_CRAY].absent = false;
	lab_used(&lab, "1", 0, 2500);
	lab_add(LAB_RAPL, 0, 10 * WATT);
	lab_add(LAB_CRAY, 0, 60 * WATT);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], 60 * WATT);
	assert_int_equal(lab_unit_uj(&lab, "1", ENERGY_HOST), 60 * WATT);
	assert_int_equal(lab_step_uj(&lab, "1", 0, ENERGY_HOST), 60 * WATT);
	assert_int_equal(lab_node(&lab)->marked, 0);
	lab_adds_up(&lab);
}

static void time_that_is_not_measured_teaches_no_idle_power(void **state)
{
	(void)state;
	lab.tree.node.options.energy_idle_watts = (char *)"";
	lab_restart(&lab);
	lab_set(LAB_RAPL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0, 0);
	lab_tick(&lab, 0, 0);
	for (int i = 0; i < 12; i++) {
		lab_add(LAB_RAPL, 0, 40 * WATT);
		assert_true(lab_tick(&lab, 1000, 0));
	}
	bool known;
	const struct energy_config *c = ticker_view(lab.ticker).config;
	assert_int_equal(energy_idle_uw(lab_node(&lab), c, ENERGY_PACKAGE, &known),
			 40 * WATT);
	lab_restart(&lab);
	lab_sensors[LAB_RAPL].channels[0].raw = 3;
	assert_true(lab_tick(&lab, 20000, 0));
	assert_int_equal(gaps("rapl"), 1);
	c = ticker_view(lab.ticker).config;
	assert_int_equal(energy_idle_uw(lab_node(&lab), c, ENERGY_PACKAGE, &known),
			 40 * WATT);
}

/* ---- any history ----------------------------------------------------------------- */

static uint64_t dice(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Daemons are killed at any tick and stay away for up to half a minute; counters turn;
 * jobs come, work and go all the while. */
static void a_history(uint64_t seed)
{
	uint64_t package = 0, dram = 0, host = 0;
	unsigned restarts = 0;
	char id[16];

	lab_set(LAB_RAPL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0, 0);
	lab_set(LAB_RAPL, 1, SOURCE_ENERGY, SOURCE_DOMAIN_DRAM, 0, 0);
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 5);
	lab_sensors[LAB_RAPL].channels[0].range_uj = 65535 * WATT;
	lab_sensors[LAB_RAPL].channels[1].range_uj = 65535 * WATT;
	lab_sensors[LAB_RAPL].channels[0].raw = 65000 * WATT;
	assert_true(lab_tick(&lab, 0, 0));
	for (unsigned k = 0; k < 300; k++) {
		uint64_t away_ms = 0, d = dice(&seed);
		snprintf(id, sizeof(id), "%u", (unsigned)(d % 7 + k / 50));
		if (d / 8 % 4 == 0)
			lab_apply(&lab, RECORD_STEP_STOP, id, d / 64 % 2, 1,
				  k + d % 977);
		else if (d / 8 % 4 == 1)
			lab_apply(&lab, RECORD_STEP_START, id, d / 64 % 2, 1, 0);
		if (d / 256 % 5 == 0) {
			lab_restart(&lab);
			restarts++;
			away_ms = dice(&seed) % 30000;
		}
		uint64_t ms = 900 + d % 1000 + away_ms;
		uint64_t p = dice(&seed) % (500 * 1000 * ms), r = p / 7, h = 2 * p;
		lab_add(LAB_RAPL, 0, p);
		lab_add(LAB_RAPL, 1, r);
		lab_add(LAB_CRAY, 0, h);
		package += p;
		dram += r;
		host += h;
		assert_true(lab_tick(&lab, ms, d % 100));
		lab_adds_up(&lab);
		assert_int_equal(package_uj(), package);
		assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_DRAM], dram);
		assert_int_equal(lab_node(&lab)->measured_uj[ENERGY_HOST], host);
		const struct units_policy p30 = {3000, d % 2 ? 100 : 0, 30};
		units_expire(lab.units, tree_boottime(), &p30);
	}
	assert_true(restarts > 20);
}

static void the_node_is_its_sensors_total_however_often_daemons_are_killed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		a_history(seed);
		down(NULL);
		up(NULL);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
	const struct CMUnitTest tests[] = {
		T(what_was_measured_over_a_restart_is_divided_by_what_was_used),
		T(a_job_that_came_and_went_meanwhile_has_its_energy),
		T(one_turn_of_a_counter_is_seen),
		T(more_turns_than_one_are_not_guessed),
		T(a_counter_that_was_set_back_makes_no_jump),
		T(a_counter_of_another_range_makes_no_jump),
		T(a_leap_that_no_hardware_can_draw_is_none),
		T(a_counter_that_begins_with_the_daemon_makes_no_jump),
		T(hardware_that_was_started_anew_makes_no_jump),
		T(gpus_that_came_or_went_meanwhile_do_not_disturb_the_others),
		T(what_another_source_measured_is_not_counted_twice),
		T(a_sensor_that_answers_late_is_waited_for_over_several_restarts),
		T(a_host_interval_goes_on_whole_when_its_reading_was_on_the_way),
		T(time_that_is_not_measured_teaches_no_idle_power),
		T(the_node_is_its_sensors_total_however_often_daemons_are_killed),
	};
	return cmocka_run_group_tests_name("energy_restart", tests, NULL, NULL);
}
