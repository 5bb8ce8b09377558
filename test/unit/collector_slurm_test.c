/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slurm collector on fixture trees, with a real unit table that is fed records. The
 * W numbers are weak points of other exporters that must not come back (doc/compat.md).
 */
#include "test/unit/collector_slurm_lab.h"

static void golden_of_cgroup_v1(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	l.options.slurm_swap = l.options.slurm_psi = l.options.slurm_steps = true;
	start(&l, "41", RECORD_STEP_EXTERN, JOB41 "/step_extern", CGROUP_MEMORY);
	start(&l, "41", RECORD_STEP_BATCH, JOB41 "/step_batch",
	      CGROUP_CPUACCT | CGROUP_MEMORY);
	start(&l, "41", 0, JOB41 "/step_0", V1_ALL);
	start(&l, "41", 0, "/slurm_n2/uid_1000/job_41/step_0", V1_ALL);
	start(&l, "40", 7, "/slurm_n1/uid_1000/job_40/step_7", V1_ALL);
	stop(&l, "40", 7, "/slurm_n1/uid_1000/job_40/step_7", 1557888, 1);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	golden_scrape("slurm_v1", l.prom);
	/* step_0, step_batch and the ended job: nanoseconds to the last digit */
	assert_string_equal(value(&l, "ceems_units_cpu_seconds_total", "mode=\"user\""),
			    "2.003115777");
	lab_done(&l);
}

static void golden_of_cgroup_v2(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v2");
	l.options.slurm_swap = l.options.slurm_psi = true;
	start(&l, "41", 0, "/system.slice/n1_slurmstepd.scope/job_41/step_0",
	      CGROUP_UNIFIED);
	start(&l, "42", RECORD_STEP_BATCH,
	      "/system.slice/slurmstepd.scope/s7GK2P0QW/step_batch", CGROUP_UNIFIED);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	golden_scrape("slurm_v2", l.prom);
	lab_done(&l);
}

static void without_swap_its_total_on_v2_is_the_memory_as_the_peer_has_it(void **state)
{
	(void)state;
	static const char text[] =
		"MemTotal:       16384000 kB\nSwapTotal:             0 kB\n";
	struct lab l;
	lab_init(&l, "test/fixture/v2");
	close(l.env.procfd);
	l.env.procfd = dup(l.folder_fd);
	auto_close int fd =
		openat(l.folder_fd, "meminfo", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	l.options.slurm_swap = true;
	start(&l, "41", 0, "/system.slice/n1_slurmstepd.scope/job_41/step_0",
	      CGROUP_UNIFIED);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(
		value(&l, "ceems_compute_unit_memsw_total_bytes", "uuid=\"41\""),
		"16777216000");
	lab_done(&l);
}

static void golden_of_a_hybrid_machine(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/hybrid");
	start(&l, "7", 0, "/slurm/uid_0/job_7/step_0", V1_ALL);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	golden_scrape("slurm_hybrid", l.prom);
	lab_done(&l);
}

static void golden_without_any_job(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	lab_open(&l);
	scrape(&l);
	golden_scrape("slurm_idle", l.prom);
	lab_done(&l);
}

static void
w17_failed_read_loses_one_unit_for_one_scrape_and_is_never_zero(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", "-1\n", "text\n",
					    "99999999999999999999\n"};
	static const char *const files[] = {
		"memory" JOB41 "/memory.usage_in_bytes",
		"memory" JOB41 "/memory.stat",
		"memory" JOB41 "/memory.max_usage_in_bytes",
		"memory" JOB41 "/memory.failcnt",
	};
	struct lab l;
	char copy[SCRATCH_PATH];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	scrape(&l);
	int of_n1 = lines(&l, "ceems_compute_unit_", N1);
	int of_n2 = lines(&l, "ceems_compute_unit_", N2);
	assert_true(of_n1 > 10 && of_n2 > 10);
	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		char good[2048];
		ssize_t n =
			fs_read_at(l.env.cgroupfd, files[f], good, sizeof(good), NULL);
		assert_true(n > 0);
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			spoil(&l, files[f], wrong[i]);
			now_ns += 61 * NSEC_PER_SEC; /* idle jobs are read again */
			scrape(&l);
			assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);
			assert_int_equal(lines(&l, "ceems_compute_unit_", N2), of_n2);
			assert_string_equal(
				value(&l, "ceems_compute_collect_error", N1), "1");
			assert_int_equal(lines(&l, "ceems_compute_collect_error", N2),
					 0);
			assert_string_equal(value(&l, "ceems_compute_units", "slurm"),
					    "2");
			spoil(&l, files[f], good);
			scrape(&l);
			assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
			assert_int_equal(lines(&l, "ceems_compute_collect_error", ""),
					 0);
		}
	}
	lab_done_copy(&l, copy);
}

/* Whether memory.stat of job 41 is read is seen by its being wrong. */
static void memory_stat_is_read_when_usage_changed_or_a_minute_is_over(void **state)
{
	(void)state;
	struct lab l;
	char copy[SCRATCH_PATH];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	scrape(&l);
	int of_n1 = lines(&l, "ceems_compute_unit_", N1);
	static const char *const used = "memory" JOB41 "/memory.usage_in_bytes";
	static const char *const stat = "memory" JOB41 "/memory.stat";
	char good[2048];
	assert_true(fs_read_at(l.env.cgroupfd, stat, good, sizeof(good), NULL) > 0);

	spoil(&l, stat, "text\n");
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	spoil(&l, used, "4096\n");
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);

	spoil(&l, stat, good);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", N1),
			    "4096");
	spoil(&l, stat, "text\n");
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	/* it ran; its usage is as exactly the same as the kernel knows it */
	spoil(&l, "cpuacct" JOB41 "/step_0/cpuacct.usage", "3000000002\n");
	spoil(&l, used, "204800\n");
	sample(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", N1),
			    "204800");
	spoil(&l, used, "266240\n"); /* 64 pages more than when it was read */
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);

	spoil(&l, stat, good);
	scrape(&l);
	spoil(&l, stat, "text\n");
	now_ns += 59 * NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), of_n1);
	now_ns += NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);
	lab_done_copy(&l, copy);
}

static void
w17_failed_cpu_read_loses_the_units_samples_once_and_is_never_zero(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", "-1\n", "text\n",
					    "99999999999999999999\n"};
	struct lab l;
	char copy[SCRATCH_PATH];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		spoil(&l, "cpuacct" JOB41 "/step_0/cpuacct.usage", wrong[i]);
		sample(&l);
		scrape(&l);
		assert_int_equal(lines(&l, "ceems_compute_unit_", N1), 0);
		assert_string_equal(value(&l, "ceems_compute_collect_error", N1), "1");
		assert_true(lines(&l, "ceems_compute_unit_", N2) > 0);
	}
	spoil(&l, "cpuacct" JOB41 "/step_0/cpuacct.usage", "3000000002\n");
	sample(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", N1),
			    "2.000000002");
	lab_done_copy(&l, copy);
}

static void
w19_cpus_are_counted_in_the_cpuset_and_kept_when_it_cannot_be_read(void **state)
{
	(void)state;
	struct lab l;
	char copy[SCRATCH_PATH];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	spoil(&l, "cpuset" JOB41 "/cpuset.cpus", "no list\n");
	scrape(&l);
	/* not read yet: what Slurm allocated; an empty cpuset is none */
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "6");
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N2), "6");
	spoil(&l, "cpuset" JOB41 "/cpuset.cpus", "0-3,8\n");
	now_ns += 61 * NSEC_PER_SEC;
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "5");
	spoil(&l, "cpuset" JOB41 "/cpuset.cpus", "no list\n");
	now_ns += 61 * NSEC_PER_SEC;
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "5");
	/* a step that starts may have changed it */
	spoil(&l, "cpuset" JOB41 "/cpuset.cpus", "0-6\n");
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "5");
	start(&l, "41", 1, JOB41 "/step_1", V1_ALL);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", N1), "7");
	assert_int_equal(lines(&l, "ceems_compute_collect_error", ""), 0);
	lab_done_copy(&l, copy);
}

static void w20_v1_unlimited_memory_is_the_allocation_not_nine_exabytes(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	struct record r = record(RECORD_STEP_START, "41", 0,
				 "/slurm_n2/uid_1000/job_41/step_0", V1_ALL);
	apply(&l, &r);
	/* a job of which nobody said what it was given: the machine's memory */
	r = record(RECORD_STEP_START, "43", 0, "/slurm_n2/uid_1000/job_41/step_0",
		   V1_ALL);
	r.memory_bytes = 0;
	apply(&l, &r);
	start(&l, "41", 0, JOB41 "/step_0", V1_ALL);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(
		value(&l, "ceems_compute_unit_memory_total_bytes", N2 ",uuid=\"41\""),
		"400000000");
	assert_string_equal(
		value(&l, "ceems_compute_unit_memory_total_bytes", "uuid=\"43\""),
		"16777216000");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_total_bytes", N1),
			    "536870912");
	lab_done(&l);
}

static void w21_v2_cpu_time_does_not_need_the_cpu_controller(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v2");
	start(&l, "42", RECORD_STEP_BATCH,
	      "/system.slice/slurmstepd.scope/s7GK2P0QW/step_batch", CGROUP_UNIFIED);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", ""),
			    "0.05");
	assert_string_equal(
		value(&l, "ceems_compute_unit_cpu_system_seconds_total", ""), "0.02");
	lab_done(&l);
}

static void w25_one_job_on_two_slurmds_of_a_host_has_two_series(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	two_jobs(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", N1),
			    "2.000000001");
	assert_string_equal(
		value(&l, "ceems_compute_unit_cpu_system_seconds_total", N2), "0.5");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", N1),
			    "250000000");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", N2),
			    "11000000");
	lab_done(&l);
}

static void w36_vanished_cgroup_costs_nobody_else_anything(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	two_jobs(&l);
	start(&l, "99", 0, "/slurm_n1/uid_1000/job_99/step_0", V1_ALL);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "3");
	assert_true(lines(&l, "ceems_compute_unit_", N1 ",uuid=\"41\"") > 10);
	assert_true(lines(&l, "ceems_compute_unit_", N2) > 10);
	/* its counters are known, its memory is not: no sample, no error */
	assert_int_equal(lines(&l, "_cpu_user_seconds_total", "uuid=\"99\""), 1);
	assert_int_equal(lines(&l, "_memory_", "uuid=\"99\""), 0);
	assert_int_equal(lines(&l, "ceems_compute_collect_error", ""), 0);
	lab_done(&l);
}

static void w37_jobs_and_slurmds_that_come_later_are_exported(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, "test/fixture/v1");
	lab_open(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "0");
	start(&l, "41", 0, "/slurm_n2/uid_1000/job_41/step_0", V1_ALL);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_units", "slurm"), "1");
	assert_true(lines(&l, "ceems_compute_unit_memory_used_bytes", N2) == 1);
	lab_done(&l);
}

static void w43_scrapes_open_nothing_again(void **state)
{
	(void)state;
	struct lab l;
	char copy[SCRATCH_PATH], tree[128];
	lab_init_copy(&l, copy);
	two_jobs(&l);
	scrape(&l);
	auto_buf struct buf first = BUF_INIT;
	buf_put(&first, l.text.data, l.text.len);
	/* the names go, the open files stay: a reading that opens fails now */
	(void)snprintf(tree, sizeof(tree), "%s/sys/fs/cgroup", copy);
	scratch_remove(tree);
	scrape(&l);
	assert_string_equal(l.text.data, first.data);
	lab_done_copy(&l, copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_of_cgroup_v1),
		cmocka_unit_test(golden_of_cgroup_v2),
		cmocka_unit_test(
			without_swap_its_total_on_v2_is_the_memory_as_the_peer_has_it),
		cmocka_unit_test(golden_of_a_hybrid_machine),
		cmocka_unit_test(golden_without_any_job),
		cmocka_unit_test(
			w17_failed_read_loses_one_unit_for_one_scrape_and_is_never_zero),
		cmocka_unit_test(
			memory_stat_is_read_when_usage_changed_or_a_minute_is_over),
		cmocka_unit_test(
			w17_failed_cpu_read_loses_the_units_samples_once_and_is_never_zero),
		cmocka_unit_test(
			w19_cpus_are_counted_in_the_cpuset_and_kept_when_it_cannot_be_read),
		cmocka_unit_test(
			w20_v1_unlimited_memory_is_the_allocation_not_nine_exabytes),
		cmocka_unit_test(w21_v2_cpu_time_does_not_need_the_cpu_controller),
		cmocka_unit_test(w25_one_job_on_two_slurmds_of_a_host_has_two_series),
		cmocka_unit_test(w36_vanished_cgroup_costs_nobody_else_anything),
		cmocka_unit_test(w37_jobs_and_slurmds_that_come_later_are_exported),
		cmocka_unit_test(w43_scrapes_open_nothing_again),
	};
	log_init("collector_slurm_test", LOG_LOGFMT, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
