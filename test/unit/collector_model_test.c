/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/sources/power_model.h"
#include "test/unit/energy_tree.h"

extern const struct collector collector_model;
static const struct collector *const c = &collector_model;

/* Ticks of the machine since the fixture's: 8 CPUs at 100 Hz */
static uint64_t busy_ticks, idle_ticks, stolen_ticks;

static void stat_now(const struct energy_tree *t, unsigned cpus)
{
	char cpu[256] = "";

	for (unsigned i = 0; i < cpus; i++)
		snprintf(cpu + strlen(cpu), sizeof(cpu) - strlen(cpu),
			 "cpu%u 1 0 0 1\n", i);
	tree_write(t, "../proc/stat", "cpu  %llu 0 200 %llu 100 10 20 %llu 0 0\n%s",
		   800ull + busy_ticks, 7000ull + idle_ticks, 0ull + stolen_ticks, cpu);
}

static char none[] = "";

static void begin(struct energy_tree *t, const char *idle, const char *max,
		  const char *curve)
{
	tree_init(t, "test/fixture/model");
	busy_ticks = idle_ticks = stolen_ticks = 0;
	t->node.options.model_idle_watts = idle ? strdup(idle) : none;
	t->node.options.model_max_watts = max ? strdup(max) : none;
	t->node.options.model_curve = curve ? strdup(curve) : none;
}

static void open_and_sample(struct energy_tree *t)
{
	tree_open(t, c);
	tree_sample_after(t, 0);
}

static void end(struct energy_tree *t)
{
	char *texts[] = {t->node.options.model_idle_watts,
			 t->node.options.model_max_watts, t->node.options.model_curve};
	tree_done(t, c);
	for (size_t i = 0; i < 3; i++) {
		if (texts[i] != none)
			free(texts[i]);
	}
}

/* ms of a machine of 8 CPUs that is busy for so many thousandths */
static void live(struct energy_tree *t, uint64_t ms, uint64_t permille)
{
	uint64_t ticks = ms * 8 / 10;
	uint64_t busy = ticks * permille / 1000;

	busy_ticks += busy;
	idle_ticks += ticks - busy;
	stat_now(t, 8);
	tree_sample_after(t, ms);
}

static uint64_t joules_uj(struct energy_tree *t)
{
	return tree_channel(t, c->source, SOURCE_ENERGY,
			    t->node.options.energy_model == ENERGY_MODEL_VM ? "vm"
									    : "host",
			    0)
		.value;
}

static uint64_t now_uw(struct energy_tree *t)
{
	return tree_channel(t, c->source, SOURCE_POWER, "host", 0).value;
}

static void a_known_cpu_is_the_golden_scrape(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, NULL, NULL, NULL);
	open_and_sample(&t);
	live(&t, 10000, 250);
	/* Cascade Lake: 8 x (0.64 + 0.25 x 3.33), and 206 GB of memory where 196.24
	 * are in these figures */
	assert_true(now_uw(&t) == 11780000 + 3825920);
	tree_turn_ms(500);
	node_golden(&t.node, c, "test/golden/collector_model.prom");
	end(&t);
}

static void a_constant_load_gives_exactly_power_times_time(void **state)
{
	(void)state;
	uint64_t seed = 20261121;
	for (unsigned round = 0; round < 40; round++) {
		struct energy_tree t;
		uint64_t permille = round * 25, ms_total = 0;
		begin(&t, "101.700003", "333.1", NULL);
		open_and_sample(&t);
		for (unsigned i = 0; i < 60; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			/* a number of ticks that divides evenly */
			uint64_t ms = 100 * (1 + (seed >> 33) % 600);
			ms_total += ms;
			live(&t, ms, permille);
		}
		uint64_t uw = 101700003 + 231399997 * permille / 1000;
		assert_true(now_uw(&t) == uw);
		assert_true(joules_uj(&t) == uw * ms_total / 1000);
		end(&t);
	}
}

static void a_changing_load_gives_idle_time_and_busy_time(void **state)
{
	(void)state;
	struct energy_tree t;
	uint64_t seed = 7, ms_total = 0;
	begin(&t, "100", "300", NULL);
	open_and_sample(&t);
	for (unsigned i = 0; i < 2000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t ms = 100 * (1 + (seed >> 33) % 100);
		ms_total += ms;
		live(&t, ms, (seed >> 20) % 1001);
	}
	/* 100 W all the time and 200 W x the share of 8 x 100 ticks a second */
	uint64_t exact_uj =
		ms_total * 100000 + (uint64_t)((double)busy_ticks / 800 * 200e6);
	uint64_t got = joules_uj(&t);
	assert_true(got <= exact_uj && exact_uj - got < ms_total);
	end(&t);
}

/* As the next daemon of the same life of the machine does it */
static void what_the_cpus_did_over_a_restart_is_in_the_total(void **state)
{
	(void)state;
	struct energy_tree t;
	struct source_snapshot s = {0};
	begin(&t, "100", "300", NULL);
	open_and_sample(&t);
	live(&t, 10000, 500);
	assert_int_equal(joules_uj(&t), 2000000000);
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	sampler_free(t.sampler);
	tree_turn_ms(0);
	tree_source(&t, c->source);
	sampler_resume(t.sampler, c->source, &s.mark);
	source_snapshot_done(&s);
	live(&t, 20000, 250);
	assert_int_equal(joules_uj(&t), 5000000000);
	live(&t, 1000, 0);
	assert_int_equal(joules_uj(&t), 5100000000);
	end(&t);
}

static void over_a_restart_of_more_than_ten_minutes_nothing_is_claimed(void **state)
{
	(void)state;
	struct energy_tree t;
	struct source_snapshot s = {0};
	begin(&t, "100", "300", NULL);
	open_and_sample(&t);
	live(&t, 10000, 500);
	assert_int_equal(sampler_get(t.sampler, c->source, &s, NULL), 0);
	sampler_free(t.sampler);
	tree_source(&t, c->source);
	sampler_resume(t.sampler, c->source, &s.mark);
	source_snapshot_done(&s);
	live(&t, 700000, 500);
	assert_int_equal(joules_uj(&t), 2000000000);
	assert_int_equal(tree_resets(&t, c->source), 1);
	end(&t);
}

static void a_curve_is_followed(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, NULL, NULL, "0:100,50:250,100:300");
	open_and_sample(&t);
	live(&t, 1000, 500);
	assert_true(now_uw(&t) == 250000000);
	live(&t, 1000, 750);
	assert_true(now_uw(&t) == 275000000);
	assert_true(joules_uj(&t) == 525000000);
	end(&t);
}

static void a_guest_gets_its_share_of_the_host(void **state)
{
	(void)state;
	struct energy_tree t;
	/* 8 of 64 threads */
	begin(&t, "160", "640", NULL);
	t.node.options.energy_model = ENERGY_MODEL_VM;
	t.node.options.model_host_cpus = 64;
	open_and_sample(&t);
	live(&t, 1000, 500);
	assert_true(joules_uj(&t) == 50000000);
	/* what was stolen from it others used */
	stolen_ticks += 400;
	idle_ticks += 400;
	stat_now(&t, 8);
	tree_sample_after(&t, 1000);
	assert_true(joules_uj(&t) == 70000000);
	/* half of its CPUs are unplugged */
	busy_ticks += 400;
	stat_now(&t, 4);
	tree_sample_after(&t, 1000);
	assert_true(joules_uj(&t) == 110000000);
	end(&t);
	/* by the table: its CPUs, no memory */
	begin(&t, NULL, NULL, NULL);
	t.node.options.energy_model = ENERGY_MODEL_VM;
	open_and_sample(&t);
	live(&t, 1000, 1000);
	assert_true(joules_uj(&t) == 8 * 3970000);
	end(&t);
}

static void time_in_which_the_machine_slept_is_not_counted(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, "100", "300", NULL);
	open_and_sample(&t);
	live(&t, 1000, 0);
	assert_true(joules_uj(&t) == 100000000);
	/* boot time goes on for a minute, the CPUs saw two seconds of it */
	idle_ticks += 1600;
	stat_now(&t, 8);
	tree_sample_after(&t, 60000);
	assert_true(joules_uj(&t) == 300000000);
	assert_int_equal(tree_resets(&t, c->source), 1);
	/* nobody looked for an hour */
	live(&t, 3600000, 500);
	assert_true(joules_uj(&t) == 300000000);
	assert_int_equal(tree_resets(&t, c->source), 2);
	live(&t, 1000, 0);
	assert_true(joules_uj(&t) == 400000000);
	/* a clock that goes backwards */
	tree_boot_ns -= 5 * NSEC_PER_SEC;
	live(&t, 1000, 0);
	assert_true(joules_uj(&t) == 400000000);
	end(&t);
}

static void counters_of_proc_stat_that_fall_add_nothing(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, "100", "300", NULL);
	open_and_sample(&t);
	live(&t, 1000, 0);
	/* a little: waits until it has caught up */
	idle_ticks -= 10;
	busy_ticks += 800;
	stat_now(&t, 8);
	tree_sample_after(&t, 1000);
	assert_true(joules_uj(&t) == 400000000);
	idle_ticks += 10;
	busy_ticks += 800;
	stat_now(&t, 8);
	tree_sample_after(&t, 1000);
	assert_true(joules_uj(&t) == 700000000);
	/* for good: counts on from there */
	idle_ticks -= 700;
	busy_ticks += 800;
	stat_now(&t, 8);
	tree_sample_after(&t, 1000);
	assert_true(joules_uj(&t) == 1000000000);
	live(&t, 1000, 0);
	assert_true(joules_uj(&t) == 1100000000);
	end(&t);
}

static void a_proc_stat_that_stands_still_or_is_garbage_ages(void **state)
{
	(void)state;
	struct energy_tree t;
	begin(&t, "100", "300", NULL);
	open_and_sample(&t);
	live(&t, 1000, 0);
	uint64_t then = tree_boot_ns;
	tree_sample_after(&t, 1000);
	assert_true(tree_channel(&t, c->source, SOURCE_ENERGY, "host", 0).measured_ns ==
		    then);
	tree_write(&t, "../proc/stat", "nothing\n");
	tree_sample_after(&t, 1000);
	assert_true(joules_uj(&t) == 100000000);
	/* what passed meanwhile was counted by the kernel, and is here too */
	live(&t, 0, 0);
	idle_ticks += 1600;
	live(&t, 1000, 0);
	assert_true(joules_uj(&t) == 400000000);
	for (int i = 0; i < 10; i++)
		tree_sample_after(&t, 10000);
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_null(strstr(t.node.text.data, "ceems_model_power_watts"));
	assert_non_null(strstr(t.node.text.data, "ceems_model_energy_joules_total"));
	end(&t);
}

/* A sensor that gives one reading of a domain, or none yet */
static enum source_domain sensor_domain;
static bool sensor_silent;

static int sensor_open(const struct env *env, void **ret_state, struct err *err)
{
	(void)env;
	(void)err;
	*ret_state = &sensor_domain;
	return 0;
}

static int sensor_sample(void *state, struct source_snapshot *out, struct err *err)
{
	(void)state;
	if (sensor_silent)
		return err_set(err, -EIO, "silent");
	struct source_channel *ch = source_snapshot_add(out);
	if (!ch)
		return -ENOMEM;
	ch->kind = SOURCE_POWER;
	ch->domain = sensor_domain;
	ch->value = 1;
	ch->measured_ns = 1;
	return 0;
}

static void sensor_close(void *state)
{
	(void)state;
}

static const struct source sensor = {
	.name = "sensor",
	.open = sensor_open,
	.sample = sensor_sample,
	.close = sensor_close,
};

static size_t channels_with(enum source_domain domain, int mode, bool silent,
			    uint64_t ms)
{
	const struct source *both[] = {&sensor, &source_model};
	struct source_snapshot s = {0};
	struct energy_tree t;

	begin(&t, NULL, NULL, NULL);
	t.node.options.energy_model = mode;
	sensor_domain = domain;
	sensor_silent = silent;
	assert_int_equal(sampler_new(&t.node.env, 1000, both, 2, &t.sampler, NULL), 0);
	t.node.env.sampler = t.sampler;
	node_open(&t.node, c);
	for (uint64_t i = 0; i <= ms; i += 1000)
		live(&t, 1000, 500);
	assert_int_equal(sampler_get(t.sampler, &source_model, &s, NULL), 0);
	size_t n = s.count;
	/* no series of it either */
	assert_int_equal(node_collect(&t.node, c), 0);
	assert_true((n == 0) == (t.node.text.len == 0));
	source_snapshot_done(&s);
	end(&t);
	return n;
}

static void it_stands_back_where_a_sensor_measures(void **state)
{
	(void)state;
	assert_int_equal(channels_with(SOURCE_DOMAIN_HOST, ENERGY_MODEL_AUTO, false, 0),
			 0);
	assert_int_equal(channels_with(SOURCE_DOMAIN_HOST, ENERGY_MODEL_HOST, false, 0),
			 0);
	assert_int_equal(
		channels_with(SOURCE_DOMAIN_PACKAGE, ENERGY_MODEL_AUTO, false, 0), 0);
	/* asked for: the whole beside the CPUs' own */
	assert_int_not_equal(
		channels_with(SOURCE_DOMAIN_PACKAGE, ENERGY_MODEL_HOST, false, 0), 0);
	assert_int_not_equal(
		channels_with(SOURCE_DOMAIN_NONE, ENERGY_MODEL_AUTO, false, 0), 0);
	/* one that says nothing is waited for, not for ever */
	assert_int_equal(
		channels_with(SOURCE_DOMAIN_HOST, ENERGY_MODEL_AUTO, true, 5000), 0);
	assert_int_not_equal(
		channels_with(SOURCE_DOMAIN_HOST, ENERGY_MODEL_AUTO, true, 40000), 0);
}

static void a_model_that_is_off_is_absent(void **state)
{
	(void)state;
	struct energy_tree t;
	struct err err = {""};
	begin(&t, NULL, NULL, NULL);
	t.node.options.energy_model = ENERGY_MODEL_OFF;
	tree_source(&t, c->source);
	assert_int_equal(c->open(&t.node.env, &t.node.state, &err), -ENODEV);
	assert_string_equal(err.text, "--energy.model=off");
	end(&t);
}

static void cpus_are_told_apart_as_the_kernel_does(void **state)
{
	(void)state;
	static const struct {
		struct proc_cpu cpu;
		const char *name;
		bool guest, guessed;
	} cases[] = {
		{{"GenuineIntel", 6, 85, 4, 2, false}, "Skylake", false, false},
		{{"GenuineIntel", 6, 85, 7, 2, true}, "Cascade Lake", true, false},
		{{"GenuineIntel", 6, 85, 11, 2, false}, "average", false, true},
		{{"GenuineIntel", 6, 63, 2, 2, false}, "Haswell", false, false},
		{{"GenuineIntel", 6, 158, 9, 1, false}, "average", false, true},
		{{"GenuineIntel", 6, 158, 10, 1, false}, "Coffee Lake", false, false},
		{{"AuthenticAMD", 23, 49, 0, 2, false},
		 "AMD EPYC 2nd Gen",
		 false,
		 false},
		{{"AuthenticAMD", 25, 1, 1, 2, false},
		 "AMD EPYC 3rd Gen",
		 false,
		 false},
		{{"AuthenticAMD", 25, 17, 1, 2, false}, "average", false, true},
		{{"", 0, 0, 0, 1, false}, "average", false, true},
	};
	char empty[] = "";
	struct options o = {.model_idle_watts = empty,
			    .model_max_watts = empty,
			    .model_curve = empty};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct power_model m;
		power_model_choose(&o, &cases[i].cpu, 0, &m);
		assert_string_equal(m.coefficients, cases[i].name);
		assert_int_equal(m.guest, cases[i].guest);
		assert_int_equal(m.guessed, cases[i].guessed);
	}
}

static void cpuinfo_gives_family_sockets_and_whether_it_is_a_guest(void **state)
{
	(void)state;
	static const char text[] = "processor\t: 0\n"
				   "vendor_id\t: AuthenticAMD\n"
				   "cpu family\t: 25\n"
				   "model\t\t: 1\n"
				   "model name\t: AMD EPYC 7763\n"
				   "stepping\t: 1\n"
				   "physical id\t: 0\n"
				   "flags\t\t: fpu hypervisor lahf_lm\n"
				   "\n"
				   "processor\t: 1\n"
				   "vendor_id\t: Other\n"
				   "model\t\t: 9\n"
				   "physical id\t: 1\n"
				   "flags\t\t: fpu\n"
				   "\n"
				   "physical id\t: 1\n"
				   "physical id\t: 999\n";
	struct proc_cpu cpu;
	proc_parse_cpu(text, sizeof(text) - 1, &cpu);
	assert_string_equal(cpu.vendor, "AuthenticAMD");
	assert_true(cpu.family == 25 && cpu.model == 1 && cpu.stepping == 1);
	assert_int_equal(cpu.sockets, 2);
	assert_true(cpu.guest);
	proc_parse_cpu("flags\t: nohypervisor\nvendor_id\t: "
		       "longer than any vendor's name\n",
		       60, &cpu);
	assert_string_equal(cpu.vendor, "");
	assert_int_equal(cpu.sockets, 1);
	assert_false(cpu.guest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_cpu_is_the_golden_scrape),
		cmocka_unit_test(a_constant_load_gives_exactly_power_times_time),
		cmocka_unit_test(a_changing_load_gives_idle_time_and_busy_time),
		cmocka_unit_test(what_the_cpus_did_over_a_restart_is_in_the_total),
		cmocka_unit_test(
			over_a_restart_of_more_than_ten_minutes_nothing_is_claimed),
		cmocka_unit_test(a_curve_is_followed),
		cmocka_unit_test(a_guest_gets_its_share_of_the_host),
		cmocka_unit_test(time_in_which_the_machine_slept_is_not_counted),
		cmocka_unit_test(counters_of_proc_stat_that_fall_add_nothing),
		cmocka_unit_test(a_proc_stat_that_stands_still_or_is_garbage_ages),
		cmocka_unit_test(it_stands_back_where_a_sensor_measures),
		cmocka_unit_test(a_model_that_is_off_is_absent),
		cmocka_unit_test(cpus_are_told_apart_as_the_kernel_does),
		cmocka_unit_test(
			cpuinfo_gives_family_sockets_and_whether_it_is_a_guest),
	};
	return cmocka_run_group_tests_name("collector_model_test", tests, NULL, NULL);
}
