/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of control groups, on hand-made trees (test/fixture/{v1,v2,hybrid}). */
#include "test/unit/cgroup_fixture.h"

static void split_is_exact_and_in_the_ratio_of_the_ticks(void **state)
{
	(void)state;
	static const struct {
		uint64_t usage, user, system, want_user;
	} cases[] = {
		{3000000001, 2000000000, 1000000000, 2000000001},
		{1557888, 0, 0, 1557888},
		{10, 0, 7, 0},
		{10, 7, 0, 10},
		{0, 5, 5, 0},
		{UINT64_MAX, 1, 1, UINT64_MAX / 2 + 1},
		{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX / 2 + 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cgroup_cpu cpu = {0};
		cgroup_split_usage(cases[i].usage, cases[i].user, cases[i].system,
				   &cpu);
		assert_true(cpu.user_ns == cases[i].want_user);
		assert_true(cpu.user_ns + cpu.system_ns == cases[i].usage);
	}
}

static void neither_part_of_the_split_ever_falls(void **state)
{
	(void)state;
	uint64_t seed = 12345, user = 0, system = 0, sum = 0;
	for (int i = 0; i < 100000; i++) {
		struct cgroup_cpu cpu = {0};
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		sum += seed >> 44;
		cgroup_split_usage(sum, seed % 7, (seed >> 8) % 7, &cpu);
		cgroup_keep_split(user, system, &cpu);
		assert_true(cpu.user_ns >= user);
		assert_true(cpu.system_ns >= system);
		assert_true(cpu.user_ns + cpu.system_ns == sum);
		user = cpu.user_ns;
		system = cpu.system_ns;
	}
	struct cgroup_cpu again = {.user_ns = 3, .system_ns = 4};
	cgroup_keep_split(user, system, &again);
	assert_true(again.user_ns == 3 && again.system_ns == 4);
}

static void v1_step_is_read(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct record_cgroup p =
		path_of(V1_ALL, "/slurm_n1/uid_1000/job_41/step_0/task_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	struct cgroup_memory m;
	struct cgroup_psi psi = {.some_ns = 7};
	uint64_t n = 7, rd, wr;
	uint32_t cpus;
	struct err err;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cgroup_read_cpu(c, &cpu, &err), 0);
		assert_true(cpu.user_ns == 2000000001 && cpu.system_ns == 1000000000);
		assert_true(cpu.has_throttling && cpu.periods == 100);
		assert_true(cpu.throttled_periods == 12 &&
			    cpu.throttled_ns == 345678901);
		assert_int_equal(cgroup_read_memory(c, true, NULL, &m, &err), 0);
		assert_true(m.rss_bytes == 120000000 && m.cache_bytes == 20000000);
		assert_true(m.used_bytes == 150000000 && m.limit_bytes == 536870912);
		assert_true(m.has_peak && m.peak_bytes == 536870912);
		assert_true(m.fail_count == 5 && m.oom_kills == 1);
		assert_true(m.has_swap && m.memsw_used_bytes == 150000000);
		assert_true(m.memsw_limit_bytes == 1073741824);
		assert_true(m.memsw_fail_count == 2);
		assert_int_equal(cgroup_read_cpus(c, &cpus, &err), 0);
		assert_int_equal(cpus, 4);
		assert_int_equal(cgroup_read_io(c, &rd, &wr, &err), 0);
		assert_true(rd == 4097 && wr == 8194);
		/* no pids hierarchy, no pressure on v1: said so, never zero */
		assert_int_equal(cgroup_read_pids(c, &n, &err), -ENODATA);
		assert_int_equal(cgroup_read_psi(c, "cpu", &psi, &err), -ENODATA);
		assert_true(n == 7 && psi.some_ns == 7);
	}
	assert_int_equal(cgroup_fds_open(c), 15);
	cgroup_fds_free(c);
}

static void v1_job_is_read_from_a_path_of_a_step(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct record_cgroup p = path_of(V1_ALL, "/slurm_n1/uid_1000/job_41/step_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, true);
	struct cgroup_memory m;
	uint32_t cpus;
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.used_bytes == 250000000 && !m.has_swap);
	assert_int_equal(cgroup_read_cpus(c, &cpus, NULL), 0);
	assert_int_equal(cpus, 5);
	cgroup_fds_free(c);
}

static void v1_extern_has_memory_but_no_cpu_time_of_its_own(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct record_cgroup p =
		path_of(CGROUP_MEMORY, "/slurm_n1/uid_1000/job_41/step_extern");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_memory m;
	struct cgroup_cpu cpu;
	struct record_counters r = {.source = COUNTERS_RUSAGE};
	struct err err;
	assert_int_equal(cgroup_read_memory(c, true, NULL, &m, &err), 0);
	assert_true(m.peak_bytes == 1500000 && !m.has_swap);
	assert_int_equal(cgroup_read_cpu(c, &cpu, &err), -ENODATA);
	cgroup_fds_free(c);
	assert_int_equal(
		cgroup_final_counters(fd, "", &l, &p, 1, &nothing_known, &r, &err),
		-ENODATA);
	assert_int_equal(r.source, COUNTERS_RUSAGE);
}

static void w20_v1_unlimited_is_not_nine_exabytes(void **state)
{
	(void)state;
	/* pages of 4, 16 and 64 KiB, res_counter of old kernels, all ones */
	static const char *const limits[] = {
		"9223372036854771712\n", "9223372036854759424\n",
		"9223372036854710272\n", "9223372036854775807\n",
		"18446744073709551615\n"};
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v1", &l);
	struct record_cgroup p = path_of(V1_ALL, "/slurm_n2/uid_1000/job_41/step_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, true);
	struct cgroup_memory m;
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.limit_bytes == CGROUP_UNLIMITED);
	cgroup_fds_free(c);

	static const char *const files[][2] = {
		{"memory/j/step_0/memory.usage_in_bytes", "1\n"},
		{"memory/j/step_0/memory.failcnt", "0\n"},
		{"memory/j/step_0/memory.stat", "total_cache 1\ntotal_rss 2\n"},
		{"memory/j/step_0/memory.oom_control", "under_oom 0\n"}};
	for (size_t i = 0; i < 4; i++)
		put(files[i][0], files[i][1]);
	p = path_of(CGROUP_MEMORY, "/j/step_0");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		/* as a file of its own, and where memory.stat says it */
		char stat[128];
		put("memory/j/step_0/memory.stat", "total_cache 1\ntotal_rss 2\n");
		put("memory/j/step_0/memory.limit_in_bytes", limits[i]);
		c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
		assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
		assert_true(m.limit_bytes == CGROUP_UNLIMITED);
		(void)snprintf(stat, sizeof(stat),
			       "hierarchical_memory_limit %stotal_cache 1\n"
			       "total_rss 2\n",
			       limits[i]);
		put("memory/j/step_0/memory.stat", stat);
		put("memory/j/step_0/memory.limit_in_bytes", "5\n");
		assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
		assert_true(m.limit_bytes == CGROUP_UNLIMITED);
		cgroup_fds_free(c);
	}
}

static void v2_step_counts_its_tasks_and_not_slurmstepd(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v2", &l);
	struct record_cgroup p = path_of(
		CGROUP_UNIFIED, "/system.slice/n1_slurmstepd.scope/job_41/step_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	uint64_t rd, wr;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 2000000000 && cpu.system_ns == 1000001000);
	assert_true(cpu.has_throttling && cpu.throttled_ns == 345678000);
	assert_int_equal(cgroup_read_io(c, &rd, &wr, NULL), 0);
	assert_true(rd == 4097 && wr == 8194);
	cgroup_fds_free(c);
}

static void v2_step_without_user_counts_the_step_until_user_is_made(void **state)
{
	(void)state;
	put("j/step_0/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
	struct record_cgroup p = path_of(CGROUP_UNIFIED, "/j/step_0");
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v2_layout, &p, 1, false);
	struct cgroup_cpu cpu;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns + cpu.system_ns == 9000 && !cpu.has_throttling);
	put("j/step_0/user/cpu.stat", "usage_usec 3\nuser_usec 2\nsystem_usec 1\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 2000 && cpu.system_ns == 1000);
	cgroup_fds_free(c);
}

static void v2_job_is_read(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v2", &l);
	struct record_cgroup p = path_of(
		CGROUP_UNIFIED, "/system.slice/n1_slurmstepd.scope/job_41/step_0");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, true);
	struct cgroup_memory m;
	struct cgroup_psi psi;
	uint64_t n;
	uint32_t cpus;
	assert_int_equal(cgroup_read_memory(c, true, NULL, &m, NULL), 0);
	assert_true(m.rss_bytes == 200000000 && m.cache_bytes == 40000000);
	assert_true(m.limit_bytes == 536870912 && m.fail_count == 3);
	assert_true(m.oom_kills == 1 && m.has_peak && m.peak_bytes == 300000000);
	assert_true(m.has_swap && m.memsw_used_bytes == 1000);
	assert_true(m.memsw_limit_bytes == CGROUP_UNLIMITED && m.memsw_fail_count == 4);
	assert_int_equal(cgroup_read_pids(c, &n, NULL), 0);
	assert_true(n == 12);
	assert_int_equal(cgroup_read_cpus(c, &cpus, NULL), 0);
	assert_int_equal(cpus, 5);
	assert_int_equal(cgroup_read_psi(c, "cpu", &psi, NULL), 0);
	assert_true(psi.some_ns == 1500000000 && psi.full_ns == 250000000);
	assert_int_equal(cgroup_read_psi(c, "memory", &psi, NULL), 0);
	assert_true(psi.some_ns == 20000 && psi.has_full);
	assert_int_equal(cgroup_read_psi(c, "io", &psi, NULL), 0);
	assert_true(psi.some_ns == 30000 && !psi.has_full);
	cgroup_fds_free(c);
}

static void w21_v2_cpu_time_needs_no_cpu_controller(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("v2", &l);
	struct record_cgroup p = path_of(
		CGROUP_UNIFIED, "/system.slice/slurmstepd.scope/s7GK2P0QW/step_batch");
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	struct cgroup_memory m;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 50000000 && cpu.system_ns == 20000000);
	assert_false(cpu.has_throttling);
	/* and memory.peak is newer than some kernels */
	assert_int_equal(cgroup_read_memory(c, true, NULL, &m, NULL), 0);
	assert_true(!m.has_peak && !m.has_swap && m.limit_bytes == CGROUP_UNLIMITED);
	cgroup_fds_free(c);
}

static void hybrid_reads_v1_in_joint_mounts(void **state)
{
	(void)state;
	struct cgroup_layout l;
	auto_close int fd = open_fixture("hybrid", &l);
	struct record_cgroup p[] = {
		path_of(V1_ALL, "/slurm/uid_0/job_7/step_0"),
		path_of(CGROUP_UNIFIED, "/"),
	};
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, p, 2, false);
	struct cgroup_cpu cpu;
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	/* younger than a tick of usage_user: cpuacct.stat says 1 to 3 */
	assert_true(cpu.user_ns == 3 && cpu.system_ns == 7);
	assert_true(cpu.has_throttling && cpu.throttled_ns == 9);
	cgroup_fds_free(c);
	c = cgroup_fds_new(fd, &l, p, 1, true);
	uint64_t n;
	assert_int_equal(cgroup_read_pids(c, &n, NULL), 0);
	assert_true(n == 3);
	cgroup_fds_free(c);
}

static void final_counters_name_their_source(void **state)
{
	(void)state;
	struct cgroup_layout l;
	struct record_counters r;
	struct record_cgroup p = path_of(V1_ALL, "/slurm_n1/uid_1000/job_41/step_0");
	auto_close int v1 = open_fixture("v1", &l);
	assert_int_equal(
		cgroup_final_counters(v1, "", &l, &p, 1, &nothing_known, &r, NULL), 0);
	assert_int_equal(r.source, COUNTERS_CGROUP_V1);
	assert_true(r.cpu_user_ns == 2000000001 && r.cpu_system_ns == 1000000000);
	assert_true(r.has_memory && r.memory_peak_bytes == 536870912);
	assert_true(r.oom_kills == 1 && r.read_ns > 0);
	assert_true(r.has_io && r.io_read_bytes == 4097 && r.io_write_bytes == 8194);
	/* a step of 1.6 ms */
	p = path_of(CGROUP_CPUACCT, "/slurm_n1/uid_1000/job_41/step_batch");
	assert_int_equal(
		cgroup_final_counters(v1, "", &l, &p, 1, &nothing_known, &r, NULL), 0);
	assert_true(r.cpu_user_ns == 1557888 && r.cpu_system_ns == 0);
	assert_true(!r.has_memory && !r.has_io && r.oom_kills == 0);
	p = path_of(CGROUP_UNIFIED,
		    "/system.slice/n1_slurmstepd.scope/job_41/step_0/user/task_0");
	auto_close int v2 = open_fixture("v2", &l);
	assert_int_equal(
		cgroup_final_counters(v2, "", &l, &p, 1, &nothing_known, &r, NULL), 0);
	assert_int_equal(r.source, COUNTERS_CGROUP_V2);
	assert_true(r.cpu_user_ns == 2000000000 && r.cpu_system_ns == 1000001000);
	assert_true(r.has_memory && r.memory_peak_bytes == 200000000);
	assert_true(r.has_io && r.io_write_bytes == 8194);
}

static void
final_counters_of_a_step_that_has_not_run_since_are_not_read_again(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(V1_ALL, "/known/step_0");
	struct record_counters r = {.source = COUNTERS_RUSAGE};
	struct cgroup_known known = {
		.has_cpu = true, .cpu_user_ns = 75, .cpu_system_ns = 25};
	put("cpuacct/known/step_0/cpuacct.usage", "100\n");
	put("cpuacct/known/step_0/cpuacct.usage_user", "not read\n");
	put("memory/known/step_0/memory.max_usage_in_bytes", "not read\n");
	assert_int_equal(cgroup_final_counters(AT_FDCWD, scratch, &v1_layout, &p, 1,
					       &known, &r, NULL),
			 1);
	assert_int_equal(r.source, COUNTERS_RUSAGE);
	/* it has run; how, its own processes say */
	put("cpuacct/known/step_0/cpuacct.usage", "200\n");
	known.ratio_user_ns = 100;
	known.ratio_system_ns = 50;
	assert_int_equal(cgroup_final_counters(AT_FDCWD, scratch, &v1_layout, &p, 1,
					       &known, &r, NULL),
			 0);
	assert_true(r.cpu_user_ns == 134 && r.cpu_system_ns == 66);
	/* those of less than three quarters do not speak for the others */
	known.ratio_system_ns = 49;
	assert_int_equal(cgroup_final_counters(AT_FDCWD, scratch, &v1_layout, &p, 1,
					       &known, &r, NULL),
			 -EINVAL);
	known.ratio_user_ns = known.ratio_system_ns = UINT64_MAX;
	assert_int_equal(cgroup_final_counters(AT_FDCWD, scratch, &v1_layout, &p, 1,
					       &known, &r, NULL),
			 -EINVAL);
	known.ratio_user_ns = known.ratio_system_ns = 0;
	/* it has run, in user mode if one believes the ticks: no part goes back */
	put("cpuacct/known/step_0/cpuacct.usage", "110\n");
	put("cpuacct/known/step_0/cpuacct.usage_user", "2\n");
	put("cpuacct/known/step_0/cpuacct.usage_sys", "0\n");
	assert_int_equal(cgroup_final_counters(AT_FDCWD, scratch, &v1_layout, &p, 1,
					       &known, &r, NULL),
			 0);
	assert_true(r.cpu_user_ns == 85 && r.cpu_system_ns == 25 && !r.has_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(split_is_exact_and_in_the_ratio_of_the_ticks),
		cmocka_unit_test(neither_part_of_the_split_ever_falls),
		cmocka_unit_test(v1_step_is_read),
		cmocka_unit_test(v1_job_is_read_from_a_path_of_a_step),
		cmocka_unit_test(v1_extern_has_memory_but_no_cpu_time_of_its_own),
		cmocka_unit_test(w20_v1_unlimited_is_not_nine_exabytes),
		cmocka_unit_test(v2_step_counts_its_tasks_and_not_slurmstepd),
		cmocka_unit_test(
			v2_step_without_user_counts_the_step_until_user_is_made),
		cmocka_unit_test(v2_job_is_read),
		cmocka_unit_test(w21_v2_cpu_time_needs_no_cpu_controller),
		cmocka_unit_test(hybrid_reads_v1_in_joint_mounts),
		cmocka_unit_test(final_counters_name_their_source),
		cmocka_unit_test(
			final_counters_of_a_step_that_has_not_run_since_are_not_read_again),
	};
	return cmocka_run_group_tests_name("cgroup_read", tests, setup, teardown);
}
