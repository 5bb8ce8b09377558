/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which series of the slurm collector there are: whose, for how long, with what labels.
 */
#include "test/unit/collector_slurm_lab.h"

static void ended_units_keep_their_counters_until_they_leave_the_table(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	start(&l, "41", RECORD_STEP_EXTERN, JOB41 "/step_extern", CGROUP_MEMORY);
	start(&l, "41", 0, JOB41 "/step_0", V1_ALL);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_memory_used_bytes", N1), 1);
	now_ns += NSEC_PER_SEC;
	stop(&l, "41", 0, JOB41 "/step_0", 4000000000, 2000000003);
	stop(&l, "41", RECORD_STEP_EXTERN, JOB41 "/step_extern", 0, 0);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "0");
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", N1),
			    "4");
	assert_string_equal(
		value(&l, "ceems_compute_unit_cpu_system_seconds_total", N1),
		"2.000000003");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_peak_bytes", N1),
			    "536870912");
	assert_int_equal(lines(&l, "_memory_used_bytes", ""), 0);
	assert_int_equal(lines(&l, "_memory_rss_bytes", ""), 0);
	assert_int_equal(lines(&l, "ceems_compute_unit_cpus", ""), 0);
	const struct units_policy policy = {.linger_ms = 60000, .max_exported = 100};
	now_ns += 200 * NSEC_PER_SEC;
	units_expire(l.env.units, now_ns, &policy);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", ""), 0);
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "user"), "4");
	/* step_0 had a process killed for memory, as its live reading said */
	assert_string_equal(value(&l, "ceems_units_ended_total", "oom"), "1");
	lab_done(&l);
}

static void newer_run_of_a_job_takes_over_its_series(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	l.options.slurm_steps = true;
	start(&l, "41", 0, JOB41 "/step_0", V1_ALL);
	lab_open(&l);
	scrape(&l);
	now_ns += NSEC_PER_SEC;
	stop(&l, "41", 0, JOB41 "/step_0", 9000000000, 0);
	struct record r = record(RECORD_STEP_START, "41", 0, JOB41 "/step_0", V1_ALL);
	r.restarts = 1;
	apply(&l, &r);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_cpu_user_seconds_total", N1), 1);
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", N1),
			    "0");
	assert_int_equal(lines(&l, "_step_cpu_user_seconds_total", N1), 1);
	/* the former run is still in the node's total */
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "user"), "9");
	lab_done(&l);
}

static void no_two_samples_have_the_same_labels(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	l.options.slurm_swap = l.options.slurm_steps = true;
	two_jobs(&l);
	for (uint32_t restart = 1; restart < 4; restart++) {
		struct record r =
			record(RECORD_STEP_START, "41", 0, JOB41 "/step_0", V1_ALL);
		r.restarts = restart;
		apply(&l, &r);
	}
	scrape(&l);
	const char *p = l.text.data;
	while (*p) {
		const char *nl = strchr(p, '\n');
		const char *space = memrchr(p, ' ', (size_t)(nl - p));
		char series[512];
		assert_true(space - p < (long)sizeof(series) - 2);
		(void)snprintf(series, sizeof(series), "\n%.*s ", (int)(space - p), p);
		if (p[0] != '#')
			assert_null(strstr(nl, series));
		p = nl + 1;
	}
	lab_done(&l);
}

static void node_counters_are_the_sum_of_the_units(void **state)
{
	(void)state;
	struct lab l;
	char path[64], job[16];
	lab_init(&l, "test/fixture/v1");
	lab_open(&l);
	uint64_t user = 0;
	for (unsigned i = 0; i < 20; i++) {
		(void)snprintf(job, sizeof(job), "%u", 100 + i);
		(void)snprintf(path, sizeof(path), "/slurm_n1/uid_1/job_%u/step_0",
			       100 + i);
		start(&l, job, 0, path, V1_ALL);
		stop(&l, job, 0, path, 1000000007ull * (i + 1), 5);
		user += 1000000007ull * (i + 1);
	}
	scrape(&l);
	char want[32];
	(void)snprintf(want, sizeof(want), "%llu.%09llu",
		       (unsigned long long)(user / NSEC_PER_SEC),
		       (unsigned long long)(user % NSEC_PER_SEC));
	while (want[strlen(want) - 1] == '0')
		want[strlen(want) - 1] = '\0';
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "user"), want);
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "system"),
			    "0.0000001");
	assert_string_equal(value(&l, "ceems_units_started_total", ""), "20");
	assert_string_equal(value(&l, "ceems_steps_started_total", ""), "20");
	assert_string_equal(value(&l, "ceems_steps_ended_total", ""), "20");
	lab_done(&l);
}

static void units_below_min_export_have_no_series(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	l.options.unit_min_export_ms = 30000;
	two_jobs(&l);
	now_ns += 29 * NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", ""), 0);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "2");
	now_ns += 2 * NSEC_PER_SEC;
	scrape(&l);
	assert_true(lines(&l, "ceems_compute_unit_", N1) > 10);
	lab_done(&l);
}

static void label_values_are_escaped(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	struct record r =
		record(RECORD_STEP_START, "a\"b\\c\nd\xff", 0, JOB41 "/step_0", V1_ALL);
	apply(&l, &r);
	lab_open(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_memory_used_bytes",
			       "uuid=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\""),
			 1);
	lab_done(&l);
}

static void fake_slurmd(const char *path)
{
	char text[512], cwd[256];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	(void)snprintf(text, sizeof(text),
		       "#!/bin/sh\n[ \"$*\" = '-G -L /dev/null -N n1' ] || exit 3\n"
		       "cat %s/test/fixture/gpus/slurmd-G/22.05-skip0.txt >&2\n",
		       cwd);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, text, strlen(text), 0755, NULL), 0);
}

static void gpu_flag_needs_slurmd_and_is_asked_for_again(void **state)
{
	(void)state;
	struct lab l;
	char script[96];
	lab_init(&l, "test/fixture/v1");
	(void)snprintf(script, sizeof(script), "%s/slurmd", l.folder);
	l.options.slurmd_path = script;
	struct record r = record(RECORD_STEP_START, "41", 0, JOB41 "/step_0", V1_ALL);
	record_set(&r, r.gpus, sizeof(r.gpus), "0-1");
	r.flags |= RECORD_GPUS_TRUSTED;
	apply(&l, &r);
	/* an index that this node does not have */
	r = record(RECORD_STEP_START, "50", 0, JOB41 "/step_0", V1_ALL);
	record_set(&r, r.gpus, sizeof(r.gpus), "0,7");
	r.flags |= RECORD_GPUS_TRUSTED;
	apply(&l, &r);
	/* what the user's own environment said */
	r = record(RECORD_STEP_START, "51", 0, JOB41 "/step_0", V1_ALL);
	record_set(&r, r.gpus, sizeof(r.gpus), "0");
	apply(&l, &r);
	lab_open(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 0);
	assert_true(lines(&l, "ceems_compute_unit_", "uuid=\"41\"") > 10);
	fake_slurmd(script);
	now_ns += 59 * NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 0);
	now_ns += 2 * NSEC_PER_SEC;
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_gpu_index_flag",
				  "uuid=\"41\",index=\"0\",hindex=\"host1/gpu-0\""),
			    "1");
	assert_int_equal(lines(&l, "gpu_index_flag", "index=\"1\""), 1);
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 2);
	assert_true(lines(&l, "ceems_compute_unit_", "uuid=\"50\"") > 10);
	lab_done(&l);
}

/* A slurmd -G that waits for its slurmctld: scrapes go on without the gpus, and have
 * them when it answers. */
static void a_slurmd_that_hangs_holds_up_no_scrape(void **state)
{
	(void)state;
	struct lab l;
	char script[96], fifo[96], text[512], cwd[256];
	lab_init(&l, "test/fixture/v1");
	(void)snprintf(script, sizeof(script), "%s/slurmd", l.folder);
	(void)snprintf(fifo, sizeof(fifo), "%s/answer", l.folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	(void)snprintf(text, sizeof(text),
		       "#!/bin/sh\nread go <%s\n"
		       "cat %s/test/fixture/gpus/slurmd-G/22.05-skip0.txt >&2\n",
		       fifo, cwd);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, script, text, strlen(text), 0755, NULL),
		0);
	l.options.slurmd_path = script;
	struct record r = record(RECORD_STEP_START, "41", 0, JOB41 "/step_0", V1_ALL);
	record_set(&r, r.gpus, sizeof(r.gpus), "0-1");
	r.flags |= RECORD_GPUS_TRUSTED;
	apply(&l, &r);
	lab_open(&l);
	/* would end by slurmd's deadline only, and with no gpus after it */
	scrape(&l);
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 0);
	assert_true(lines(&l, "ceems_compute_unit_", "uuid=\"41\"") > 10);
	int fd = -1;
	for (int i = 0; i < 1000 && fd < 0; i++) {
		fd = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		usleep(10000);
	}
	assert_true(fd >= 0); /* it still waits for it */
	assert_int_equal(fs_write_all(fd, "go\n", 3), 0);
	close(fd);
	for (int i = 0; i < 3000 && !lines(&l, "gpu_index_flag", ""); i++) {
		usleep(10000);
		scrape(&l);
	}
	assert_int_equal(lines(&l, "gpu_index_flag", ""), 2);
	lab_done(&l);
}

static void without_a_unit_table_there_is_no_collector(void **state)
{
	(void)state;
	struct lab l;
	struct err err;
	lab_init(&l, "test/fixture/v1");
	struct env env = l.env;
	env.units = NULL;
	void *s = NULL;
	assert_int_equal(collector_slurm.open(&env, &s, &err), -ENODEV);
	assert_null(s);
	collector_slurm.close(NULL);
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			ended_units_keep_their_counters_until_they_leave_the_table),
		cmocka_unit_test(newer_run_of_a_job_takes_over_its_series),
		cmocka_unit_test(no_two_samples_have_the_same_labels),
		cmocka_unit_test(node_counters_are_the_sum_of_the_units),
		cmocka_unit_test(units_below_min_export_have_no_series),
		cmocka_unit_test(label_values_are_escaped),
		cmocka_unit_test(gpu_flag_needs_slurmd_and_is_asked_for_again),
		cmocka_unit_test(a_slurmd_that_hangs_holds_up_no_scrape),
		cmocka_unit_test(without_a_unit_table_there_is_no_collector),
	};
	log_init("collector_slurm_test", LOG_LOGFMT, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
