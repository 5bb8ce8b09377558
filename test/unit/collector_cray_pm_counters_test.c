/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/sources/cray_text.h"
#include "test/unit/energy_tree.h"

extern const struct collector collector_cray_pm_counters;
static const struct collector *const c = &collector_cray_pm_counters;

#define PM "cray/pm_counters/"
#define T0 1734094386462336ull /* of the fixture */

static void all_domains_are_the_golden_scrape(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/cray");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	node_golden(&t.node, c, "test/golden/collector_cray_pm_counters.prom");
	tree_done(&t, c);
}

static void energy_at(struct energy_tree *t, uint64_t freshness, uint64_t joules,
		      uint64_t us)
{
	tree_write(t, PM "freshness", "%llu\n", (unsigned long long)freshness);
	tree_write(t, PM "energy", "%llu J %llu us\n", (unsigned long long)joules,
		   (unsigned long long)us);
}

static struct source_channel node_energy(struct energy_tree *t)
{
	return tree_channel(t, c->source, SOURCE_ENERGY, "node", 0);
}

static void measurements_stand_at_the_controllers_time(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/cray");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	/* the tree's wall clock stands at 1734094387 */
	uint64_t ago_ns = (1734094387000000 - T0) * 1000;
	assert_true(node_energy(&t).measured_ns == tree_boot_ns - ago_ns);
	energy_at(&t, 1244, 45123456 + 541, T0 + 1000000);
	tree_sample_after(&t, 1000);
	assert_true(node_energy(&t).measured_ns == tree_boot_ns - ago_ns);
	assert_true(node_energy(&t).value == 541000000);
	assert_int_equal(node_energy(&t).domain, SOURCE_DOMAIN_HOST);
	/* a wall clock that is hours off cannot place it */
	tree_real_ns += 7200 * NSEC_PER_SEC;
	energy_at(&t, 1254, 45123456 + 1082, T0 + 2000000);
	tree_sample_after(&t, 1000);
	assert_true(node_energy(&t).measured_ns == tree_boot_ns);
	assert_true(node_energy(&t).value == 1082000000);
	tree_done(&t, c);
}

static void each_thing_counts_once(void **state)
{
	(void)state;
	static const struct {
		enum source_kind kind;
		const char *name;
		uint32_t index;
		enum source_domain domain;
	} cases[] = {{SOURCE_ENERGY, "node", 0, SOURCE_DOMAIN_HOST},
		     {SOURCE_POWER, "node", 0, SOURCE_DOMAIN_NONE},
		     {SOURCE_ENERGY, "cpu", 0, SOURCE_DOMAIN_PACKAGE},
		     {SOURCE_ENERGY, "cpu0", 0, SOURCE_DOMAIN_NONE},
		     {SOURCE_POWER, "cpu0", 0, SOURCE_DOMAIN_NONE},
		     {SOURCE_ENERGY, "memory", 0, SOURCE_DOMAIN_DRAM},
		     {SOURCE_ENERGY, "accel3", 3, SOURCE_DOMAIN_GPU},
		     {SOURCE_POWER_LIMIT, "accel3", 3, SOURCE_DOMAIN_NONE}};
	struct energy_tree t;
	tree_init(&t, "test/fixture/cray");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(tree_channel(&t, c->source, cases[i].kind,
					      cases[i].name, cases[i].index)
					 .domain,
				 cases[i].domain);
	tree_done(&t, c);
	/* watts count where there is no counter */
	tree_init(&t, "test/fixture/cray");
	tree_remove(&t, PM "energy");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_POWER, "node", 0).domain,
			 SOURCE_DOMAIN_HOST);
	tree_done(&t, c);
}

static void a_controller_that_stands_still_ages(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/cray");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	uint64_t then = node_energy(&t).measured_ns;
	for (int i = 0; i < 30; i++)
		tree_sample_after(&t, 5000);
	assert_true(node_energy(&t).measured_ns == then);
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_null(strstr(t.node.text.data, "ceems_cray_pm_counters"));
	assert_non_null(strstr(t.node.text.data,
			       "ceems_energy_source_age_seconds{source=\"cray_pm_"
			       "counters\"} 150.537\n"));
	tree_done(&t, c);
}

static void a_restarted_controller_makes_no_jump(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/cray");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	energy_at(&t, 1244, 45123456 + 500, T0 + 1000000);
	tree_sample_after(&t, 1000);
	tree_write(&t, PM "startup", "1733999999\n");
	energy_at(&t, 3, 12, T0 + 2000000);
	tree_sample_after(&t, 1000);
	assert_true(node_energy(&t).value == 500000000);
	energy_at(&t, 13, 112, T0 + 3000000);
	tree_sample_after(&t, 1000);
	assert_true(node_energy(&t).value == 600000000);
	assert_int_equal(tree_resets(&t, c->source), 1);
	tree_done(&t, c);
}

/* The controller writes while the files are read: so many times still. */
static unsigned writes_left;
static struct energy_tree *written;
static uint64_t written_freshness;

ssize_t __real_fs_read_at(int dirfd, const char *path, char *buf, size_t size,
			  struct err *err);
ssize_t __wrap_fs_read_at(int dirfd, const char *path, char *buf, size_t size,
			  struct err *err);
ssize_t __wrap_fs_read_at(int dirfd, const char *path, char *buf, size_t size,
			  struct err *err)
{
	ssize_t n = __real_fs_read_at(dirfd, path, buf, size, err);
	if (writes_left && strcmp(path, "energy") == 0) {
		writes_left--;
		written_freshness++;
		energy_at(written, written_freshness,
			  45123456 + written_freshness - 2000, T0 + written_freshness);
	}
	return n;
}

static void a_reading_across_a_write_is_made_again(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/cray");
	written = &t;
	written_freshness = 2000;
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	uint64_t then = node_energy(&t).measured_ns;
	writes_left = 1;
	tree_sample_after(&t, 1000);
	assert_int_equal(writes_left, 0);
	/* what the second reading found, not the first */
	assert_true(node_energy(&t).value == 1000000);
	assert_true(node_energy(&t).measured_ns > then);
	then = node_energy(&t).measured_ns;
	/* never quiet: nothing is taken, and it ages */
	writes_left = 1000;
	tree_sample_after(&t, 1000);
	assert_true(writes_left > 990);
	assert_true(node_energy(&t).value == 1000000);
	assert_true(node_energy(&t).measured_ns == then);
	writes_left = 0;
	tree_sample_after(&t, 1000);
	assert_true(node_energy(&t).value == (written_freshness - 2000) * 1000000);
	tree_done(&t, c);
}

static void a_new_generation_takes_the_new_cap(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/cray");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	tree_write(&t, PM "generation", "17\n");
	tree_write(&t, PM "freshness", "1245\n");
	tree_write(&t, PM "power_cap", "1900 W %llu us\n", T0 + 1000000);
	tree_sample_after(&t, 1000);
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_non_null(strstr(t.node.text.data, "ceems_cray_pm_counters_power_limit_"
						 "watts{hostname=\"host\",domain="
						 "\"node\"} 1900\n"));
	tree_done(&t, c);
}

static void older_files_without_times_go_by_freshness(void **state)
{
	(void)state;
	struct energy_tree t;
	tree_init(&t, "test/fixture/cray");
	tree_write(&t, PM "energy", "1000 J\n");
	tree_open(&t, c);
	tree_sample_after(&t, 0);
	uint64_t then = tree_boot_ns;
	tree_sample_after(&t, 1000);
	assert_true(node_energy(&t).measured_ns == then);
	tree_write(&t, PM "freshness", "1244\n");
	tree_write(&t, PM "energy", "1100 J\n");
	tree_sample_after(&t, 1000);
	assert_true(node_energy(&t).measured_ns == tree_boot_ns);
	assert_true(node_energy(&t).value == 100000000);
	tree_done(&t, c);
}

static void bad_files_cost_only_themselves(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"\n",
		"watts\n",
		"-5 J 1 us\n",
		"5 W 1 us\n",
		"5 J 1 ms\n",
		"5 J x us\n",
		"99999999999999999999 J 1 us\n",
		"18446744073709551615 J 9999999999999999 us\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct energy_tree t;
		tree_init(&t, "test/fixture/cray");
		tree_open(&t, c);
		tree_sample_after(&t, 0);
		tree_write(&t, PM "energy", "%s", texts[i]);
		tree_write(&t, PM "power", "600 W %llu us\n", T0 + 1000000);
		tree_sample_after(&t, 1000);
		assert_true(node_energy(&t).value == 0);
		assert_true(tree_channel(&t, c->source, SOURCE_POWER, "node", 0).raw ==
			    600000000);
		tree_remove(&t, PM "energy");
		tree_sample_after(&t, 1000);
		assert_true(node_energy(&t).value == 0);
		tree_done(&t, c);
	}
}

static void machine_without_pm_counters_is_absent(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	tree_init(&t, "test/fixture/hwmon");
	tree_source(&t, c->source);
	assert_int_equal(c->open(&t.node.env, &t.node.state, &err), -ENODEV);
	tree_done(&t, c);
}

static void file_names_are_split(void **state)
{
	(void)state;
	static const struct {
		const char *file, *domain;
		enum source_kind kind;
		uint32_t index;
	} good[] = {{"energy", "node", SOURCE_ENERGY, 0},
		    {"power_cap", "node", SOURCE_POWER_LIMIT, 0},
		    {"accel3_power_cap", "accel3", SOURCE_POWER_LIMIT, 3},
		    {"cpu_power", "cpu", SOURCE_POWER, 0},
		    {"cpu1_temp", "cpu1", SOURCE_TEMPERATURE, 1},
		    {"memory_energy", "memory", SOURCE_ENERGY, 0}};
	static const char *const bad[] = {"freshness",
					  "generation",
					  "startup",
					  "version",
					  "raw_scan_hz",
					  "accel_",
					  "accelx_power",
					  "gpu0_power",
					  "_power",
					  "cpu__power",
					  "accel99999999999_power",
					  ""};
	char domain[CRAY_DOMAIN_BYTES];
	enum source_kind kind;
	uint32_t index;
	bool numbered;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(cray_file(good[i].file, domain, &kind, &index, &numbered));
		assert_string_equal(domain, good[i].domain);
		assert_int_equal(kind, good[i].kind);
		assert_int_equal(index, good[i].index);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(cray_file(bad[i], domain, &kind, &index, &numbered));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_domains_are_the_golden_scrape),
		cmocka_unit_test(measurements_stand_at_the_controllers_time),
		cmocka_unit_test(each_thing_counts_once),
		cmocka_unit_test(a_controller_that_stands_still_ages),
		cmocka_unit_test(a_restarted_controller_makes_no_jump),
		cmocka_unit_test(a_reading_across_a_write_is_made_again),
		cmocka_unit_test(a_new_generation_takes_the_new_cap),
		cmocka_unit_test(older_files_without_times_go_by_freshness),
		cmocka_unit_test(bad_files_cost_only_themselves),
		cmocka_unit_test(machine_without_pm_counters_is_absent),
		cmocka_unit_test(file_names_are_split),
	};
	return cmocka_run_group_tests_name("collector_cray_pm_counters_test", tests,
					   NULL, NULL);
}
