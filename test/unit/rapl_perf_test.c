/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAPL by perf events: a kernel whose PMU "power" is played by files in memory. */
#include <errno.h>
#include <sys/mman.h>

#include "daemon/sources/rapl_pmu.h"
#include "lib/parse.h"
#include "test/unit/energy_tree.h"

extern const struct collector collector_rapl;
static const struct collector *const c = &collector_rapl;

#define PMU "bus/event_source/devices/power/"
#define JOULE (1ull << 32) /* in counts */

/* One per event that was opened; fd shares its offset with the daemon's. */
static struct counter {
	uint64_t config, count;
	int cpu, fd;
} counters[16];
static size_t opened;
static int refuse; /* errno, 0: none */

static int fake_perf_open(uint32_t type, uint64_t config, int cpu)
{
	struct counter *k = &counters[opened];

	if (refuse)
		return -refuse;
	assert_int_equal(type, 9);
	assert_true(opened < 16);
	int fd = memfd_create("counter", MFD_CLOEXEC);
	assert_true(fd >= 0);
	*k = (struct counter){.config = config, .cpu = cpu, .fd = dup(fd)};
	opened++;
	return fd;
}

/* What the kernel would give at the next reading */
static void ready(void)
{
	for (size_t i = 0; i < opened; i++) {
		assert_int_equal(pwrite(counters[i].fd, &counters[i].count, 8, 0), 8);
		assert_int_equal(lseek(counters[i].fd, 0, SEEK_SET), 0);
	}
}

static struct counter *counter(uint64_t config, int cpu)
{
	for (size_t i = 0; i < opened; i++) {
		if (counters[i].config == config && counters[i].cpu == cpu)
			return &counters[i];
	}
	fail_msg("event 0x%llx was not opened on CPU %d", (unsigned long long)config,
		 cpu);
	return NULL;
}

static void sample(struct energy_tree *t, uint64_t ms)
{
	ready();
	tree_sample_after(t, ms);
}

static void begin(struct energy_tree *t, const char *fixture)
{
	opened = 0;
	refuse = 0;
	tree_init(t, fixture);
	t->node.env.perf_open = fake_perf_open;
}

static void end(struct energy_tree *t)
{
	tree_done(t, c);
	for (size_t i = 0; i < opened; i++)
		close(counters[i].fd);
}

static void each_package_counts_in_powercaps_names(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, "test/fixture/rapl_perf");
	tree_open(&t, c);
	assert_int_equal(opened, 8);
	sample(&t, 0);
	counter(2, 0)->count = 100 * JOULE;
	counter(2, 24)->count = JOULE / 2;
	counter(3, 24)->count = 7 * JOULE + JOULE / 4;
	counter(5, 0)->count = 300 * JOULE;
	counter(1, 0)->count = 1;
	sample(&t, 1000);
	node_golden(&t.node, c, "test/golden/collector_rapl-perf.prom");
	assert_int_equal(
		tree_channel(&t, c->source, SOURCE_ENERGY, "package", 1).domain,
		SOURCE_DOMAIN_PACKAGE);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_ENERGY, "dram", 1).domain,
			 SOURCE_DOMAIN_DRAM);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_ENERGY, "psys", 0).domain,
			 SOURCE_DOMAIN_PSYS);
	assert_int_equal(tree_channel(&t, c->source, SOURCE_ENERGY, "core", 0).domain,
			 SOURCE_DOMAIN_NONE);
	end(&t);
}

static void counts_of_64_bits_need_no_pace_and_lose_nothing(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, "test/fixture/rapl_perf");
	tree_open(&t, c);
	sample(&t, 0);
	/* 350 W looked at once an hour, far beyond what 32 bits hold */
	for (int i = 0; i < 100; i++) {
		counter(2, 0)->count += 350 * 3600 * JOULE;
		sample(&t, 3600000);
	}
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "package", 0).value ==
		    100ull * 350 * 3600 * 1000000);
	assert_int_equal(tree_resets(&t, c->source), 0);
	assert_true(sampler_period_ms(t.sampler, c->source) == 1000);
	end(&t);
}

static void events_that_stay_at_0_are_no_rapl(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, "test/fixture/rapl_perf");
	tree_open(&t, c);
	for (int i = 0; i < 12; i++) {
		counter(2, 0)->count += JOULE;
		sample(&t, 1000);
	}
	/* one lives, seven do not */
	struct source_snapshot s = {0};
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	assert_int_equal(s.count, 1);
	end(&t);
	begin(&t, "test/fixture/rapl_perf");
	tree_open(&t, c);
	for (int i = 0; i < 12; i++)
		sample(&t, 1000);
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	assert_int_equal(s.count, 0);
	assert_non_null(strstr(s.partial.text, "there is no RAPL here"));
	source_snapshot_done(&s);
	end(&t);
}

static void add_bus(const struct energy_tree *t)
{
	char bus[128];

	tree_remove(t, "bus");
	tree_mkdir(t, "bus");
	snprintf(bus, sizeof(bus), "%s/sys/bus", t->root);
	scratch_add(bus, "test/fixture/rapl_perf/sys/bus");
}

static void powercap_is_preferred_unless_it_cannot_be_read(void **state)
{
	(void)state;
	static const struct {
		const char *fixture;
		int reader;
		size_t perf_events;
	} cases[] = {{"test/fixture/rapl_intel2", RAPL_READER_AUTO, 0},
		     {"test/fixture/rapl_intel2", RAPL_READER_PERF, 8},
		     {"test/fixture/rapl_perf", RAPL_READER_AUTO, 8}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct energy_tree t;
		begin(&t, cases[i].fixture);
		add_bus(&t);
		t.node.options.rapl_reader = cases[i].reader;
		tree_open(&t, c);
		assert_int_equal(opened, cases[i].perf_events);
		end(&t);
	}
	/* zones are there, none has a counter */
	struct energy_tree t;
	begin(&t, "test/fixture/rapl_intel2");
	add_bus(&t);
	tree_each(&t, "class/powercap/*/energy_uj", unlink);
	tree_open(&t, c);
	assert_int_equal(opened, 8);
	end(&t);
}

static void what_keeps_perf_from_opening_is_said(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	begin(&t, "test/fixture/rapl_perf");
	refuse = EACCES;
	tree_source(&t, c->source);
	assert_int_equal(c->open(&t.node.env, &t.node.state, &err), -EACCES);
	if (!strstr(err.text,
		    "perf_event_open: Permission denied: start ceemsd as root "
		    "or with CAP_PERFMON"))
		fail_msg("%s", err.text);
	end(&t);
	/* neither way is there */
	begin(&t, "test/fixture/cray");
	tree_source(&t, c->source);
	assert_int_equal(c->open(&t.node.env, &t.node.state, &err), -ENODEV);
	end(&t);
	/* the PMU's files are garbage */
	static const struct {
		const char *file, *text, *why;
	} bad[] = {{"cpumask", "x\n", "cpumask: not a list of CPUs"},
		   {"type", "nine\n", "type"},
		   {"events/energy-pkg.scale", "1 J\n", "not a scale"},
		   {"events/energy-pkg", "event=2\n", "not understood"}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char path[96];
		begin(&t, "test/fixture/rapl_perf");
		tree_remove(&t, PMU "events/energy-ram");
		tree_remove(&t, PMU "events/energy-cores");
		tree_remove(&t, PMU "events/energy-psys");
		snprintf(path, sizeof(path), PMU "%s", bad[i].file);
		tree_write(&t, path, "%s", bad[i].text);
		t.node.options.rapl_reader = RAPL_READER_PERF;
		tree_source(&t, c->source);
		assert_true(c->open(&t.node.env, &t.node.state, &err) < 0);
		if (!strstr(err.text, bad[i].why))
			fail_msg("%s", err.text);
		end(&t);
	}
}

static void an_event_that_ends_costs_only_itself(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, "test/fixture/rapl_perf");
	tree_open(&t, c);
	sample(&t, 0);
	counter(2, 0)->count = JOULE;
	counter(2, 24)->count = JOULE;
	sample(&t, 1000);
	uint64_t then = tree_boot_ns;
	ready();
	assert_int_equal(ftruncate(counter(2, 0)->fd, 0), 0);
	tree_sample_after(&t, 1000);
	assert_true(
		tree_channel(&t, c->source, SOURCE_ENERGY, "package", 0).measured_ns ==
		then);
	assert_true(
		tree_channel(&t, c->source, SOURCE_ENERGY, "package", 1).measured_ns ==
		tree_boot_ns);
	end(&t);
}

static void texts_of_the_pmu(void **state)
{
	(void)state;
	uint64_t v = 7;
	uint32_t cpus[4];
	char name[40];
	enum source_domain domain;
	assert_int_equal(rapl_pmu_event("event=0x1f\n", 11, &v), 0);
	assert_true(v == 0x1f);
	static const char *const events[] = {
		"",          "event=0x",   "event=2",     "event=0x02,umask=0x1",
		"event=0xg", "config=0x2", "event=0x2 3", "event=0x123456789"};
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		assert_int_equal(rapl_pmu_event(events[i], strlen(events[i]), &v),
				 -EINVAL);
	assert_int_equal(rapl_pmu_scale("2.3283064365386962890625e-10\n", 29, &v), 0);
	/* 2^-32 J exactly, also at the counter's end */
	assert_true(rapl_pmu_uj(JOULE, v) == 1000000);
	assert_true(rapl_pmu_uj(UINT64_MAX, v) == 4294967295999999);
	static const char *const scales[] = {"0",   "-1e-9", "1e-3", "nan",
					     "inf", "J",     "",     "1e-30"};
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
		assert_true(rapl_pmu_scale(scales[i], strlen(scales[i]), &v) < 0);
	assert_int_equal(parse_cpus("0,18-19\n", 8, cpus, 4), 3);
	assert_true(cpus[0] == 0 && cpus[1] == 18 && cpus[2] == 19);
	assert_int_equal(parse_cpus("0-4", 3, cpus, 4), -E2BIG);
	static const char *const lists[] = {"", "0,", "1-0", "0-", "a", "0 1", "70000"};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_int_equal(parse_cpus(lists[i], strlen(lists[i]), cpus, 4),
				 -EINVAL);
	assert_true(rapl_pmu_name("energy-ram", name, sizeof(name), &domain));
	assert_string_equal(name, "dram");
	assert_true(rapl_pmu_name("energy-soc", name, sizeof(name), &domain));
	assert_string_equal(name, "soc");
	assert_int_equal(domain, SOURCE_DOMAIN_NONE);
	assert_false(rapl_pmu_name("energy-pkg.scale", name, sizeof(name), &domain));
	assert_false(rapl_pmu_name("energy-", name, sizeof(name), &domain));
	assert_false(rapl_pmu_name("cycles", name, sizeof(name), &domain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_package_counts_in_powercaps_names),
		cmocka_unit_test(counts_of_64_bits_need_no_pace_and_lose_nothing),
		cmocka_unit_test(events_that_stay_at_0_are_no_rapl),
		cmocka_unit_test(powercap_is_preferred_unless_it_cannot_be_read),
		cmocka_unit_test(what_keeps_perf_from_opening_is_said),
		cmocka_unit_test(an_event_that_ends_costs_only_itself),
		cmocka_unit_test(texts_of_the_pmu),
	};
	return cmocka_run_group_tests_name("rapl_perf_test", tests, NULL, NULL);
}
