/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of control groups that are wrong, vanish or are kept open, on hand-made trees
 * and, as root on a machine that has v1, on real ones: only those can vanish under an
 * open file. */
#include <sys/resource.h>

#include "test/unit/cgroup_fixture.h"

static void good_v1_step(void)
{
	put("cpuacct/j/step_0/cpuacct.usage", "100\n");
	put("cpuacct/j/step_0/cpuacct.usage_user", "3\n");
	put("cpuacct/j/step_0/cpuacct.usage_sys", "1\n");
	put("cpuset/j/step_0/cpuset.cpus", "0-1\n");
	put("memory/j/step_0/memory.usage_in_bytes", "1\n");
	put("memory/j/step_0/memory.limit_in_bytes", "2\n");
	put("memory/j/step_0/memory.max_usage_in_bytes", "3\n");
	put("memory/j/step_0/memory.failcnt", "4\n");
	put("memory/j/step_0/memory.stat", "total_cache 5\ntotal_rss 6\n");
	put("memory/j/step_0/memory.oom_control", "oom_kill 7\n");
}

static int read_all(const struct record_cgroup *p, struct err *err)
{
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, p, 1, false);
	struct cgroup_cpu cpu, cpu_before;
	struct cgroup_memory m, m_before;
	uint32_t cpus = 77;
	/* what a failed reading must not touch */
	memset(&cpu, 0x55, sizeof(cpu));
	memset(&m, 0x55, sizeof(m));
	cpu_before = cpu;
	m_before = m;
	int first = cgroup_read_cpu(c, &cpu, err);
	if (first < 0)
		assert_memory_equal(&cpu, &cpu_before, sizeof(cpu));
	int rc = first ? 0 : cgroup_read_memory(c, false, NULL, &m, err);
	if (rc < 0)
		assert_memory_equal(&m, &m_before, sizeof(m));
	int third = first || rc ? 0 : cgroup_read_cpus(c, &cpus, err);
	if (third < 0)
		assert_int_equal(cpus, 77);
	cgroup_fds_free(c);
	return first ? first : rc ? rc : third;
}

static struct cgroup_cpu split_of(const char *user, const char *system,
				  const char *ticks)
{
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct cgroup_cpu cpu = {0};

	put("cpuacct/j/step_0/cpuacct.usage", "10000000007\n");
	put("cpuacct/j/step_0/cpuacct.usage_user", user);
	put("cpuacct/j/step_0/cpuacct.usage_sys", system);
	put("cpuacct/j/step_0/cpuacct.stat", ticks);
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	cgroup_fds_free(c);
	assert_true(cpu.user_ns + cpu.system_ns == 10000000007);
	return cpu;
}

/* They charge to where the kernel was then: nearly all of it as system time. */
static void a_kernel_before_5_17_is_split_by_ticks(void **state)
{
	(void)state;
	struct cgroup_cpu cpu =
		split_of("1000000000\n", "9000000007\n", "user 900\nsystem 100\n");
	assert_true(cpu.user_ns >= 9000000000 && cpu.user_ns <= 9000000007);
	/* no better by ticks, cut as they are: to the nanosecond */
	cpu = split_of("9004000000\n", "996000007\n", "user 900\nsystem 99\n");
	assert_true(cpu.user_ns == 9004000000);
	cpu = split_of("1000000000\n", "9000000007\n", "user 2\nsystem 1\n");
	assert_true(cpu.user_ns == 1000000000);
}

static void wrong_files_are_errors_that_name_them_and_change_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *file, *text;
		int rc;
		const char *says;
	} cases[] = {
		{"cpuacct/j/step_0/cpuacct.usage", "", -EINVAL, "empty"},
		{"cpuacct/j/step_0/cpuacct.usage", "-5\n", -EINVAL, "not an unsigned"},
		{"cpuacct/j/step_0/cpuacct.usage", "12x\n", -EINVAL, "not an unsigned"},
		{"cpuacct/j/step_0/cpuacct.usage", "18446744073709551616\n", -ERANGE,
		 "too large"},
		{"cpuacct/j/step_0/cpuacct.usage_user", "max\n", -EINVAL,
		 "not an unsigned"},
		{"cpuacct/j/step_0/cpuacct.usage_sys", "1\n2\n", -EINVAL,
		 "not an unsigned"},
		{"memory/j/step_0/memory.usage_in_bytes", "\n", -EINVAL,
		 "not an unsigned"},
		{"memory/j/step_0/memory.limit_in_bytes", "-1\n", -EINVAL,
		 "not an unsigned"},
		{"memory/j/step_0/memory.stat",
		 "hierarchical_memory_limit -1\ntotal_rss 1\ntotal_cache 1\n", -EINVAL,
		 "hierarchical_memory_limit: not an unsigned"},
		{"memory/j/step_0/memory.stat", "", -EINVAL, "total_rss: missing"},
		{"memory/j/step_0/memory.stat", "total_rss 1\n", -EINVAL,
		 "total_cache: missing"},
		{"memory/j/step_0/memory.stat", "total_rss 1\ntotal_cache 12", -EINVAL,
		 "total_cache: cut off"},
		{"memory/j/step_0/memory.stat", "total_rss -1\ntotal_cache 1\n",
		 -EINVAL, "total_rss: not an unsigned"},
		{"memory/j/step_0/memory.stat",
		 "total_rss 99999999999999999999\ntotal_cache 1\n", -ERANGE,
		 "total_rss: number too large"},
		{"memory/j/step_0/memory.oom_control", "oom_kill many\n", -EINVAL,
		 "oom_kill"},
		{"memory/j/step_0/memory.failcnt", "hello\n", -EINVAL,
		 "not an unsigned"},
		{"cpuset/j/step_0/cpuset.cpus", "3-1\n", -ERANGE, "list of CPUs"},
		{"cpuset/j/step_0/cpuset.cpus", "0-99999999\n", -ERANGE,
		 "list of CPUs"},
		{"cpuset/j/step_0/cpuset.cpus", "all\n", -EINVAL, "list of CPUs"},
		{"cpuset/j/step_0/cpuset.cpus", "\n", -ENODATA, "empty"},
	};
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct err err;
	good_v1_step();
	assert_int_equal(read_all(&p, &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		good_v1_step();
		put(cases[i].file, cases[i].text);
		assert_int_equal(read_all(&p, &err), cases[i].rc);
		assert_non_null(strstr(err.text, cases[i].file));
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

static void huge_files_are_refused(void **state)
{
	(void)state;
	static char text[20001];
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct err err;
	memset(text, '1', sizeof(text) - 1);
	good_v1_step();
	put("cpuacct/j/step_0/cpuacct.usage", text);
	assert_int_equal(read_all(&p, &err), -EFBIG);
	assert_non_null(strstr(err.text, "cpuacct.usage: too long"));
	good_v1_step();
	put("memory/j/step_0/memory.stat", text);
	assert_int_equal(read_all(&p, &err), -EFBIG);
	assert_non_null(strstr(err.text, "memory.stat: too long"));
}

static void missing_files_and_directories_are_told_apart(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct err err;
	good_v1_step();
	take("memory/j/step_0/memory.max_usage_in_bytes"); /* optional */
	assert_int_equal(read_all(&p, &err), 0);
	take("memory/j/step_0/memory.failcnt");
	assert_int_equal(read_all(&p, &err), -ENODATA);
	assert_non_null(strstr(err.text, "memory.failcnt: no such file"));
	good_v1_step();
	take("cpuacct/j/step_0/cpuacct.usage_user");
	take("cpuacct/j/step_0/cpuacct.usage_sys");
	assert_int_equal(read_all(&p, &err), 0);
	p = path_of(V1_ALL, "/j/step_9");
	assert_int_equal(read_all(&p, &err), -ENODEV);
	assert_non_null(
		strstr(err.text, "cpuacct/j/step_9: the control group is gone"));
	good_v1_step();
}

static void near_the_limit_of_open_files_none_is_kept(void **state)
{
	(void)state;
	struct rlimit was, low;
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct cgroup_memory m;
	struct cgroup_cpu cpu;
	good_v1_step();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	low = was;
	low.rlim_cur = 4; /* all of them taken by now: a quarter is spare */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	struct err err;
	int full = cgroup_read_cpu(c, &cpu, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(full, -EMFILE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
		assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
		assert_true(cpu.user_ns == 75 && cpu.system_ns == 25);
		assert_int_equal(cgroup_fds_open(c), 0);
	}
	cgroup_fds_free(c);
}

static void split_goes_on_where_a_former_daemon_was(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct cgroup_cpu cpu;
	good_v1_step();
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	cgroup_fds_seed_cpu(c, 50, 40);
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 60 && cpu.system_ns == 40);
	cgroup_fds_free(c);
}

/* Real cgroups: v1 cpuacct and memory below a directory of our own. */
static char real_dir[64];
static const char *const real_trees[] = {"cpuacct", "memory"};

static bool real_make(void)
{
	for (size_t i = 0; i < 2; i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s",
			       real_trees[i], real_dir);
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return false;
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s/step_0",
			       real_trees[i], real_dir);
		if (mkdir(path, 0755) < 0)
			return false;
	}
	return true;
}

static void real_remove(const char *sub)
{
	for (size_t i = 0; i < 2; i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s%s",
			       real_trees[i], real_dir, sub);
		(void)rmdir(path);
	}
}

static void removed_and_remade_cgroups_are_noticed(void **state)
{
	(void)state;
	struct cgroup_layout l;
	struct err err;
	auto_close int fd = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (geteuid() != 0 || fd < 0 || cgroup_probe(fd, &l, &err) < 0 ||
	    strcmp(l.cpuacct, "cpuacct") != 0 || strcmp(l.memory, "memory") != 0) {
		print_message("# needs root and v1 cpuacct and memory\n");
		skip();
	}
	(void)snprintf(real_dir, sizeof(real_dir), "slurm_ceemstest%d", getpid());
	if (!real_make()) {
		real_remove("/step_0");
		real_remove("");
		print_message("# no cgroups can be made here\n");
		skip();
	}
	char path[128];
	(void)snprintf(path, sizeof(path), "/%s/step_0", real_dir);
	struct record_cgroup p = path_of(V1_ALL, path);
	struct cgroup_fds *c = cgroup_fds_new(fd, &l, &p, 1, false);
	struct cgroup_cpu cpu;
	struct cgroup_memory m;
	int live_cpu = cgroup_read_cpu(c, &cpu, &err);
	int live_memory = cgroup_read_memory(c, true, NULL, &m, &err);
	unsigned kept = cgroup_fds_open(c);
	real_remove("/step_0");
	int gone_cpu = cgroup_read_cpu(c, &cpu, &err);
	int gone_memory = cgroup_read_memory(c, true, NULL, &m, &err);
	unsigned kept_gone = cgroup_fds_open(c);
	(void)real_make();
	int again_cpu = cgroup_read_cpu(c, &cpu, &err);
	/* removed and made again between two readings */
	real_remove("/step_0");
	(void)real_make();
	int remade_cpu = cgroup_read_cpu(c, &cpu, &err);
	int remade_memory = cgroup_read_memory(c, true, NULL, &m, &err);
	cgroup_fds_free(c);
	real_remove("/step_0");
	real_remove("");
	assert_int_equal(live_cpu, 0);
	assert_int_equal(live_memory, 0);
	assert_true(kept >= 7);
	assert_int_equal(gone_cpu, -ENODEV);
	assert_int_equal(gone_memory, -ENODEV);
	assert_int_equal(kept_gone, 0);
	assert_int_equal(again_cpu, 0);
	assert_int_equal(remade_cpu, 0);
	assert_int_equal(remade_memory, 0);
	assert_true(m.limit_bytes == CGROUP_UNLIMITED);
}

static void v1_oom_kills_are_those_of_the_tasks(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(CGROUP_MEMORY | CGROUP_CPUACCT, "/j/step_0");
	struct record_counters r;
	struct cgroup_memory m;
	good_v1_step();
	put("memory/j/step_0/memory.oom_control", "oom_kill 0\n");
	put("memory/j/step_0/memory.failcnt", "0\n");
	put("memory/j/step_0/memory.max_usage_in_bytes", "20971520\n");
	put("memory/j/step_0/memory.limit_in_bytes", "20971520\n");
	put("memory/j/step_0/task_0/memory.oom_control", "under_oom 0\noom_kill 1\n");
	put("memory/j/step_0/task_12/memory.oom_control", "oom_kill 2\n");
	put("memory/j/step_0/task_13/x", "");
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &nothing_known, &r, NULL),
			 0);
	assert_true(r.oom_kills == 3);
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.oom_kills == 3);
	cgroup_fds_free(c);
	/* two steps that fill their job's limit together */
	put("memory/j/step_0/memory.max_usage_in_bytes", "10971520\n");
	put("memory/j/memory.max_usage_in_bytes", "20971520\n");
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &nothing_known, &r, NULL),
			 0);
	assert_true(r.oom_kills == 3);
	/* nor where the caller knows that so small a step cannot have been killed */
	struct cgroup_known small = {.harmless_peak_bytes = 10971521};
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &small, &r, NULL),
			 0);
	assert_true(r.oom_kills == 0 && r.memory_peak_bytes == 10971520);
	small.harmless_peak_bytes--;
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &small, &r, NULL),
			 0);
	assert_true(r.oom_kills == 3);
	/* far below every limit nobody looks */
	put("memory/j/memory.max_usage_in_bytes", "11971520\n");
	assert_int_equal(cgroup_final_counters(scratch_fd, "", &v1_layout, &p, 1,
					       &nothing_known, &r, NULL),
			 0);
	assert_true(r.oom_kills == 0);
}

static void v1_reads_only_what_can_have_changed(void **state)
{
	(void)state;
	struct record_cgroup p = path_of(V1_ALL, "/j/step_0");
	struct cgroup_cpu cpu;
	struct cgroup_memory m;
	good_v1_step();
	put("memory/j/step_0/memory.max_usage_in_bytes", "1000000\n");
	put("memory/j/step_0/memory.limit_in_bytes", "20000000\n");
	put("memory/j/step_0/memory.failcnt", "not read\n");
	struct cgroup_fds *c = cgroup_fds_new(scratch_fd, &v1_layout, &p, 1, false);
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 75 && cpu.system_ns == 25);
	put("cpuacct/j/step_0/cpuacct.usage_user", "not read\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 75 && cpu.system_ns == 25);
	/* the ratio is read again after a 16th more, or after four ticks */
	put("cpuacct/j/step_0/cpuacct.usage", "106\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns == 80 && cpu.system_ns == 26);
	put("cpuacct/j/step_0/cpuacct.usage", "107\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), -EINVAL);
	put("cpuacct/j/step_0/cpuacct.usage", "1000000000\n");
	put("cpuacct/j/step_0/cpuacct.usage_user", "750000000\n");
	put("cpuacct/j/step_0/cpuacct.usage_sys", "250000000\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	put("cpuacct/j/step_0/cpuacct.usage_user", "not read\n");
	put("cpuacct/j/step_0/cpuacct.usage", "1039999999\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), 0);
	assert_true(cpu.user_ns + cpu.system_ns == 1039999999);
	put("cpuacct/j/step_0/cpuacct.usage", "1040000000\n");
	assert_int_equal(cgroup_read_cpu(c, &cpu, NULL), -EINVAL);
	/* far below its limit it has not failed */
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.fail_count == 0);
	put("memory/j/step_0/memory.max_usage_in_bytes", "17000000\n");
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), -EINVAL);
	put("memory/j/step_0/memory.failcnt", "3\n");
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.fail_count == 3);
	/* and what has failed once is always looked at */
	put("memory/j/step_0/memory.max_usage_in_bytes", "1000000\n");
	put("memory/j/step_0/memory.failcnt", "4\n");
	assert_int_equal(cgroup_read_memory(c, false, NULL, &m, NULL), 0);
	assert_true(m.fail_count == 4);
	cgroup_fds_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			wrong_files_are_errors_that_name_them_and_change_nothing),
		cmocka_unit_test(huge_files_are_refused),
		cmocka_unit_test(a_kernel_before_5_17_is_split_by_ticks),
		cmocka_unit_test(missing_files_and_directories_are_told_apart),
		cmocka_unit_test(near_the_limit_of_open_files_none_is_kept),
		cmocka_unit_test(split_goes_on_where_a_former_daemon_was),
		cmocka_unit_test(removed_and_remade_cgroups_are_noticed),
		cmocka_unit_test(v1_oom_kills_are_those_of_the_tasks),
		cmocka_unit_test(v1_reads_only_what_can_have_changed),
	};
	return cmocka_run_group_tests_name("cgroup_fds", tests, setup, teardown);
}
