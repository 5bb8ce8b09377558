/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/node/proc_parse.h"
#include "test/unit/node.h"
#include "test/unit/scratch.h"

extern const struct collector collector_cpu;
static const struct collector *const c = &collector_cpu;

static void x86_node_is_the_golden_scrape(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_x86");
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_cpu.prom");
	node_done(&n, c);
}

static void old_kernel_without_topology_has_one_thread_per_core(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_arm");
	node_open(&n, c);
	assert_int_equal(node_collect(&n, c), 0);
	assert_non_null(strstr(n.text.data,
			       "ceems_cpu_per_core_count{hostname=\"host\"} "
			       "1\n"));
	assert_non_null(strstr(
		n.text.data,
		"ceems_cpu_seconds_total{hostname=\"host\",mode=\"idle\"} 50\n"));
	assert_non_null(strstr(
		n.text.data,
		"ceems_cpu_seconds_total{hostname=\"host\",mode=\"steal\"} 0\n"));
	node_done(&n, c);
}

static void empty_stat_is_an_error_and_gives_no_sample(void **state)
{
	(void)state;
	struct node n;
	node_init(&n, "test/fixture/node_odd");
	node_open(&n, c);
	assert_true(node_collect(&n, c) < 0);
	assert_int_equal(prom_samples(n.prom), 0);
	node_done(&n, c);
}

static void absent_stat_is_no_device(void **state)
{
	(void)state;
	struct node n;
	void *s = NULL;
	struct err err;
	node_init(&n, "test/fixture/node_x86");
	int procfd = n.env.procfd;
	n.env.procfd = n.env.sysfd;
	assert_int_equal(c->open(&n.env, &s, &err), -ENODEV);
	assert_null(s);
	n.env.procfd = procfd;
	node_done(&n, c);
}

static char folder[SCRATCH_PATH];

/* Writes in place: the collector keeps the file open. */
static void write_stat(const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/proc/stat", folder);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

static double idle_of(struct node *n)
{
	static const char key[] = "ceems_cpu_seconds_total{hostname=\"host\","
				  "mode=\"idle\"} ";
	assert_int_equal(node_collect(n, c), 0);
	const char *at = strstr(n->text.data, key);
	assert_non_null(at);
	return strtod(at + strlen(key), NULL);
}

static void time_never_falls_and_goes_on_after_a_jump_back(void **state)
{
	(void)state;
	scratch_make(folder);
	scratch_mkdir(folder, "proc");
	scratch_mkdir(folder, "sys");
	struct node n;
	write_stat("cpu  0 0 0 100000 0 0 0 0\ncpu0 0 0 0 100000\n");
	node_init(&n, folder);
	node_open(&n, c);
	assert_true(idle_of(&n) == 1000);
	/* a small step back (0.5 s) is held, not added twice */
	write_stat("cpu  0 0 0 99950 0 0 0 0\ncpu0 0 0 0 99950\n");
	assert_true(idle_of(&n) == 1000);
	write_stat("cpu  0 0 0 100100 0 0 0 0\ncpu0 0 0 0 100100\n");
	assert_true(idle_of(&n) == 1001);
	/* a CPU went away with what it had: ours stay and go on from there */
	write_stat("cpu  0 0 0 50000 0 0 0 0\ncpu0 0 0 0 50000\n");
	double jumped = idle_of(&n);
	assert_true(jumped == 1001);
	write_stat("cpu  0 0 0 50200 0 0 0 0\ncpu0 0 0 0 50200\n");
	assert_true(idle_of(&n) == jumped + 2);
	node_done(&n, c);
	scratch_remove(folder);
}

static void threads_come_from_cpuinfo_where_it_says(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t want;
	} cases[] = {
		{"siblings\t: 4\ncpu cores\t: 2\n", 2},
		{"cpu cores : 8\nsiblings : 8\n", 1},
		{"siblings : 64\ncpu cores : 8\n", 8},
		{"siblings : 4\n", 0},
		{"siblings : 4\ncpu cores : 0\n", 0},
		{"", 0},
		{"siblings 4\ncpu cores 2\n", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			proc_parse_threads(cases[i].text, strlen(cases[i].text)),
			cases[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_node_is_the_golden_scrape),
		cmocka_unit_test(old_kernel_without_topology_has_one_thread_per_core),
		cmocka_unit_test(empty_stat_is_an_error_and_gives_no_sample),
		cmocka_unit_test(absent_stat_is_no_device),
		cmocka_unit_test(time_never_falls_and_goes_on_after_a_jump_back),
		cmocka_unit_test(threads_come_from_cpuinfo_where_it_says),
	};
	return cmocka_run_group_tests_name("collector_cpu_test", tests, NULL, NULL);
}
