/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What users and sites can say to spank_ceems.so, and what jobs can forge: options,
 * plugstack.conf arguments, GPU variables and hints, through its real hooks. */
#include "test/unit/spank_world.h"

/* ---- GPUs ------------------------------------------------------------------------ */

static void gpus_of(struct world *w, uint32_t step, const char *const *env,
		    struct record *r)
{
	fake_reset();
	fake.step = step;
	fake.env = env;
	init(w, NULL, NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, r);
}

static void each_kind_of_step_reads_only_the_variable_slurm_sets(void **state)
{
	struct world *w = *state;
	struct record r;
	static const char *const both[] = {"SLURM_JOB_GPUS=4", "SLURM_STEP_GPUS=2",
					   NULL};
	static const char *const job[] = {"SLURM_JOB_GPUS=4", NULL};
	static const char *const step[] = {"SLURM_STEP_GPUS=2", NULL};
	gpus_of(w, 0, both, &r);
	assert_string_equal(r.gpus, "2");
	assert_int_equal(r.flags & RECORD_GPUS_TRUSTED, RECORD_GPUS_TRUSTED);
	gpus_of(w, RECORD_STEP_BATCH, both, &r);
	assert_string_equal(r.gpus, "4");
	gpus_of(w, RECORD_STEP_INTERACTIVE, both, &r);
	assert_string_equal(r.gpus, "4");
	gpus_of(w, 0, job, &r); /* a forged SLURM_JOB_GPUS in a step without gpus */
	assert_string_equal(r.gpus, "");
	assert_int_equal(r.flags & RECORD_GPUS_TRUSTED, 0);
	gpus_of(w, RECORD_STEP_BATCH, step, &r);
	assert_string_equal(r.gpus, "");
	assert_int_equal(r.flags & RECORD_GPUS_TRUSTED, 0);
}

static void malformed_gpu_lists_are_refused(void **state)
{
	struct world *w = *state;
	struct record r;
	static char huge[4096];
	static const char *const bad[] = {
		"SLURM_STEP_GPUS",      "SLURM_STEP_GPUS=",
		"SLURM_STEP_GPUS=0,",   "SLURM_STEP_GPUS=a",
		"SLURM_STEP_GPUS=0 1",  "SLURM_STEP_GPUS=3-1",
		"SLURM_STEP_GPUS=-1",   "SLURM_STEP_GPUS=0,,1",
		"SLURM_STEP_GPUS=256",  "SLURM_STEP_GPUS=0-4294967295",
		"SLURM_STEP_GPUS=0\n1", "SLURM_STEP_GPUS=99999999999999999999",
		"XSLURM_STEP_GPUS=1",   huge,
	};
	memset(huge, '1', sizeof(huge) - 1);
	memcpy(huge, "SLURM_STEP_GPUS=", 16);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *env[] = {bad[i], NULL};
		gpus_of(w, 0, env, &r);
		assert_string_equal(r.gpus, "");
		assert_int_equal(r.flags & RECORD_GPUS_TRUSTED, 0);
		assert_int_equal(fake_logged(FAKE_VERBOSE), 0);
	}
}

static void gpu_lists_are_ranged_and_cut_at_a_range(void **state)
{
	struct world *w = *state;
	struct record r;
	char value[1024] = "SLURM_STEP_GPUS=";
	const char *env[] = {value, NULL};
	strcat(value, "3,1,0,2,7,7");
	gpus_of(w, 0, env, &r);
	assert_string_equal(r.gpus, "0-3,7");
	assert_int_equal(r.flags & RECORD_CUT, 0);
	value[16] = '\0';
	for (unsigned i = 0; i < 100; i += 2)
		snprintf(value + strlen(value), sizeof(value) - strlen(value), "%s%u",
			 i ? "," : "", i);
	gpus_of(w, 0, env, &r);
	assert_int_equal(r.flags & RECORD_CUT, RECORD_CUT);
	assert_memory_equal(r.gpus, "0,2,4,6,8,10,", 13);
	assert_true(r.gpus[strlen(r.gpus) - 1] != ',');
}

static void shards_and_mps_shares_are_taken_with_their_gpus(void **state)
{
	struct world *w = *state;
	struct record r;
	static const char *const shard[] = {"SLURM_STEP_GPUS=1",
					    "SLURM_SHARDS_ON_NODE=3", NULL};
	static const char *const mps[] = {"SLURM_STEP_GPUS=0",
					  "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25", NULL};
	static const char *const bad[] = {
		"SLURM_STEP_GPUS=0", "SLURM_SHARDS_ON_NODE=all",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=101", NULL};
	gpus_of(w, 0, shard, &r);
	assert_string_equal(r.gpu_share, "shard:3");
	gpus_of(w, 0, mps, &r);
	assert_string_equal(r.gpu_share, "mps:25");
	gpus_of(w, 0, bad, &r);
	assert_string_equal(r.gpu_share, "");
	assert_string_equal(r.gpus, "0");
}

/* ---- options and policy ---------------------------------------------------------- */

static void flags_after(struct world *w, struct record *r)
{
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, r);
}

static void options_travel_in_the_record(void **state)
{
	struct world *w = *state;
	struct record r;
	init(w, NULL, NULL);
	assert_int_equal(fake.option_count, 3);
	assert_int_equal(fake_option("ceems-perf", "hardware,cache", 1), 0);
	assert_int_equal(fake_option("ceems-profile", "49", 1), 0);
	assert_int_equal(fake_option("ceems-report", "json", 1), 0);
	flags_after(w, &r);
	assert_int_equal(r.flags,
			 RECORD_PERF_HW | RECORD_PERF_CACHE | RECORD_REPORT_JSON);
	assert_int_equal(r.profile_hz, 49);
}

static void options_without_a_value_mean_the_default_however_slurm_says_it(void **state)
{
	struct world *w = *state;
	static const char *const none[] = {NULL, "", "(null)"};
	for (size_t i = 0; i < 3; i++) {
		struct record r;
		fake_reset();
		init(w, NULL, NULL);
		assert_int_equal(fake_option("ceems-perf", none[i], 1), 0);
		assert_int_equal(fake_option("ceems-profile", none[i], 1), 0);
		assert_int_equal(fake_option("ceems-report", none[i], 1), 0);
		flags_after(w, &r);
		assert_int_equal(r.flags, PERF_ALL | RECORD_REPORT_TEXT);
		assert_int_equal(r.profile_hz, PROFILE_HZ_DEFAULT);
	}
}

static const struct {
	const char *option, *value;
} bad_values[] = {
	{"ceems-perf", "hw"},        {"ceems-perf", "hardware,"},
	{"ceems-perf", ",cache"},    {"ceems-perf", "hardware, cache"},
	{"ceems-profile", "0"},      {"ceems-profile", "1001"},
	{"ceems-profile", "1e2"},    {"ceems-profile", "-1"},
	{"ceems-report", "xml"},     {"ceems-report", "TEXT"},
	{"ceems-perf", "\n\033[2J"},
};

static void bad_value_is_a_clear_error_before_the_job_starts(void **state)
{
	struct world *w = *state;
	static const enum spank_context contexts[] = {S_CTX_LOCAL, S_CTX_ALLOCATOR};
	for (size_t c = 0; c < 2; c++)
		for (size_t i = 0; i < sizeof(bad_values) / sizeof(bad_values[0]);
		     i++) {
			fake_reset();
			fake.context = contexts[c];
			init(w, NULL, NULL);
			assert_true(fake_option(bad_values[i].option,
						bad_values[i].value, 0) < 0);
			assert_int_equal(fake_logged(FAKE_ERROR), 1);
			assert_non_null(fake_log_line(bad_values[i].option));
			assert_null(strpbrk(fake.log[0].text, "\n\033"));
		}
	world_expect_nothing(w);
}

static void forged_bad_value_in_slurmstepd_is_dropped(void **state)
{
	struct world *w = *state;
	for (size_t i = 0; i < sizeof(bad_values) / sizeof(bad_values[0]); i++) {
		struct record r;
		fake_reset();
		init(w, NULL, NULL);
		assert_int_equal(
			fake_option(bad_values[i].option, bad_values[i].value, 1), 0);
		assert_int_equal(fake_logged(FAKE_INFO), 0);
		assert_int_equal(fake_logged(FAKE_VERBOSE), 1);
		assert_null(strpbrk(fake.log[0].text, "\n\033"));
		flags_after(w, &r);
		assert_int_equal(r.flags, 0);
		assert_int_equal(r.profile_hz, 0);
	}
}

static void very_long_values_are_refused(void **state)
{
	struct world *w = *state;
	struct record r;
	static char value[100001];
	for (size_t i = 0; i + 1 < sizeof(value); i++)
		value[i] = "cache,"[i % 6];
	init(w, NULL, NULL);
	fake_option("ceems-perf", value, 1);
	flags_after(w, &r);
	assert_int_equal(r.flags, 0);
	assert_true(strlen(fake.log[0].text) < 200);
}

static void denied_options_are_said_locally_and_ignored_never_an_error(void **state)
{
	struct world *w = *state;
	char *argv[] = {w->ring_arg, (char *)"perf=deny", (char *)"profile=deny",
			(char *)"report=deny"};
	struct record r;
	fake.context = S_CTX_LOCAL;
	slurm_spank_init(fake_spank(), 4, argv);
	assert_int_equal(fake_option("ceems-perf", "software", 0), 0);
	assert_int_equal(fake_logged(FAKE_INFO), 1);
	assert_non_null(fake_log_line("--ceems-perf is not allowed here"));
	fake_reset();
	slurm_spank_init(fake_spank(), 4, argv);
	assert_int_equal(fake_option("ceems-perf", "software", 1), 0);
	assert_int_equal(fake_option("ceems-profile", "10", 1), 0);
	assert_int_equal(fake_option("ceems-report", "text", 1), 0);
	assert_int_equal(fake_logged(FAKE_INFO), 0);
	flags_after(w, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.profile_hz, 0);
}

static void what_is_not_counted_yet_is_said_at_submit(void **state)
{
	struct world *w = *state;
	char *argv[] = {w->ring_arg};

	fake.context = S_CTX_LOCAL;
	slurm_spank_init(fake_spank(), 1, argv);
	assert_int_equal(fake_option("ceems-report", "text", 0), 0);
	assert_int_equal(fake_logged(FAKE_INFO), 0);
	assert_int_equal(fake_option("ceems-perf", "cache", 0), 0);
	assert_int_equal(fake_logged(FAKE_INFO), 0);
	assert_int_equal(fake_option("ceems-profile", "10", 0), 0);
	assert_int_equal(fake_logged(FAKE_INFO), 0);
}

static void profile_rate_is_lowered_to_the_sites_maximum(void **state)
{
	struct world *w = *state;
	struct record r;
	init(w, "profile=max:50", NULL);
	assert_int_equal(fake_option("ceems-profile", "400", 1), 0);
	flags_after(w, &r);
	assert_int_equal(r.profile_hz, 50);
}

static void blocked_time_is_asked_for_with_or_without_a_rate(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *policy, *value;
		uint32_t flags, hz;
	} cases[] = {
		{NULL, "off-cpu", RECORD_OFF_CPU, PROFILE_HZ_DEFAULT},
		{NULL, "97,off-cpu", RECORD_OFF_CPU, 97},
		{NULL, "off-cpu,97", RECORD_OFF_CPU, 97},
		{NULL, "97", 0, 97},
		{NULL, "off-cpu,", 0, 0},
		{NULL, "off", 0, 0},
		{"profile=max:50", "97,off-cpu", RECORD_OFF_CPU, 50},
		{"profile=deny", "off-cpu", 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record r;
		fake_reset();
		init(w, cases[i].policy, NULL);
		fake_option("ceems-profile", cases[i].value, 1);
		flags_after(w, &r);
		assert_int_equal(r.flags, cases[i].flags);
		assert_int_equal(r.profile_hz, cases[i].hz);
	}
}

static void perf_always_needs_no_option_but_the_option_narrows_it(void **state)
{
	struct world *w = *state;
	struct record r;
	init(w, "perf=always", NULL);
	flags_after(w, &r);
	assert_int_equal(r.flags, PERF_ALL);
	fake_reset();
	init(w, "perf=always", NULL);
	fake_option("ceems-perf", "software", 1);
	flags_after(w, &r);
	assert_int_equal(r.flags, RECORD_PERF_SW);
}

static void nogpu_counts_nothing_and_goes_with_the_others(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *policy, *value;
		uint32_t flags;
	} cases[] = {
		{NULL, "nogpu", RECORD_GPU_PAUSE},
		{NULL, "cache,nogpu", RECORD_PERF_CACHE | RECORD_GPU_PAUSE},
		{"perf=always", "nogpu", PERF_ALL | RECORD_GPU_PAUSE},
		{"perf=deny", "nogpu,software", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record r;
		fake_reset();
		init(w, cases[i].policy, NULL);
		fake_option("ceems-perf", cases[i].value, 1);
		flags_after(w, &r);
		assert_int_equal(r.flags, cases[i].flags);
	}
}

static void old_environment_trigger_counts_where_perf_is_allowed(void **state)
{
	struct world *w = *state;
	static const char *const on[] = {"CEEMS_ENABLE_PERF=1", NULL};
	static const char *const off[] = {"CEEMS_ENABLE_PERF=0", NULL};
	struct record r;
	fake.env = on;
	init(w, NULL, NULL);
	flags_after(w, &r);
	assert_int_equal(r.flags, PERF_ALL);
	init(w, "perf=deny", NULL);
	flags_after(w, &r);
	assert_int_equal(r.flags, 0);
	fake.env = off;
	init(w, NULL, NULL);
	flags_after(w, &r);
	assert_int_equal(r.flags, 0);
}

static void batch_of(struct world *w, const char *arg, const char *option,
		     struct record *r)
{
	init(w, arg, NULL);
	fake.step = RECORD_STEP_BATCH;
	if (option)
		assert_int_equal(fake_option("ceems-report", option, 1), 0);
	flags_after(w, r);
}

static void report_always_needs_no_option_but_a_user_may_refuse_it(void **state)
{
	struct world *w = *state;
	struct record r;
	init(w, "report=always", NULL);
	flags_after(w, &r);
	assert_int_equal(r.flags, RECORD_REPORT_TEXT);
	init(w, "report=always", NULL);
	assert_int_equal(fake_option("ceems-report", "none", 1), 0);
	flags_after(w, &r);
	assert_int_equal(r.flags, 0);
	init(w, "report=always", NULL);
	assert_int_equal(fake_option("ceems-report", "json", 1), 0);
	flags_after(w, &r);
	assert_int_equal(r.flags, RECORD_REPORT_JSON);
}

static void report_batch_is_of_batch_scripts_alone(void **state)
{
	struct world *w = *state;
	struct record r;
	init(w, "report=batch", NULL);
	flags_after(w, &r);
	assert_int_equal(r.flags, 0);
	fake_reset();
	batch_of(w, "report=batch", NULL, &r);
	assert_int_equal(r.flags, RECORD_REPORT_TEXT);
	fake_reset();
	batch_of(w, "report=batch", "none", &r);
	assert_int_equal(r.flags, 0);
	fake_reset();
	batch_of(w, NULL, NULL, &r);
	assert_int_equal(r.flags, 0);
}

static void
unknown_or_malformed_plugstack_arguments_are_logged_and_ignored(void **state)
{
	struct world *w = *state;
	static const char *const bad[] = {
		"colour=blue",
		"perf=maybe",
		"profile=max:0",
		"profile=max:9999",
		"report=",
		"ring=relative",
		"env=",
		"env=9A",
		"env=A-B",
		"env=A,,B",
		"perf",
		"",
		"env=ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHI",
	};
	struct record r;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_reset();
		assert_int_equal(init(w, bad[i], NULL), 0);
		assert_int_equal(fake_logged(FAKE_VERBOSE), 1);
		assert_int_equal(fake_logged(FAKE_INFO), 0);
		flags_after(w, &r);
		assert_int_equal(r.flags, 0);
	}
}

/* ---- hints ----------------------------------------------------------------------- */

static void site_chosen_environment_travels_bounded(void **state)
{
	struct world *w = *state;
	static char long_value[4200] = "LONG=";
	const char *env[] = {"A=1", "B=", long_value, "D=x\n\"y\"", "E=never", NULL};
	struct record r;
	memset(long_value + 5, 'v', sizeof(long_value) - 6);
	fake.env = env;
	init(w, "env=A,B,MISSING", "env=LONG,D");
	assert_int_equal(fake_logged(FAKE_VERBOSE), 1); /* a fifth name */
	flags_after(w, &r);
	assert_int_equal(r.env_count, 3);
	assert_string_equal(r.env[0].name, "A");
	assert_string_equal(r.env[0].value, "1");
	assert_string_equal(r.env[1].name, "B");
	assert_string_equal(r.env[1].value, "");
	assert_string_equal(r.env[2].name, "LONG");
	assert_int_equal(strlen(r.env[2].value), RECORD_ENV_VALUE_MAX - 1);
	assert_int_equal(r.flags & RECORD_CUT, RECORD_CUT);
}

static void long_names_are_cut_at_a_character_and_flagged(void **state)
{
	struct world *w = *state;
	static char name[4200] = "SLURM_JOB_NAME=";
	const char *env[] = {name,
			     "SLURM_JOB_ACCOUNT=a\"b\nc\\",
			     "SLURM_JOB_PARTITION=p",
			     "SLURM_JOB_USER=u",
			     "SLURM_JOB_SLUID=s7GK2P0QW",
			     "SLURM_HET_JOB_ID=4x",
			     NULL};
	struct record r;
	/* two-byte characters at odd offsets: 63 bytes end inside one */
	for (size_t i = 15; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	fake.env = env;
	init(w, NULL, NULL);
	flags_after(w, &r);
	assert_int_equal(strlen(r.name), 62);
	assert_int_equal(r.flags & RECORD_CUT, RECORD_CUT);
	assert_string_equal(r.account, "a\"b\nc\\");
	assert_string_equal(r.partition, "p");
	assert_string_equal(r.user, "u");
	assert_string_equal(r.sluid, "s7GK2P0QW");
	assert_int_equal(r.het_job, RECORD_NO_VAL);
}

static void step_record_with_everything_long_still_has_its_facts(void **state)
{
	struct world *w = *state;
	static char long_path[700], text[2600];
	static char values[9][300];
	static const char *const names[] = {"SLURM_JOB_NAME",
					    "SLURM_JOB_ACCOUNT",
					    "SLURM_JOB_PARTITION",
					    "SLURM_JOB_USER",
					    "SLURM_JOB_SLUID",
					    "A",
					    "B",
					    "C",
					    "D"};
	const char *env[10] = {NULL};
	struct record r;
	for (size_t i = 0; i < 9; i++) {
		int n = snprintf(values[i], sizeof(values[i]), "%s=", names[i]);
		memset(values[i] + n, 'x', sizeof(values[i]) - (size_t)n - 1);
		env[i] = values[i];
	}
	snprintf(long_path, sizeof(long_path),
		 "/slurm_n1/uid_1000/%.150s/job_41/step_0", values[0]);
	snprintf(text, sizeof(text), "5:cpuacct:%s\n4:memory:%s\n0::/a%s\n", long_path,
		 long_path, long_path);
	world_put(w, "proc/4711/cgroup", text);
	fake.env = env;
	init(w, "env=A,B,C,D", NULL);
	fork_task(TASK_PID);
	world_expect(w, RECORD_STEP_START, &r);
	assert_string_equal(r.unit, "41");
	assert_string_equal(record_cgroup(&r, CGROUP_CPUACCT), long_path);
	assert_int_equal(r.flags & RECORD_CUT, RECORD_CUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_NODE(each_kind_of_step_reads_only_the_variable_slurm_sets),
		ON_A_NODE(malformed_gpu_lists_are_refused),
		ON_A_NODE(gpu_lists_are_ranged_and_cut_at_a_range),
		ON_A_NODE(shards_and_mps_shares_are_taken_with_their_gpus),
		ON_A_NODE(options_travel_in_the_record),
		ON_A_NODE(
			options_without_a_value_mean_the_default_however_slurm_says_it),
		ON_A_NODE(bad_value_is_a_clear_error_before_the_job_starts),
		ON_A_NODE(forged_bad_value_in_slurmstepd_is_dropped),
		ON_A_NODE(very_long_values_are_refused),
		ON_A_NODE(denied_options_are_said_locally_and_ignored_never_an_error),
		ON_A_NODE(what_is_not_counted_yet_is_said_at_submit),
		ON_A_NODE(profile_rate_is_lowered_to_the_sites_maximum),
		ON_A_NODE(blocked_time_is_asked_for_with_or_without_a_rate),
		ON_A_NODE(perf_always_needs_no_option_but_the_option_narrows_it),
		ON_A_NODE(report_always_needs_no_option_but_a_user_may_refuse_it),
		ON_A_NODE(report_batch_is_of_batch_scripts_alone),
		ON_A_NODE(nogpu_counts_nothing_and_goes_with_the_others),
		ON_A_NODE(old_environment_trigger_counts_where_perf_is_allowed),
		ON_A_NODE(
			unknown_or_malformed_plugstack_arguments_are_logged_and_ignored),
		ON_A_NODE(site_chosen_environment_travels_bounded),
		ON_A_NODE(long_names_are_cut_at_a_character_and_flagged),
		ON_A_NODE(step_record_with_everything_long_still_has_its_facts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
