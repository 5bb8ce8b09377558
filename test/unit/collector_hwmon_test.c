/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/sources/hwmon_name.h"
#include "test/unit/energy_tree.h"

extern const struct collector collector_hwmon;
static const struct collector *const c = &collector_hwmon;

#define METER "devices/LNXSYSTM:00/device:00/ACPI000D:00"

static void both_layouts_are_the_golden_scrape(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/hwmon");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	tree_turn_ms(1500);
	node_golden(&t.node, c, "test/golden/collector_hwmon.prom");
	tree_done(&t, c);
}

static void sensors_come_and_go(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/hwmon");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	tree_mkdir(&t, "class/hwmon/hwmon9");
	tree_write(&t, "class/hwmon/hwmon9/name", "late\n");
	tree_write(&t, "class/hwmon/hwmon9/power7_input", "42000000\n");
	tree_remove(&t, "class/hwmon/hwmon3");
	tree_sample_after(&t, 11000);
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_non_null(
		strstr(t.node.text.data,
		       "sensor=\"power7\",chip=\"late\",chip_name=\"late\"} 42"));
	assert_null(strstr(t.node.text.data, "} 9.5"));
	/* all of them go, and one comes back */
	tree_remove(&t, "class/hwmon");
	tree_sample_after(&t, 11000);
	tree_mkdir(&t, "class/hwmon");
	tree_mkdir(&t, "class/hwmon/hwmon0");
	tree_write(&t, "class/hwmon/hwmon0/power1_input", "3000000\n");
	tree_sample_after(&t, 11000);
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_non_null(
		strstr(t.node.text.data, "chip=\"hwmon0\",chip_name=\"\"} 3\n"));
	tree_done(&t, c);
}

static void a_dead_sensor_ages_and_its_watts_end(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/hwmon");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	uint64_t then = tree_boot_ns;
	tree_write(&t, METER "/power1_average", "%s", "");
	tree_sample_after(&t, 1000);
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_non_null(strstr(t.node.text.data, "acpi000d:00"));
	for (int i = 0; i < 10; i++)
		tree_sample_after(&t, 10000);
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_null(strstr(t.node.text.data, "acpi000d:00"));
	assert_true(tree_boot_ns - then > 100 * NSEC_PER_SEC);
	tree_done(&t, c);
}

static void energy_counters_count_from_zero_and_never_fall(void **state)
{
	(void)state;
	struct energy_tree t;
	const char *path = "devices/platform/amd_energy.0/hwmon/hwmon2/energy65_input";
	tree_init(&t, "test/fixture/hwmon");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	tree_write(&t, path, "998877665644\n");
	tree_sample_after(&t, 1000);
	struct source_channel ch =
		tree_channel(&t, c->source, SOURCE_ENERGY, "energy65", 0);
	assert_true(ch.value == 100 && ch.raw == 998877665644);
	assert_int_equal(ch.domain, SOURCE_DOMAIN_PACKAGE);
	tree_write(&t, path, "5\n");
	tree_sample_after(&t, 1000);
	ch = tree_channel(&t, c->source, SOURCE_ENERGY, "energy65", 0);
	assert_true(ch.value == 100 && ch.raw == 5);
	assert_int_equal(tree_resets(&t, c->source), 1);
	tree_done(&t, c);
}

static void each_thing_counts_once(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/hwmon");
	tree_write(&t, METER "/power1_input", "360000000\n");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_POWER, "power1", 0).domain,
			 SOURCE_DOMAIN_HOST);
	struct source_snapshot s = {0};
	unsigned hosts = 0;
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	for (size_t i = 0; i < s.count; i++)
		hosts += s.channels[i].domain == SOURCE_DOMAIN_HOST;
	assert_int_equal(hosts, 1);
	/* the average counts again when the other goes */
	tree_remove(&t, METER "/power1_input");
	tree_sample_after(&t, 11000);
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	hosts = 0;
	for (size_t i = 0; i < s.count; i++)
		hosts += s.channels[i].domain == SOURCE_DOMAIN_HOST &&
			 s.channels[i].kind == SOURCE_POWER_AVG;
	assert_int_equal(hosts, 1);
	source_snapshot_done(&s);
	tree_done(&t, c);
}

static uint64_t host_uw(struct energy_tree *t)
{
	struct source_snapshot s = {0};
	uint64_t uw = 0;

	assert_int_equal(sampler_get(t->sampler, c->source, &s, NULL), 0);
	for (size_t i = 0; i < s.count; i++) {
		if (s.channels[i].domain == SOURCE_DOMAIN_HOST)
			uw += s.channels[i].value;
	}
	source_snapshot_done(&s);
	return uw;
}

static void declared_sensors_are_the_host_and_add_up(void **state)
{
	(void)state;
	static char first[] = "ina_226_rail/power1",
		    second[] = "ina_226_rail_hwmon5/power1",
		    missing[] = "no_such_chip/power1";
	char *items[] = {first, second, missing};
	struct energy_tree t;
	tree_init(&t, "test/fixture/hwmon");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	assert_true(host_uw(&t) == 353000000);
	tree_done(&t, c);
	/* by the chip, and by the driver: both of its chips */
	tree_init(&t, "test/fixture/hwmon");
	t.node.options.hwmon_host_sensors = (struct conf_list){items + 1, 1};
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	assert_true(host_uw(&t) == 7000000);
	tree_done(&t, c);
	tree_init(&t, "test/fixture/hwmon");
	t.node.options.hwmon_host_sensors = (struct conf_list){items, 1};
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	assert_true(host_uw(&t) == 12000000);
	tree_done(&t, c);
	/* one that is not there is said, the meter does not take its place */
	tree_init(&t, "test/fixture/hwmon");
	t.node.options.hwmon_host_sensors = (struct conf_list){items + 2, 1};
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	assert_true(host_uw(&t) == 0);
	struct source_snapshot s = {0};
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	assert_non_null(strstr(s.partial.text, "no_such_chip/power1: no such sensor"));
	source_snapshot_done(&s);
	tree_done(&t, c);
}

#define NEW_GPU "devices/pci0000:00/0000:00:07.1/0000:0b:00.0"

static void gpus_are_numbered_in_pci_order(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/hwmon");
	/* another one, on a bridge that sorts behind, at a lower address */
	tree_mkdir(&t, "devices/pci0000:00/0000:00:07.1");
	tree_mkdir(&t, NEW_GPU);
	tree_mkdir(&t, NEW_GPU "/hwmon");
	tree_mkdir(&t, NEW_GPU "/hwmon/hwmon8");
	tree_write(&t, NEW_GPU "/hwmon/hwmon8/name", "amdgpu\n");
	tree_write(&t, NEW_GPU "/hwmon/hwmon8/power1_average", "50000000\n");
	tree_link(&t, "../../../0000:0b:00.0", NEW_GPU "/hwmon/hwmon8/device");
	tree_link(&t, "../../" NEW_GPU "/hwmon/hwmon8", "class/hwmon/hwmon8");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	struct source_channel first =
		tree_channel(&t, c->source, SOURCE_POWER_AVG, "power1", 1);
	assert_int_equal(first.domain, SOURCE_DOMAIN_GPU);
	assert_true(first.value == 98000000);
	unsigned zero = 0;
	struct source_snapshot s = {0};
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	for (size_t i = 0; i < s.count; i++) {
		if (s.channels[i].domain != SOURCE_DOMAIN_GPU)
			continue;
		zero += s.channels[i].index == 0;
		assert_true((s.channels[i].index == 0) ==
			    (s.channels[i].value == 50000000));
	}
	assert_int_equal(zero, 1);
	source_snapshot_done(&s);
	tree_done(&t, c);
}

static void machine_without_such_sensors_is_absent(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	tree_init(&t, "test/fixture/rapl_amd");
	tree_source(&t, c->source);
	assert_int_equal(c->open(&t.node.env, &t.node.state, &err), -ENODEV);
	tree_done(&t, c);
}

static void only_power_and_energy_files_are_sensors(void **state)
{
	(void)state;
	static const struct {
		const char *file, *name;
		enum source_kind kind;
	} good[] = {{"power1_input", "power1", SOURCE_POWER},
		    {"power12_average", "power12", SOURCE_POWER_AVG},
		    {"power1_input_lowest", "power1", SOURCE_POWER_MIN},
		    {"power1_input_highest", "power1", SOURCE_POWER_MAX},
		    {"energy3_input", "energy3", SOURCE_ENERGY}};
	static const char *const bad[] = {"power_input",
					  "power1",
					  "power1_cap",
					  "power1_average_max",
					  "energy",
					  "energy1_label",
					  "temp1_input",
					  "power1x_input",
					  "powerinput",
					  "power9999999_input",
					  ""};
	char name[40];
	enum source_kind kind;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(hwmon_sensor(good[i].file, &kind, name, sizeof(name)));
		assert_string_equal(name, good[i].name);
		assert_int_equal(kind, good[i].kind);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(hwmon_sensor(bad[i], &kind, name, sizeof(name)));
}

static void sensors_count_for_what_they_measure(void **state)
{
	(void)state;
	static const struct {
		const char *chip, *label;
		enum source_kind kind;
		enum source_domain domain;
	} cases[] = {
		{"power_meter", "", SOURCE_POWER_AVG, SOURCE_DOMAIN_HOST},
		{"power_meter", "Module Power Socket 0", SOURCE_POWER,
		 SOURCE_DOMAIN_HOST},
		{"power_meter", "CPU Power Socket 0", SOURCE_POWER,
		 SOURCE_DOMAIN_PACKAGE},
		{"power_meter", "SysIO Power Socket 0", SOURCE_POWER,
		 SOURCE_DOMAIN_NONE},
		{"power_meter", "", SOURCE_POWER_MAX, SOURCE_DOMAIN_NONE},
		{"amd_energy", "Esocket1", SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE},
		{"amd_energy", "Ecore001", SOURCE_ENERGY, SOURCE_DOMAIN_NONE},
		{"amdgpu", "", SOURCE_POWER_AVG, SOURCE_DOMAIN_GPU},
		{"ina226", "", SOURCE_POWER, SOURCE_DOMAIN_NONE},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			hwmon_domain(cases[i].chip, cases[i].label, cases[i].kind),
			cases[i].domain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_layouts_are_the_golden_scrape),
		cmocka_unit_test(sensors_come_and_go),
		cmocka_unit_test(a_dead_sensor_ages_and_its_watts_end),
		cmocka_unit_test(energy_counters_count_from_zero_and_never_fall),
		cmocka_unit_test(each_thing_counts_once),
		cmocka_unit_test(declared_sensors_are_the_host_and_add_up),
		cmocka_unit_test(gpus_are_numbered_in_pci_order),
		cmocka_unit_test(machine_without_such_sensors_is_absent),
		cmocka_unit_test(only_power_and_energy_files_are_sensors),
		cmocka_unit_test(sensors_count_for_what_they_measure),
	};
	return cmocka_run_group_tests_name("collector_hwmon_test", tests, NULL, NULL);
}
