/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test/unit/energy_lab.h"

extern const struct collector collector_energy;
static const struct collector *const c = &collector_energy;
static struct lab lab;

static int up(void **state)
{
	(void)state;
	lab_init(&lab);
	return 0;
}

static int down(void **state)
{
	(void)state;
	lab_done(&lab, c);
	return 0;
}

static void rapl(uint64_t package_uj, uint64_t dram_uj)
{
	struct lab_sensor *s = &lab_sensors[LAB_RAPL];
	lab_set(LAB_RAPL, 0, SOURCE_ENERGY, SOURCE_DOMAIN_PACKAGE, 0,
		s->channels[0].value + package_uj);
	lab_set(LAB_RAPL, 1, SOURCE_ENERGY, SOURCE_DOMAIN_DRAM, 0,
		s->channels[1].value + dram_uj);
}

static void busy_node(void)
{
	static char idle[] = "package:8,dram:1";
	lab.tree.node.options.energy_idle_watts = idle;
	ticker_free(lab.ticker);
	lab_ticker_open(&lab);
	rapl(0, 0);
	lab_set(LAB_IPMI, 0, SOURCE_POWER, SOURCE_DOMAIN_HOST, 0, 60 * WATT);
	assert_true(lab_tick(&lab, 0, 0));
	lab_apply(&lab, RECORD_STEP_START, "1000", 0, 2, 0);
	lab_apply(&lab, RECORD_STEP_START, "1001", 0, 1, 0);
	for (uint64_t i = 1; i <= 3; i++) {
		lab_used(&lab, "1000", 0, 1000 * i);
		lab_used(&lab, "1001", 0, 301 * i);
		rapl(20000003, 1500001);
		lab_sensors[LAB_IPMI].absent = i == 3;
		assert_true(lab_tick(&lab, 1000, 100));
	}
	lab_apply(&lab, RECORD_STEP_STOP, "1001", 0, 1, 903);
}

static void a_node_with_all_domains_is_the_golden_scrape(void **state)
{
	(void)state;
	busy_node();
	node_open(&lab.tree.node, c);
	node_golden(&lab.tree.node, c, "test/golden/collector_energy.prom");
}

/* Microjoules of the sample with this beginning, summed over all that have it */
static uint64_t sum(const char *begin, const char *domain)
{
	uint64_t total = 0;
	auto_free char *text = strdup(lab.tree.node.text.data);
	assert_non_null(text);
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, begin, strlen(begin)) != 0 || !strstr(line, domain))
			continue;
		char *v = strrchr(line, ' ') + 1, *dot = strchr(v, '.');
		uint64_t uj = strtoull(v, NULL, 10) * 1000000;
		uint64_t scale = 100000;
		for (char *p = dot ? dot + 1 : NULL; p && *p; p++, scale /= 10)
			uj += (uint64_t)(*p - '0') * scale;
		total += uj;
	}
	return total;
}

static void every_scrape_adds_up_to_the_microjoule(void **state)
{
	(void)state;
	static const char *const domains[] = {"domain=\"package\"", "domain=\"dram\"",
					      "domain=\"host\"", "domain=\"other\""};
	busy_node();
	node_open(&lab.tree.node, c);
	for (unsigned k = 0; k < 50; k++) {
		rapl(7000001 + k * 31, 200003 + k);
		lab_sensors[LAB_IPMI].absent = k % 4 != 0;
		lab_used(&lab, "1000", 0, 3000 + 500 * (k + 1));
		lab_tick(&lab, 1000, 13 * (k % 7));
		assert_int_equal(node_collect(&lab.tree.node, c), 0);
		for (size_t d = 0; d < sizeof(domains) / sizeof(domains[0]); d++) {
			uint64_t node =
				sum("ceems_node_energy_joules_total{", domains[d]);
			uint64_t attributed =
				sum("ceems_node_attributed_energy_joules_total{",
				    domains[d]);
			uint64_t rest =
				sum("ceems_node_unattributed_energy_joules_total{",
				    domains[d]);
			uint64_t units = sum("ceems_compute_unit_energy_joules_total{",
					     domains[d]);
			assert_true(node > 0);
			assert_int_equal(node, attributed + rest);
			assert_int_equal(units, attributed);
		}
	}
}

static void a_folded_unit_stays_in_what_is_attributed(void **state)
{
	(void)state;
	busy_node();
	node_open(&lab.tree.node, c);
	rapl(1, 1);
	assert_true(lab_tick(&lab, 1000, 0));
	assert_int_equal(node_collect(&lab.tree.node, c), 0);
	uint64_t was = sum("ceems_node_attributed_energy_joules_total{", "package");
	const struct units_policy at_once = {0, 0, 2000};
	tree_turn_ms(20000);
	units_expire(lab.units, tree_boottime(), &at_once);
	assert_int_equal(units_used(lab.units), 1);
	assert_int_equal(node_collect(&lab.tree.node, c), 0);
	assert_null(strstr(lab.tree.node.text.data, "uuid=\"1001\""));
	assert_int_equal(sum("ceems_node_attributed_energy_joules_total{", "package"),
			 was);
}

static void short_units_have_no_series_of_their_own(void **state)
{
	(void)state;
	lab.tree.node.options.unit_min_export_ms = 10000;
	busy_node();
	node_open(&lab.tree.node, c);
	assert_int_equal(node_collect(&lab.tree.node, c), 0);
	assert_null(strstr(lab.tree.node.text.data, "uuid="));
	assert_true(sum("ceems_node_attributed_energy_joules_total{", "package") > 0);
}

static void what_was_never_measured_has_no_series(void **state)
{
	(void)state;
	node_open(&lab.tree.node, c);
	assert_int_equal(node_collect(&lab.tree.node, c), 0);
	assert_null(strstr(lab.tree.node.text.data, "ceems_"));
	rapl(0, 0);
	assert_true(lab_tick(&lab, 0, 0));
	rapl(1000, 1000);
	assert_true(lab_tick(&lab, 1000, 100));
	assert_int_equal(node_collect(&lab.tree.node, c), 0);
	assert_null(strstr(lab.tree.node.text.data, "domain=\"host\""));
	assert_non_null(strstr(lab.tree.node.text.data, "domain=\"dram\""));
}

static void without_a_table_or_a_source_it_is_off(void **state)
{
	(void)state;
	struct err err = {""};
	void *view = NULL;
	lab.tree.node.env.ticker = NULL;
	assert_int_equal(c->open(&lab.tree.node.env, &view, &err), -ENODEV);
	c->close(NULL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
	const struct CMUnitTest tests[] = {
		T(a_node_with_all_domains_is_the_golden_scrape),
		T(every_scrape_adds_up_to_the_microjoule),
		T(a_folded_unit_stays_in_what_is_attributed),
		T(short_units_have_no_series_of_their_own),
		T(what_was_never_measured_has_no_series),
		T(without_a_table_or_a_source_it_is_off),
	};
	return cmocka_run_group_tests_name("collector_energy", tests, NULL, NULL);
}
