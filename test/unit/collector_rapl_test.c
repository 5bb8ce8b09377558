/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "test/unit/energy_tree.h"

extern const struct collector collector_rapl;
static const struct collector *const c = &collector_rapl;

#define CAP "class/powercap/"

static void two_sockets_are_the_golden_scrape(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/rapl_intel2");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "%llu\n",
		   258218293244ull + 250000);
	tree_write(&t, CAP "intel-rapl:1:0/energy_uj", "%llu\n", 42000001ull + 15);
	tree_sample_after(&t, 1000);
	node_golden(&t.node, c, "test/golden/collector_rapl.prom");
	tree_done(&t, c);
}

static void one_socket_with_psys_and_mmio_is_the_golden_scrape(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/rapl_intel1");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	tree_write(&t, CAP "intel-rapl:1/energy_uj", "300500000\n");
	tree_sample_after(&t, 250);
	node_golden(&t.node, c, "test/golden/collector_rapl-psys.prom");
	tree_done(&t, c);
}

static void zone_label_makes_one_family_of_all(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/rapl_amd");
	t.node.options.rapl_zone_label = true;
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	node_golden(&t.node, c, "test/golden/collector_rapl-label.prom");
	tree_done(&t, c);
}

static void counters_go_on_across_wraps(void **state)
{
	(void)state;
	struct energy_tree t;
	uint64_t max_uj = 65532610987, used = 0, at = 65000000000;
	tree_init(&t, "test/fixture/rapl_amd");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	/* 350 W, sampled each 20 s: 7 kJ, a wrap each 187 s */
	for (int i = 0; i < 100; i++) {
		used += 7000000000;
		at = (at + 7000000000) % (max_uj + 15);
		tree_write(&t, CAP "intel-rapl:0/energy_uj", "%llu\n",
			   (unsigned long long)at);
		tree_sample_after(&t, 20000);
	}
	struct source_channel ch =
		tree_channel(&t, c->source, SOURCE_ENERGY, "package", 0);
	assert_true(ch.value == used);
	assert_true(ch.raw == at);
	assert_int_equal(ch.domain, SOURCE_DOMAIN_PACKAGE);
	assert_int_equal(tree_resets(&t, c->source), 0);
	assert_true(sampler_period_ms(t.sampler, c->source) == 1000);
	tree_done(&t, c);
}

static void sampler_is_told_to_come_before_a_wrap(void **state)
{
	(void)state;
	struct energy_tree t;
	const struct source *s = c->source;
	tree_init(&t, "test/fixture/rapl_amd");
	assert_int_equal(sampler_new(&t.node.env, 60000, &s, 1, &t.sampler, NULL), 0);
	t.node.env.sampler = t.sampler;
	assert_true(sampler_period_ms(t.sampler, s) <= 65532 / 3);
	assert_true(sampler_period_ms(t.sampler, s) > 20000);
	tree_done(&t, c);
}

static void odd_zones_cost_only_themselves(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/rapl_odd");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	node_golden(&t.node, c, "test/golden/collector_rapl-odd.prom");
	/* the file comes to its senses */
	tree_write(&t, CAP "intel-rapl:4/energy_uj", "4000\n");
	tree_sample_after(&t, 11000);
	tree_write(&t, CAP "intel-rapl:4/energy_uj", "4500\n");
	tree_sample_after(&t, 1000);
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "package", 4).value ==
		    500);
	tree_done(&t, c);
}

static void a_zone_that_vanishes_ages_and_one_that_returns_does_not_jump(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/rapl_intel2");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "258218293344\n");
	tree_write(&t, CAP "intel-rapl:1/energy_uj", "130570505926\n");
	tree_sample_after(&t, 1000);
	uint64_t then = tree_boot_ns;
	/* shrinks to nothing: what an open file of a gone driver gives */
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "%s", "");
	tree_write(&t, CAP "intel-rapl:1/energy_uj", "130570506026\n");
	tree_sample_after(&t, 1000);
	struct source_channel gone =
		tree_channel(&t, c->source, SOURCE_ENERGY, "package", 0);
	assert_true(gone.measured_ns == then && gone.value == 100);
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "package", 1).value ==
		    200);
	tree_remove(&t, CAP "intel-rapl:0/energy_uj");
	tree_sample_after(&t, 1000);
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "77\n");
	tree_sample_after(&t, 11000);
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "80\n");
	tree_sample_after(&t, 1000);
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "package", 0).value ==
		    103);
	assert_int_equal(tree_resets(&t, c->source), 0);
	tree_done(&t, c);
}

static void an_open_file_outlives_its_permissions(void **state)
{
	(void)state;
	struct energy_tree t;
	char path[128];
	tree_init(&t, "test/fixture/rapl_amd");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	snprintf(path, sizeof(path), "%s/sys/" CAP "intel-rapl:0/energy_uj", t.root);
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "65000000500\n");
	assert_int_equal(chmod(path, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(path, 4242, 4242), 0);
	tree_sample_after(&t, 1000);
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "package", 0).value ==
		    500);
	tree_done(&t, c);
}

static void backwards_and_leaping_counters_are_counted_as_resets(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/rapl_intel1");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "119999999\n");
	tree_sample_after(&t, 1000);
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "%llu\n",
		   119999999 + (1ull << 32));
	tree_sample_after(&t, 1000);
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "18446744073709551615\n");
	tree_sample_after(&t, 1000);
	/* more than 64 bits hold: unreadable, not a number */
	tree_write(&t, CAP "intel-rapl:0/energy_uj", "18446744073709551616\n");
	tree_sample_after(&t, 1000);
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "package", 0).value ==
		    0);
	assert_int_equal(tree_resets(&t, c->source), 3);
	tree_done(&t, c);
}

static void counters_that_never_move_are_no_rapl(void **state)
{
	(void)state;
	struct energy_tree t;
	struct source_snapshot s = {0};
	tree_init(&t, "test/fixture/rapl_intel2");
	tree_open(&t, c);
	for (int i = 0; i < 12; i++)
		tree_sample_after(&t, 1000);
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	assert_int_equal(s.count, 0);
	assert_non_null(strstr(s.partial.text, "no RAPL here"));
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_null(strstr(t.node.text.data, "ceems_rapl"));
	/* and one that moves after all is one */
	tree_write(&t, CAP "intel-rapl:1/energy_uj", "130570505836\n");
	tree_sample_after(&t, 1000);
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "package", 1).value ==
		    10);
	source_snapshot_done(&s);
	tree_done(&t, c);
}

static void machine_without_powercap_is_absent(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	tree_init(&t, "test/fixture/hwmon");
	tree_source(&t, c->source);
	assert_int_equal(c->open(&t.node.env, &t.node.state, &err), -ENODEV);
	tree_done(&t, c);
}

static int forbid(const char *path)
{
	return chmod(path, 0);
}

static void files_for_root_only_are_named(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	if (geteuid() == 0) {
		skip();
		return;
	}
	tree_init(&t, "test/fixture/rapl_intel2");
	tree_each(&t, CAP "*/energy_uj", forbid);
	tree_source(&t, c->source);
	assert_int_equal(c->open(&t.node.env, &t.node.state, &err), -EACCES);
	assert_non_null(strstr(err.text, "energy_uj"));
	tree_done(&t, c);
}

static uint64_t msr_capabilities, msr_control;
static int fake_msr(unsigned cpu, uint32_t msr, uint64_t *ret)
{
	assert_int_equal(cpu, 0);
	if (msr == 0x10a)
		*ret = msr_capabilities;
	else if (msr == 0xbc && msr_capabilities)
		*ret = msr_control;
	else
		return -EIO;
	return 0;
}

static void shows_whether_the_hardware_blurs_its_counters(void **state)
{
	(void)state;
	static const struct {
		bool known;
		uint64_t capabilities, control;
		const char *shows;
	} cases[] = {
		{false, 0, 0, NULL},
		{true, 0, 1, "ceems_rapl_energy_filtering{hostname=\"host\"} 0\n"},
		{true, 1 << 11, 0,
		 "ceems_rapl_energy_filtering{hostname=\"host\"} 0\n"},
		{true, 1 << 11, 1,
		 "ceems_rapl_energy_filtering{hostname=\"host\"} 1\n"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct energy_tree t;
		tree_init(&t, "test/fixture/rapl_intel2");
		msr_capabilities = cases[i].capabilities;
		msr_control = cases[i].control;
		t.node.env.read_msr = cases[i].known ? fake_msr : NULL;
		tree_open(&t, c);
		tree_sample_after(&t, 0);
		assert_int_equal(node_collect(&t.node, c), 0);
		if (cases[i].shows)
			assert_non_null(strstr(t.node.text.data, cases[i].shows));
		else
			assert_null(strstr(t.node.text.data, "energy_filtering"));
		tree_done(&t, c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_sockets_are_the_golden_scrape),
		cmocka_unit_test(one_socket_with_psys_and_mmio_is_the_golden_scrape),
		cmocka_unit_test(zone_label_makes_one_family_of_all),
		cmocka_unit_test(counters_go_on_across_wraps),
		cmocka_unit_test(sampler_is_told_to_come_before_a_wrap),
		cmocka_unit_test(odd_zones_cost_only_themselves),
		cmocka_unit_test(
			a_zone_that_vanishes_ages_and_one_that_returns_does_not_jump),
		cmocka_unit_test(an_open_file_outlives_its_permissions),
		cmocka_unit_test(backwards_and_leaping_counters_are_counted_as_resets),
		cmocka_unit_test(counters_that_never_move_are_no_rapl),
		cmocka_unit_test(machine_without_powercap_is_absent),
		cmocka_unit_test(files_for_root_only_are_named),
		cmocka_unit_test(shows_whether_the_hardware_blurs_its_counters),
	};
	return cmocka_run_group_tests_name("collector_rapl_test", tests, NULL, NULL);
}
