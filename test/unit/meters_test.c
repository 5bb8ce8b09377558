/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/meters.h"

#include "test/unit/energy_lab.h"

extern const struct collector *const collectors[];

static struct lab lab;
static struct meters *m;

static int up(void **state)
{
	(void)state;
	lab_init(&lab);
	m = meters_new(lab.tree.sampler, "auto");
	return m ? 0 : -1;
}

static const struct collector none = {.close = lab_close};

static int down(void **state)
{
	(void)state;
	meters_free(m);
	lab_done(&lab, &none);
	return 0;
}

static const struct meter *after(uint64_t ms, enum meters_slot slot)
{
	tree_turn_ms(ms);
	sampler_run(lab.tree.sampler);
	meters_read(m, tree_boottime());
	return meters_get(m, slot);
}

static void counters_of_a_domain_add_up_and_count_from_where_they_were(void **state)
{
	(void)state;
	lab_set(LAB_RAPL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0, 500);
	lab_set(LAB_RAPL, 1, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 1, 70);
	const struct meter *p = after(0, METERS_PACKAGE);
	assert_string_equal(meters_source_name(p->source), "rapl");
	assert_int_equal(p->energy_uj, 0);
	tree_turn_ms(1000);
	lab_add(LAB_RAPL, 0, 30);
	lab_add(LAB_RAPL, 1, 12);
	p = after(0, METERS_PACKAGE);
	assert_true(p->fresh);
	assert_int_equal(p->energy_uj, 42);
	meters_take(m, METERS_PACKAGE);
	p = after(100, METERS_PACKAGE);
	assert_false(p->fresh);
	assert_int_equal(p->energy_uj, 0);
	assert_int_equal(after(0, METERS_DRAM)->source, 0);
}

static void watts_are_integrated_between_readings(void **state)
{
	(void)state;
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 100 * WATT);
	assert_int_equal(after(0, METERS_HOST)->energy_uj, 0);
	tree_turn_ms(2000);
	lab_add(LAB_IPMI, 0, 50 * WATT);
	assert_int_equal(after(0, METERS_HOST)->energy_uj, 250 * WATT);
	/* nothing new: it is not repeated */
	assert_int_equal(after(3000, METERS_HOST)->energy_uj, 250 * WATT);
}

/* acpi_power_meter gives nothing else. */
static void averages_count_where_there_is_nothing_better(void **state)
{
	(void)state;
	lab_set(LAB_IPMI, 0, SOURCE_POWER_AVG, SOURCE_DOMAIN_HOST, 0, 100 * WATT);
	lab_set(LAB_IPMI, 1, SOURCE_POWER_AVG, SOURCE_DOMAIN_NONE, 0, 70 * WATT);
	lab_set(LAB_IPMI, 2, SOURCE_POWER_MAX, SOURCE_DOMAIN_HOST, 0, 400 * WATT);
	(void)after(0, METERS_HOST);
	tree_turn_ms(2000);
	for (size_t i = 0; i < 3; i++)
		lab_add(LAB_IPMI, i, 0);
	assert_int_equal(after(0, METERS_HOST)->energy_uj, 200 * WATT);
}

static void a_dead_sensor_ends_integration_and_begins_anew(void **state)
{
	(void)state;
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 100 * WATT);
	(void)after(0, METERS_HOST);
	tree_turn_ms(1000);
	lab_add(LAB_IPMI, 0, 0);
	assert_int_equal(after(0, METERS_HOST)->energy_uj, 100 * WATT);
	meters_take(m, METERS_HOST);
	assert_int_equal(after(30000, METERS_HOST)->source, 0);
	tree_turn_ms(10);
	lab_add(LAB_IPMI, 0, 0);
	const struct meter *h = after(0, METERS_HOST);
	assert_string_equal(meters_source_name(h->source), "ipmi_dcmi");
	assert_int_equal(h->energy_uj, 0);
}

static void a_sensor_whose_readings_come_seldom_is_no_dead_one(void **state)
{
	(void)state;
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 100 * WATT);
	lab_sensors[LAB_IPMI].news_ms = 25000;
	(void)after(0, METERS_HOST);
	tree_turn_ms(30000);
	lab_add(LAB_IPMI, 0, 0);
	assert_true(after(0, METERS_HOST)->energy_uj == 30 * 100 * WATT);
	meters_take(m, METERS_HOST);
	assert_int_equal(after(80000, METERS_HOST)->source, 0);
}

static void the_best_source_that_answers_is_taken_without_a_jump(void **state)
{
	(void)state;
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 1000000);
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 100 * WATT);
	lab_set(LAB_MODEL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 77);
	assert_string_equal(meters_source_name(after(0, METERS_HOST)->source),
			    "cray_pm_counters");
	tree_turn_ms(9000);
	lab_add(LAB_IPMI, 0, 0);
	lab_add(LAB_MODEL, 0, 5);
	(void)after(0, METERS_HOST);
	meters_take(m, METERS_HOST);
	tree_turn_ms(2000);
	lab_add(LAB_IPMI, 0, 0);
	const struct meter *h = after(0, METERS_HOST); /* Cray's is 11 s old */
	assert_string_equal(meters_source_name(h->source), "ipmi_dcmi");
	assert_int_equal(h->energy_uj, 200 * WATT);
}

static void the_host_source_can_be_chosen(void **state)
{
	(void)state;
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 0);
	lab_set(LAB_MODEL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_HOST, 0, 0);
	meters_free(m);
	m = meters_new(lab.tree.sampler, "model");
	assert_string_equal(meters_source_name(after(0, METERS_HOST)->source), "model");
	meters_free(m);
	m = meters_new(lab.tree.sampler, "none");
	assert_int_equal(after(0, METERS_HOST)->source, 0);
	assert_false(meters_any(m));
}

static void sensors_that_come_and_go_make_no_jump(void **state)
{
	(void)state;
	lab_set(LAB_RAPL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0, 10);
	lab_set(LAB_RAPL, 1, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 1, 10);
	(void)after(0, METERS_PACKAGE);
	/* socket 0 goes, so that the other one is first now */
	tree_turn_ms(1000);
	lab_sensors[LAB_RAPL].channels[0] = lab_sensors[LAB_RAPL].channels[1];
	lab_sensors[LAB_RAPL].count = 1;
	lab_add(LAB_RAPL, 0, 5);
	assert_int_equal(after(0, METERS_PACKAGE)->energy_uj, 5);
	tree_turn_ms(1000);
	lab_add(LAB_RAPL, 0, 5);
	lab_set(LAB_RAPL, 1, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0, 9000);
	assert_int_equal(after(0, METERS_PACKAGE)->energy_uj, 10);
}

static void every_gpu_is_a_meter_of_its_own(void **state)
{
	(void)state;
	lab_set(LAB_CRAY, 0, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, 0, 0);
	lab_set(LAB_CRAY, 1, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, 3, 0);
	lab_set(LAB_CRAY, 2, SOURCE_ENERGY, SOURCE_DOMAIN_GPU, 4000000, 0);
	(void)after(0, METERS_GPU);
	tree_turn_ms(1000);
	lab_add(LAB_CRAY, 0, 8);
	lab_add(LAB_CRAY, 1, 9);
	assert_int_equal(after(0, METERS_GPU)->energy_uj, 8);
	assert_int_equal(meters_get(m, METERS_GPU + 1)->source, 0);
	assert_int_equal(meters_get(m, METERS_GPU + 3)->energy_uj, 9);
	assert_int_equal(meters_cut(m), 4000000);
}

static void numbers_of_sources_are_for_ever(void **state)
{
	(void)state;
	static const char *const was[] = {"rapl",      "cray_pm_counters", "hwmon",
					  "ipmi_dcmi", "redfish",          "model"};
	for (uint32_t i = 0; i < sizeof(was) / sizeof(was[0]); i++)
		assert_int_equal(meters_source_number(was[i]), i + 1);
	assert_string_equal(meters_source_name(0), "");
	assert_string_equal(meters_source_name(UINT32_MAX), "");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
	const struct CMUnitTest tests[] = {
		T(counters_of_a_domain_add_up_and_count_from_where_they_were),
		T(watts_are_integrated_between_readings),
		T(averages_count_where_there_is_nothing_better),
		T(a_dead_sensor_ends_integration_and_begins_anew),
		T(a_sensor_whose_readings_come_seldom_is_no_dead_one),
		T(the_best_source_that_answers_is_taken_without_a_jump),
		T(the_host_source_can_be_chosen),
		T(sensors_that_come_and_go_make_no_jump),
		T(every_gpu_is_a_meter_of_its_own),
		T(numbers_of_sources_are_for_ever),
	};
	return cmocka_run_group_tests_name("meters", tests, NULL, NULL);
}
