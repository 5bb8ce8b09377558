/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of raw events, on nodes with CPUs and PMUs of all kinds. */
#include "daemon/groups/perf_figures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/groups/unit_hardware.h"
#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define TABLE "contrib/perf/raw_events.yaml"

static char folder[SCRATCH_PATH];
static int rootfd;
static struct perf_figures f;
static struct buf notes;
static struct err err;

static void put_file(const char *path, const char *text)
{
	char at[512];

	for (const char *p = path; (p = strchr(p, '/')); p++) {
		(void)snprintf(at, sizeof(at), "%.*s", (int)(p - path), path);
		(void)mkdirat(rootfd, at, 0755);
	}
	assert_int_equal(
		fs_write_atomic_at(rootfd, path, text, strlen(text), 0644, &err), 0);
}

static void put_cpu(const char *vendor, unsigned family, unsigned model)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %u\n"
		       "model\t\t: %u\nmodel name\t: some\n\nprocessor\t: 1\n"
		       "vendor_id\t: other\n",
		       vendor, family, model);
	put_file("cpuinfo", text);
}

static int open_node(void **state)
{
	(void)state;
	scratch_make(folder);
	rootfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_true(rootfd >= 0);
	put_file("bus/event_source/devices/cpu/type", "4\n");
	put_file("bus/event_source/devices/uncore_imc_0/type", "20\n");
	put_file("bus/event_source/devices/uncore_imc_0/cpumask", "0\n");
	put_cpu("AuthenticAMD", 25, 17);
	return 0;
}

static int close_node(void **state)
{
	(void)state;
	perf_figures_done(&f);
	buf_done(&notes);
	close(rootfd);
	scratch_remove(folder);
	return 0;
}

static int load_text(const char *text)
{
	char path[512];

	put_file("figures.yaml", text);
	(void)snprintf(path, sizeof(path), "%s/figures.yaml", folder);
	perf_figures_done(&f);
	buf_reset(&notes);
	return perf_figures_load(path, rootfd, rootfd, &f, &notes, &err);
}

static void a_figure_has_the_events_of_this_nodes_cpu(void **state)
{
	(void)state;
	assert_int_equal(
		load_text("cpus:\n"
			  "  - {vendor: GenuineIntel, figures: [{name: a, events: "
			  "[{}]}]}\n"
			  "  - {vendor: AuthenticAMD, family: 25, models: [0, "
			  "0x20-0x2f],\n"
			  "     figures: [{name: b, events: [{config: 1}]}]}\n"
			  "  - name: this\n"
			  "    family: 0x19\n"
			  "    models: [0x10-0x1f]\n"
			  "    figures:\n"
			  "      - name: c\n"
			  "        events:\n"
			  "          - {config: 0x1f03, config1: 7, config2: 0xff}\n"
			  "          - {pmu: cpu, config: 2, weight: 64}\n"
			  "      - {name: d, events: [{config: 3, group: c}, {config: "
			  "4}]}\n"),
		0);
	assert_string_equal(f.cpu, "this");
	assert_int_equal(f.count, 2);
	assert_string_equal(f.figure[1].name, "d");
	assert_string_equal(f.text, "4:7939:7:255:1,4:2:0:0:0,4:3:0:0:0,4:4:0:0:1");
	assert_int_equal(f.figure[0].events, 3u << HARDWARE_RAW);
	assert_int_equal(f.figure[1].events, 12u << HARDWARE_RAW);
	assert_int_equal(f.weight[0], 1);
	assert_int_equal(f.weight[1], 64);
	assert_int_equal(notes.len, 0);
}

static void a_figure_without_its_pmu_is_left_out(void **state)
{
	(void)state;
	assert_int_equal(
		load_text("cpus: [{figures: [{name: a, events: [{config: 1}, "
			  "{pmu: cpu_core}]},\n"
			  "{name: b, events: [{pmu: uncore_imc_0}]}, {name: c, events: "
			  "[{config: 9, weight: 2}]}]}]\n"),
		0);
	assert_int_equal(f.count, 1);
	assert_string_equal(f.figure[0].name, "c");
	assert_string_equal(f.text, "4:9:0:0:1");
	assert_int_equal(f.weight[0], 2);
	assert_string_equal(notes.data, "a: this node has no PMU cpu_core\n"
					"b: PMU uncore_imc_0 counts for a whole "
					"package, which has no units: it "
					"belongs to node_figures\n");
}

static void a_figure_of_the_node_is_of_pmus_of_packages_alone(void **state)
{
	(void)state;
	put_file("bus/event_source/devices/uncore_imc_1/type", "21\n");
	put_file("bus/event_source/devices/uncore_imc_1/cpumask", "0\n");
	put_file("bus/event_source/devices/uncore_upi/type", "22\n");
	put_file("bus/event_source/devices/uncore_upi/cpumask", "0,18\n");
	assert_int_equal(
		load_text(
			"cpus: [{node_figures: [{name: a, events: [{pmu: uncore_imc_0, "
			"config: 4, weight: 64},\n"
			"{pmu: uncore_imc_1, config: 4, config1: 3}]}, {name: b, "
			"events: [{config: 9}]},\n"
			"{name: c, events: [{pmu: uncore_imc_0}, {pmu: uncore_upi}]}, "
			"{name: d, events: [{pmu: uncore_upi}]},\n"
			"{name: e, events: [{pmu: uncore_gone}]}],\n"
			"figures: [{name: a, events: [{config: 1}]}]}]\n"),
		0);
	assert_int_equal(f.count, 1);
	assert_string_equal(f.text, "4:1:0:0:1");
	assert_int_equal(f.node_count, 2);
	assert_int_equal(f.node_events, 3);
	assert_int_equal(f.node_figure[0].count, 2);
	assert_int_equal(f.node_figure[0].cpu_count, 1);
	assert_int_equal(f.node_event[1].raw.type, 21);
	assert_int_equal(f.node_event[1].raw.config1, 3);
	assert_int_equal(f.node_event[0].weight, 64);
	assert_int_equal(f.node_figure[1].first, 2);
	assert_int_equal(f.node_figure[1].cpus[1], 18);
	assert_string_equal(notes.data,
			    "b: PMU cpu does not count for a whole package (it has no "
			    "cpumask): it belongs to figures\n"
			    "c: PMUs uncore_imc_0 and uncore_upi are read on different "
			    "CPUs\n"
			    "e: this node has no PMU uncore_gone\n");
	assert_int_equal(load_text("cpus: [{node_figures: [{name: a, events: [{pmu: "
				   "uncore_imc_0, group: x}]}]}]"),
			 -EINVAL);
	assert_non_null(strstr(err.text, "no groups in node_figures"));
}

static void without_a_section_there_are_no_figures(void **state)
{
	(void)state;
	put_file("cpuinfo", "processor : 0\nBogoMIPS : 100\n");
	assert_int_equal(load_text("cpus: [{vendor: AuthenticAMD, figures: [{name: a, "
				   "events: [{}]}]}]"),
			 0);
	assert_null(f.cpu);
	assert_int_equal(f.count, 0);
	assert_string_equal(f.text, "");
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "no cpus in it"},
		{"cpu: []", "unknown key: cpu"},
		{"cpus: [{figures: [{name: a, events: [{cofnig: 1}]}]}]",
		 "unknown key: cofnig"},
		{"cpus: [{figures: [{name: a, events: [{config: 0xg}]}]}]", "config"},
		{"cpus: [{figures: [{name: a, events: [{config: -1}]}]}]", "config"},
		{"cpus: [{figures: [{name: a, events: [{weight: 0}]}]}]", "weight"},
		{"cpus: [{figures: [{name: a, events: [{pmu: ../x}]}]}]", "pmu"},
		{"cpus: [{figures: [{name: A b, events: [{}]}]}]", "name"},
		{"cpus: [{figures: [{name: a}]}]", "needs a name and events"},
		{"cpus: [{figures: [{name: a, events: [{}]}, {name: a, events: "
		 "[{}]}]}]",
		 "two figures of this name"},
		{"cpus: [{models: [9-3]}]", "models"},
		{"cpus: [{figures: [{name: a, events: [{},{},{},{},{},{},{}]}, "
		 "{name: b, events: [{},{},{},{},{},{}]}]}]",
		 "more than 12 events"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(load_text(cases[i].text) < 0);
		if (!strstr(err.text, cases[i].says))
			fail_msg("\"%s\" in: %s", cases[i].says, err.text);
	}
	assert_true(perf_figures_load("/nonexistent", rootfd, rootfd, &f, &notes,
				      &err) < 0);
}

static void a_value_needs_all_of_its_events(void **state)
{
	struct hardware_total t = {.ran = 7u << HARDWARE_RAW,
				   .events = 3u << HARDWARE_RAW};
	uint64_t v = 0;

	(void)state;
	assert_int_equal(
		load_text("cpus: [{figures: [{name: a, events: [{config: 1, "
			  "weight: 4}, {config: 2, weight: 8}, {config: 3}]}]}]"),
		0);
	t.values[HARDWARE_RAW] = 10;
	t.values[HARDWARE_RAW + 1] = 1;
	/* the third ran, and never counted anything on this node */
	assert_true(perf_figure_value(&f, 0, &t, &v));
	assert_int_equal(v, 48);
	t.events = 0;
	assert_false(perf_figure_value(&f, 0, &t, &v));
	t.events = 3u << HARDWARE_RAW;
	t.ran = 3u << HARDWARE_RAW;
	assert_false(perf_figure_value(&f, 0, &t, &v));
}

static void the_table_that_comes_with_it_is_sound(void **state)
{
	static const struct {
		const char *vendor;
		unsigned family, model;
		const char *cpu, *text;
	} cases[] = {
		{"AuthenticAMD", 23, 49, "AMD Zen 2", "4:65283:0:0:1"},
		{"AuthenticAMD", 25, 1, "AMD Zen 3", "4:65283:0:0:1,4:18500:0:0:1"},
		{"AuthenticAMD", 25, 17, "AMD Zen 4", "4:7939:0:0:1,4:18500:0:0:1"},
		{"AuthenticAMD", 26, 2, "AMD Zen 5", "4:3843:0:0:1,4:18500:0:0:1"},
		{"GenuineIntel", 6, 85, "Intel Skylake and Cascade Lake",
		 "4:967:0:0:1,4:1223:0:0:0,4:6343:0:0:0,4:24775:0:0:0,4:32967:0:0:0"},
		{"GenuineIntel", 6, 106, "Intel Ice Lake",
		 "4:967:0:0:1,4:1223:0:0:0,4:6343:0:0:0,4:24775:0:0:0,4:32967:0:0:0,"
		 "4:439:31071405175:0:1"},
		{"GenuineIntel", 6, 143, "Intel Sapphire and Emerald Rapids",
		 "4:967:0:0:1,4:1223:0:0:0,4:6343:0:0:0,4:24775:0:0:0,4:32967:0:0:0,"
		 "4:298:31071421559:0:1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_cpu(cases[i].vendor, cases[i].family, cases[i].model);
		perf_figures_done(&f);
		if (perf_figures_load(TABLE, rootfd, rootfd, &f, &notes, &err) < 0)
			fail_msg("%s", err.text);
		assert_non_null(f.cpu);
		assert_string_equal(f.cpu, cases[i].cpu);
		assert_string_equal(f.text, cases[i].text);
	}
	put_cpu("AuthenticAMD", 21, 2);
	perf_figures_done(&f);
	assert_int_equal(perf_figures_load(TABLE, rootfd, rootfd, &f, &notes, &err), 0);
	assert_null(f.cpu);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	static const struct CMUnitTest tests[] = {
		TEST(a_figure_has_the_events_of_this_nodes_cpu),
		TEST(a_figure_without_its_pmu_is_left_out),
		TEST(a_figure_of_the_node_is_of_pmus_of_packages_alone),
		TEST(without_a_section_there_are_no_figures),
		TEST(mistakes_are_named),
		TEST(a_value_needs_all_of_its_events),
		TEST(the_table_that_comes_with_it_is_sound),
	};
	return cmocka_run_group_tests_name("perf_figures", tests, NULL, NULL);
}
